"""A keyed state out of data that was given for it: which columns, or pairs of key and value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from riverrun.core.short_repr import short_repr
from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.state.parquet.columns import Rows
from riverrun.state.schema import schema_from
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.writing.arrow_values import (
    dict_of,
    fit_for,
    keys_in,
    values_in,
)
from riverrun.state_processor.writing.checks import Labels
from riverrun.state_processor.writing.entries import Entries, Named, value_column
from riverrun.state_processor.writing.incoming import ROWS, Incoming, tables_or_values
from riverrun.state_processor.writing.refusals import RowRefused

Columns: TypeAlias = str | Sequence[str]
"""One column, or several that make a tuple or another value with fields."""
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """Which columns of a table are which part of the state."""

    key: Columns = "key"
    value: Columns | None = None
    """Of list and map state without the following: the whole list or dict."""
    element: Columns | None = None
    """Of list state: one element, so that a key has as many rows as its list has elements."""
    map_key: Columns | None = None
    """Of map state: the key of one entry, whose value is ``value``."""
    namespace: Columns | None = None

    def completed(self, meta: StateMeta) -> Choice:
        """With the names of a savepoint's own columns where none is given."""
        value, map_key = self.value, self.map_key
        if value is None and self.element is None:
            if meta.kind is StateKind.MAP and map_key is None:
                map_key = "map_key"
            value = value_column(meta)
        return Choice(self.key, value, self.element, map_key, self.namespace)

    @property
    def by_row(self) -> bool:
        """Whether several rows make the state of one key."""
        return self.element is not None or self.map_key is not None

    def labels(self, meta: StateMeta) -> Labels:
        """What messages call the columns of the state."""
        value = self.element if self.element is not None else self.value
        given = {
            "key": self.key,
            value_column(meta): value,
            "map_key": value if self.map_key is None else self.map_key,
            "namespace": self.namespace,
        }
        return Labels({name: _shown(one) for name, one in given.items() if one is not None})


class GivenState:
    """The entries of data that was given for one state."""

    def __init__(self, named: Named, meta: StateMeta, data: Any, choice: Choice) -> None:
        schema = schema_from(meta)
        self._named = named
        self._meta = meta
        self._choice = choice
        self._key, self._value, self._map_key = schema.key, schema.value, schema.map_key
        self._data = Incoming(data, str(named))

    def __call__(self) -> Iterator[Entries]:
        """All entries, numbered by the rows of the data.

        Raises:
            NotInSavepoint: the table does not have a column.
            RowRefused: a value is no pair.
        """
        batches, values = tables_or_values(self._data)
        return self._of_pairs(values) if batches is None else self._of_batches(batches)

    def _of_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Entries]:
        start = 0
        for batch in batches:
            numbers = list(range(start, start + batch.num_rows))
            start += batch.num_rows
            rows: Rows = {"key": keys_in(self._picked(batch, self._choice.key), self._key)}
            if self._choice.namespace is not None:
                rows["namespace"] = keys_in(self._picked(batch, self._choice.namespace), None)
            found = self._entries(rows, self._values(batch, rows), numbers)
            yield found._replace(parts=self._choice.by_row)

    def _values(self, batch: pa.RecordBatch, rows: Rows) -> list[Any]:
        choice, kind = self._choice, self._meta.kind
        if choice.element is not None:
            elements = values_in(self._picked(batch, choice.element), self._value)
            return [None if element is None else [element] for element in elements]
        assert choice.value is not None  # noqa: S101  (the choice is complete)
        array = self._picked(batch, choice.value)
        if kind is StateKind.MAP and choice.map_key is not None:
            rows["map_key"] = keys_in(self._picked(batch, choice.map_key), self._map_key)
            return values_in(array, self._value)
        if kind in {StateKind.MAP, StateKind.LIST}:
            return values_in(array, None)
        return values_in(array, self._value)

    def _of_pairs(self, values: Iterator[Any]) -> Iterator[Entries]:
        fit_key, fit = fit_for(self._key), fit_for(self._value)
        is_whole = self._meta.kind in {StateKind.MAP, StateKind.LIST}
        start = 0
        while some := list(islice(values, ROWS)):
            numbers = list(range(start, start + len(some)))
            for number, pair in zip(numbers, some, strict=True):
                if not isinstance(pair, tuple | list) or len(pair) != _PAIR:
                    reason = f"expected a pair of key and value, found {short_repr(pair)}"
                    raise self._refused(number, "key", reason)
            start += len(some)
            rows: Rows = {"key": [_plain(key, fit_key) for key, _ in some]}
            found = [
                value if value is None or is_whole else _plain(value, fit) for _, value in some
            ]
            yield self._entries(rows, found, numbers)

    def _entries(self, rows: Rows, values: list[Any], numbers: list[int]) -> Entries:
        kind = self._meta.kind
        if kind is StateKind.LIST and self._choice.element is None:
            fit = fit_for(self._value)
            values = [_list_of(value, fit) for value in values]
        if kind is not StateKind.MAP or "map_key" in rows:
            rows[value_column(self._meta)] = values
            return Entries(rows, numbers)
        return self._exploded(rows, values, numbers)

    def _exploded(self, rows: Rows, values: list[Any], numbers: list[int]) -> Entries:
        """A row for each entry of each dict."""
        dicts = [dict_of(value) for value in values]
        for number, found in zip(numbers, dicts, strict=True):
            if not isinstance(found, dict) or not found:
                reason = (
                    f"expected a dict with entries, found {short_repr(found)}; leave out keys "
                    f"without entries"
                )
                raise self._refused(number, "map_value", reason)
        fit_key, fit = fit_for(self._map_key), fit_for(self._value)
        out = {
            name: [each for each, found in zip(column, dicts, strict=True) for _ in found]
            for name, column in rows.items()
        }
        out["map_key"] = [_plain(key, fit_key) for key in chain.from_iterable(dicts)]
        items = chain.from_iterable(found.values() for found in dicts)
        out["map_value"] = [None if item is None else fit(item) for item in items]
        spread = [number for number, found in zip(numbers, dicts, strict=True) for _ in found]
        return Entries(out, spread)

    def _picked(self, batch: pa.RecordBatch, columns: Columns) -> pa.Array:
        if isinstance(columns, str):
            names = tuple(batch.schema.names)
            if columns not in names:
                raise NotInSavepoint(f"{self._named}: its data", "column", columns, names)
            return batch.column(columns)
        return pa.StructArray.from_arrays(
            [self._picked(batch, name) for name in columns], names=list(columns)
        )

    def _refused(self, row: int, column: str, reason: str) -> RowRefused:
        label = self._choice.labels(self._meta).of(column)
        return RowRefused(self._named.operator, self._named.state, row, label, reason)


def _plain(value: Any, fit: Any) -> Any:
    """A value out of Python data; numbers of numpy are those of Python."""
    if value is None:
        return None
    return fit(value.item() if isinstance(value, np.generic) else value)


def _list_of(value: Any, fit: Any) -> Any:
    if isinstance(value, list | tuple):
        return [None if each is None else fit(each) for each in value]
    return value


def _shown(columns: Columns) -> str:
    return columns if isinstance(columns, str) else ", ".join(columns)
