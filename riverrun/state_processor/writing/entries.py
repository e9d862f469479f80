"""Entries of keyed state on their way into a file: columns of Python values, or one row at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeAlias

from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.state.interchange import StateBlock
from riverrun.state.parquet.columns import GROUP, Rows, rows_of
from riverrun.state.schema import MAPS

_NOTHING: Final = object()
SINGLE: Final = frozenset({StateKind.VALUE, StateKind.REDUCING, StateKind.AGGREGATING})
"""Kinds with one value for each key."""


class StateRow(NamedTuple):
    """One entry of a keyed state, as functions over rows see and give it."""

    key: Any
    value: Any = None
    """The value or accumulator; of list state the list; of map state the value of one entry."""
    namespace: Any = None
    """Of states with namespaces: the window, or what else the value belongs to."""
    map_key: Any = None
    last_used: Any = None
    """With a time to live: milliseconds since 1970; of list state a list of them."""
    time: int | None = None
    """Of timers: when it is due."""


class Entries(NamedTuple):
    """Some rows of a state, by the names of the columns of its file, without key groups."""

    rows: Rows
    numbers: list[int]
    """What each row came from: the number of the row of the data, or of the entry.

    Rows with the same number belong together: they are the entries of one map.
    """
    parts: bool = False
    """Whether rows of one key belong together, whatever their numbers are: elements of one list,
    entries of one map."""


EntrySource: TypeAlias = Callable[[], Iterator[Entries]]


@dataclass(frozen=True, slots=True)
class Named:
    """Whose entries they are, for messages."""

    operator: str
    state: str

    def __str__(self) -> str:
        return f"operator {self.operator!r}: state {self.state!r}"


def columns_of(meta: StateMeta) -> tuple[str, ...]:
    """The columns that rows of the state have."""
    names = ["key"]
    if meta.kind is StateKind.TIMERS:
        return ("key", "time", "namespace")
    if meta.namespaced:
        names.append("namespace")
    names += ("map_key", "map_value") if meta.kind in MAPS else (value_column(meta),)
    if meta.ttl:
        names.append("last_used")
    return tuple(names)


def value_column(meta: StateMeta) -> str:
    """The column that has the values."""
    if meta.kind in MAPS:
        return "map_value"
    return "elements" if meta.kind is StateKind.LIST else "value"


class Numbering:
    """Numbers rows as they come; the entries of one map, which stand together, have one number."""

    def __init__(self, meta: StateMeta) -> None:
        self._is_map = meta.kind in MAPS
        self._next = 0
        self._before: Any = _NOTHING

    def of(self, rows: Rows) -> Entries:
        """The rows with their numbers."""
        size = len(rows["key"])
        if not self._is_map:
            self._next += size
            return Entries(rows, list(range(self._next - size, self._next)))
        numbers = []
        for address in zip(rows["key"], rows.get("namespace") or repeat(None), strict=False):
            if address != self._before:
                self._before = address
                self._next += 1
            numbers.append(self._next - 1)
        return Entries(rows, numbers, parts=True)


def entries_of(meta: StateMeta, blocks: Iterable[StateBlock]) -> Iterator[Entries]:
    """The entries of blocks, numbered as they come."""
    numbering = Numbering(meta)
    for block in blocks:
        rows = rows_of(block)
        del rows[GROUP]
        yield numbering.of(rows)


def state_rows(entries: Entries, meta: StateMeta) -> Iterator[StateRow]:
    """One row at a time."""
    rows = entries.rows
    nothing: Any = repeat(None)
    values = nothing if meta.kind is StateKind.TIMERS else rows[value_column(meta)]
    return map(
        StateRow,
        rows["key"],
        values,
        rows.get("namespace", nothing),
        rows.get("map_key", nothing),
        rows.get("last_used", nothing),
        rows.get("time", nothing),
    )


def rows_from(made: Iterable[StateRow], meta: StateMeta) -> Rows:
    """The columns of rows."""
    of = {value_column(meta): "value"}
    rows: Rows = {name: [] for name in columns_of(meta)}
    columns = [
        (column, StateRow._fields.index(of.get(name, name))) for name, column in rows.items()
    ]
    for row in made:
        for column, place in columns:
            column.append(row[place])
    return rows


def selected(rows: Rows, wanted: list[int]) -> Rows:
    """Only the rows with these places."""
    return {name: [column[place] for place in wanted] for name, column in rows.items()}
