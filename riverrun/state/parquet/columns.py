"""From the entries of a state to the rows of a file and back.

A file has these columns, in this order (docs/reference/savepoint-format.md):

==========  =============================================================================================
key_group   the key group of the key
key         the key
time        of timers: when it is due, in milliseconds
namespace   of states with namespaces: the window, or what else the values belong to
value       of value, reducing and aggregating state: the value or accumulator
elements    of list state: all elements
map_key     of map state, a row for each entry of a map: its key
map_value   and its value
last_used   with a time to live: when the value, or each of the elements, was last used
pickled     what the other columns of the row cannot hold exactly: a pickled dict by the names of columns
==========  =============================================================================================
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.serde.arrow_columns import NumberColumn
from riverrun.serde.arrow_nested import ListColumn
from riverrun.serde.evolution import type_from_json
from riverrun.state.interchange import StateBlock
from riverrun.state.parquet.cells import MomentColumn, PickleColumn, pickle_of
from riverrun.state.parquet.parts import (
    ENCODING,
    PICKLE,
    PLAIN,
    Part,
    Strays,
    address_part,
    list_part,
    map_key_part,
    value_part,
)
from riverrun.state.parquet.types import plain_column_of
from riverrun.state.schema import MAPS, schema_from

Rows: TypeAlias = dict[str, list[Any]]
"""Values by the names of columns; the lists are of one length."""

GROUP: Final = "key_group"
STRAYS: Final = "pickled"
TEXT: Final = "text"
"""Of operator state that is pickled: what it looks like."""


class StateColumns:
    """The columns of one file."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self._strays = any(part.encoding != PICKLE for part in parts if part.name not in _OURS)
        fields = [part.field for part in parts]
        if self._strays:
            fields.append(pa.field(STRAYS, pa.binary(), metadata={ENCODING: PICKLE.encode()}))
        self.schema = pa.schema(fields)

    def batch(self, rows: Rows) -> pa.RecordBatch:
        """The rows as columns.

        Raises:
            TypeMismatch: a value is not of the declared type.
            UnpicklableValue: a value must be pickled and cannot.
        """
        arrays = []
        found: dict[str, Strays] = {}
        for part in self.parts:
            array, strays = part.encode(rows[part.name])
            arrays.append(array)
            if strays:
                found[part.name] = strays
        if self._strays:
            arrays.append(_pickled(found, len(rows[self.parts[0].name])))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """The rows that ``batch`` made these columns of."""
        rows = {
            part.name: part.column.from_array(_own(batch.column(place)))
            for place, part in enumerate(self.parts)
        }
        if self._strays and batch.column(len(self.parts)).null_count < batch.num_rows:
            for row, data in enumerate(batch.column(len(self.parts)).to_pylist()):
                if data is not None:
                    for name, value in pickle.loads(data).items():
                        rows[name][row] = value
        return rows


def columns_for(meta: StateMeta, sample: Rows) -> StateColumns:
    """The columns of a state's file; what has no declared type is looked at in the ``sample``."""
    schema = schema_from(meta)
    parts = [
        Part(GROUP, NumberColumn("i", pa.int32()), PLAIN),
        address_part("key", schema.key, sample["key"]),
    ]
    if meta.kind is StateKind.TIMERS:
        parts.append(Part("time", NumberColumn("q", pa.int64()), PLAIN))
    if meta.namespaced:
        text = meta.types.get("namespace")
        declared = None if text is None else type_from_json(text)
        parts.append(address_part("namespace", declared, sample["namespace"], windows=True))
    if meta.kind is StateKind.TIMERS:
        return StateColumns(parts)
    if meta.kind in MAPS:
        parts += map_parts(meta, sample)
    elif meta.kind is StateKind.LIST:
        parts.append(list_part("elements", schema.value))
    else:
        parts.append(value_part("value", schema.value))
    if meta.ttl:
        one = MomentColumn()
        each = ListColumn(one) if meta.kind is StateKind.LIST else one
        parts.append(Part("last_used", each, PLAIN))
    return StateColumns(parts)


def map_parts(meta: StateMeta, sample: Rows) -> list[Part]:
    """The columns of the entries of maps."""
    schema = schema_from(meta)
    return [
        map_key_part("map_key", schema.map_key, sample["map_key"]),
        value_part("map_value", schema.value),
    ]


def columns_in(columns: StateColumns, found: pa.Schema) -> StateColumns:
    """``columns`` with those that have no declared type as they are in a file.

    Raises:
        ValueError: the file has other columns.
    """
    parts = []
    for part in columns.parts:
        place = found.get_field_index(part.name)
        if place < 0:
            raise ValueError(f"expected a column {part.name!r}, found {found.names}")
        field = found.field(place)
        encoding = (field.metadata or {}).get(ENCODING, b"").decode()
        if part.name not in _OURS and {part.encoding, encoding} <= {PLAIN, PICKLE}:
            parts.append(_undeclared(part, field, encoding))
        else:
            parts.append(part)
    made = StateColumns(parts)
    if not made.schema.equals(found):
        raise ValueError(f"expected the columns {_shown(made.schema)}, found {_shown(found)}")
    return made


def rows_of(block: StateBlock) -> Rows:
    """The rows of entries."""
    meta, keys, namespaces = block.meta, block.keys, block.namespaces
    values: list[Any] = block.values
    rows: Rows = {}
    if meta.kind is StateKind.TIMERS:
        pairs = namespaces or []
        rows["time"] = [time for time, _ in pairs]
        namespaces = [namespace for _, namespace in pairs]
    elif meta.kind in MAPS:
        sizes = list(map(len, values))
        keys = list(chain.from_iterable(map(repeat, keys, sizes)))
        if namespaces is not None:
            namespaces = list(chain.from_iterable(map(repeat, namespaces, sizes)))
        rows["map_key"] = list(chain.from_iterable(values))
        rows["map_value"] = list(chain.from_iterable(map(dict.values, values)))
    else:
        rows["elements" if meta.kind is StateKind.LIST else "value"] = values
    if meta.ttl:
        _split_times(rows, meta)
    rows[GROUP] = [block.group] * len(keys)
    rows["key"] = keys
    if namespaces is not None:
        rows["namespace"] = namespaces
    return rows


def blocks_of(meta: StateMeta, rows: Rows, groups: range) -> Iterator[StateBlock]:
    """The entries of those rows that are in ``groups``; rows of one group stand together."""
    if meta.ttl:
        _join_times(rows, meta)
    if meta.kind is StateKind.TIMERS:
        rows["namespace"] = list(zip(rows.pop("time"), rows["namespace"], strict=True))
    found = np.array(rows.pop(GROUP))
    borders = (np.flatnonzero(np.diff(found)) + 1).tolist()
    for start, end in zip([0, *borders], [*borders, len(found)], strict=True):
        group = int(found[start])
        if group in groups:
            piece = {name: column[start:end] for name, column in rows.items()}
            yield _block(meta, group, piece)


def _block(meta: StateMeta, group: int, rows: Rows) -> StateBlock:
    keys, namespaces = rows["key"], rows.get("namespace")
    if meta.kind is StateKind.TIMERS:
        return StateBlock(meta, group, keys, namespaces, [True] * len(keys))
    if meta.kind not in MAPS:
        values = rows["elements" if meta.kind is StateKind.LIST else "value"]
        return StateBlock(meta, group, keys, namespaces, values)
    addresses = keys if namespaces is None else list(zip(keys, namespaces, strict=True))
    firsts: list[int] = []
    dicts: list[Any] = []
    before: Any = None
    for row, (address, key, value) in enumerate(
        zip(addresses, rows["map_key"], rows["map_value"], strict=True)
    ):
        if not firsts or address != before:
            firsts.append(row)
            dicts.append({})
            before = address
        dicts[-1][key] = value
    named = None if namespaces is None else [namespaces[row] for row in firsts]
    return StateBlock(meta, group, [keys[row] for row in firsts], named, dicts)


def _split_times(rows: Rows, meta: StateMeta) -> None:
    if meta.kind is StateKind.LIST:
        lists = rows["elements"]
        rows["elements"] = [[value for value, _ in elements] for elements in lists]
        rows["last_used"] = [[time for _, time in elements] for elements in lists]
        return
    name = "map_value" if meta.kind in MAPS else "value"
    pairs = rows[name]
    rows[name] = [value for value, _ in pairs]
    rows["last_used"] = [time for _, time in pairs]


def _join_times(rows: Rows, meta: StateMeta) -> None:
    times = rows.pop("last_used")
    if meta.kind is StateKind.LIST:
        pairs = zip(rows["elements"], times, strict=True)
        rows["elements"] = [list(zip(values, used, strict=True)) for values, used in pairs]
        return
    name = "map_value" if meta.kind in MAPS else "value"
    rows[name] = list(zip(rows[name], times, strict=True))


_OURS: Final = frozenset({GROUP, "time", "last_used", TEXT})
"""Columns whose values are riverrun's own."""


def _undeclared(part: Part, field: pa.Field, encoding: str) -> Part:
    if encoding == PICKLE:
        column = part.column if part.encoding == PICKLE else PickleColumn()
        return Part(part.name, column, PICKLE)
    plain = plain_column_of(field.type)
    if plain is None:
        raise ValueError(f"column {part.name!r} is said to be plain and has the type {field.type}")
    return Part(part.name, plain, PLAIN)


def _pickled(found: dict[str, Strays], size: int) -> pa.Array:
    if not found:
        return pa.nulls(size, pa.binary())
    by_row: dict[int, dict[str, Any]] = {}
    for name, strays in found.items():
        for row, value in strays.items():
            by_row.setdefault(row, {})[name] = value
    pickles = [pickle_of(by_row[row]) if row in by_row else None for row in range(size)]
    return pa.array(pickles, pa.binary())


def _own(array: pa.Array) -> pa.Array:
    """The array without what is around a slice of a larger one, which would be decoded with it."""
    return pa.concat_arrays([array]) if array.offset else array


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
