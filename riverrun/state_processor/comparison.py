"""The entries of one state beside those of another.

Both are read a few key groups at a time. Entries are found by key, namespace and, of maps, the key in the
map; they differ if their values do. When a value was last used is no difference. Lists of operators, whose
items have no address, are compared as bags.
"""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat
from typing import Any, Final, TypeAlias

from riverrun.state.parquet.cells import pickle_of
from riverrun.state.parquet.columns import Rows
from riverrun.state_processor.group_windows import GroupWindows
from riverrun.state_processor.sources import KeyedSource
from riverrun.state_processor.table import StateTable

_ADDRESS: Final = ("key", "namespace", "time", "map_key")
_CONTENT: Final = ("value", "elements", "map_value")

_Address: TypeAlias = tuple[Any, ...]
"""The names of its parts, and these."""
_Entries: TypeAlias = dict[_Address, Any]


class Verb(StrEnum):
    """What happened to an entry."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that is not the same in both."""

    verb: Verb
    address: Mapping[str, Any]
    """By the names of columns: ``key``, ``namespace``, ``time``, ``map_key``; of lists of operators none."""
    before: Any
    after: Any


Told: TypeAlias = Callable[[Change], None]


def changes(before: StateTable | None, after: StateTable | None) -> Iterator[Change | None]:
    """What is different; None for each entry that is not."""
    sources = [None if each is None else each.source for each in (before, after)]
    if any(isinstance(source, KeyedSource) for source in sources):
        yield from _keyed_changes(before, after)
    else:
        first, second = (() if each is None else each.rows() for each in sources)
        yield from _compared(_unkeyed(first), _unkeyed(second))


def _keyed_changes(before: StateTable | None, after: StateTable | None) -> Iterator[Change | None]:
    tables = [each for each in (before, after) if each is not None]
    # A key whose hash is h has the group h mod max parallelism, so what both agree about is h mod this.
    classes = math.gcd(*(each.max_parallelism for each in tables))
    with ExitStack() as stack:
        sides = [
            None if each is None else stack.enter_context(_Side(each, classes))
            for each in (before, after)
        ]
        windows = GroupWindows(classes)
        for wanted in windows:
            first, second = (({} if side is None else side.entries(wanted)) for side in sides)
            windows.saw(first, second)
            yield from _compared(first, second)


class _Side(ExitStack):
    """One of the two, read by classes of key groups."""

    def __init__(self, table: StateTable, classes: int) -> None:
        super().__init__()
        self._table = table
        self._classes = classes
        source = table.source
        self._scan = self.enter_context(source.scan()) if isinstance(source, KeyedSource) else None

    def entries(self, wanted: range) -> _Entries:
        """The entries whose key group modulo the number of classes is in ``wanted``."""
        source = self._table.source
        found: _Entries = {}
        if not isinstance(source, KeyedSource) or self._scan is None:
            return _unkeyed(source.rows()) if wanted.start == 0 else {}
        for base in range(0, self._table.max_parallelism, self._classes):
            groups = range(base + wanted.start, base + wanted.stop)
            for rows in source.rows_in(self._scan, groups):
                names = tuple(name for name in _ADDRESS if name in rows)
                addresses = zip(repeat(names), *(rows[name] for name in names), strict=False)
                found.update(zip(addresses, _content(rows), strict=True))
        return found


def _content(rows: Rows) -> Sequence[Any]:
    for name in _CONTENT:
        if name in rows:
            return rows[name]
    return [True] * len(rows["key"])


def _unkeyed(found: Iterable[Rows]) -> _Entries:
    entries: _Entries = {}
    seen: Counter[bytes] = Counter()
    for rows in found:
        if "map_key" in rows:
            pairs = zip(rows["map_key"], rows["map_value"], strict=True)
            entries.update({(("map_key",), key): value for key, value in pairs})
            continue
        for value in rows["value"]:
            data = pickle_of(value)
            entries[(), data, seen[data]] = value
            seen[data] += 1
    return entries


def _compared(before: _Entries, after: _Entries) -> Iterator[Change | None]:
    for address, value in before.items():
        if address not in after:
            yield Change(Verb.REMOVED, _named(address), value, None)
        elif _are_equal(value, after[address]):
            yield None
        else:
            yield Change(Verb.CHANGED, _named(address), value, after[address])
    for address, value in after.items():
        if address not in before:
            yield Change(Verb.ADDED, _named(address), None, value)


def _named(address: _Address) -> Mapping[str, Any]:
    names = address[0]
    return dict(zip(names, address[1 : 1 + len(names)], strict=True))


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other) or _pickles_are_equal(one, other)
    except Exception:  # noqa: BLE001  (comparing runs the user's code; some values know no truth)
        return _pickles_are_equal(one, other)


def _pickles_are_equal(one: Any, other: Any) -> bool:
    """For values that compare by identity, and for nan."""
    if type(one) is not type(other):
        return False
    try:
        return pickle.dumps(one, 5) == pickle.dumps(other, 5)
    except Exception:  # noqa: BLE001  (pickling runs the user's code)
        return False
