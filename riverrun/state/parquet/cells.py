"""Columns that only files have: pickles, numbers as text, Arrow's own maps, plain values without a type.

They follow the protocol of `riverrun.serde.arrow_columns.Column`: what a column could hold but would not
give back as it was is answered with an error, and the value is then kept beside the columns.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import chain, islice
from types import NoneType
from typing import Any, Final

import cloudpickle
import numpy as np
import pyarrow as pa

from riverrun.core.short_repr import short_repr
from riverrun.serde.arrow_columns import Column, Inexact, NumberColumn, classes_of
from riverrun.serde.pickled_runs import UnpicklableValue

_PROTOCOL: Final = 5
_NO_PICKLE: Final = (pickle.PicklingError, AttributeError, TypeError)


def pickle_of(value: Any) -> bytes:
    """One value as a pickle; what pickle cannot do, and what it names in ``__main__``, by cloudpickle.

    Raises:
        UnpicklableValue: neither can.
    """
    try:
        data = pickle.dumps(value, _PROTOCOL)
        if b"__main__" not in data:
            return data
    except _NO_PICKLE:
        pass
    try:
        by_value: bytes = cloudpickle.dumps(value, _PROTOCOL)
    except _NO_PICKLE as error:
        raise UnpicklableValue(short_repr(value), str(error), 0) from error
    return by_value


class PickleColumn:
    """Any values, each pickled for itself."""

    arrow_type = pa.binary()

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        pickles = [None if value is None else pickle_of(value) for value in values]
        return _in_one(pa.array(pickles, self.arrow_type))

    def from_array(self, array: pa.Array) -> list[Any]:
        return [
            None if data is None else pickle.loads(data)
            for data in array.to_numpy(zero_copy_only=False).tolist()
        ]


class TextColumn:
    """Values of one class as the text that stands for them exactly."""

    arrow_type = pa.string()

    def __init__(
        self,
        cls: type,
        show: Callable[[Any], str],
        parse: Callable[[str], Any],
        refused: type | None = None,
    ) -> None:
        self._class = cls
        self._show = show
        self._parse = parse
        self._refused = refused

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        classes_of(values, (self._class,), refused=self._refused)
        show = self._show
        texts = [None if value is None else show(value) for value in values]
        return _in_one(pa.array(texts, self.arrow_type))

    def from_array(self, array: pa.Array) -> list[Any]:
        parse = self._parse
        return [
            None if text is None else parse(text)
            for text in array.to_numpy(zero_copy_only=False).tolist()
        ]


class MapColumn:
    """Dicts as Arrow's maps, in which no key is None."""

    def __init__(self, key: Column, value: Column) -> None:
        self._key = key
        self._value = value
        self.arrow_type = pa.map_(key.arrow_type, value.arrow_type)

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        classes_of(values, (dict,))
        present = [value for value in values if value is not None]
        keys = self._key.to_array(list(chain.from_iterable(present)))
        if keys.null_count:
            raise Inexact("a map with None as a key")
        items = self._value.to_array(list(chain.from_iterable(map(dict.values, present))))
        sizes = np.fromiter((0 if v is None else len(v) for v in values), np.int64, len(values))
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        # A map whose offset is null is null itself.
        nulls = np.fromiter((v is None for v in (*values, True)), np.bool_, len(values) + 1)
        starts = pa.array(offsets, pa.int32(), mask=nulls)
        return pa.MapArray.from_arrays(starts, keys, items)

    def from_array(self, array: pa.Array) -> list[Any]:
        keys, items = self._key.from_array(array.keys), self._value.from_array(array.items)
        offsets = array.offsets.to_numpy()
        pairs = islice(zip(keys, items, strict=True), int(offsets[0]), None)
        dicts = [dict(islice(pairs, size)) for size in np.diff(offsets).tolist()]
        if not array.null_count:
            return dicts
        valid = array.is_valid().to_pylist()
        return [found if there else None for found, there in zip(dicts, valid, strict=True)]


class MomentColumn:
    """Milliseconds since the epoch as timestamps in UTC."""

    arrow_type = pa.timestamp("ms", tz="UTC")

    def __init__(self) -> None:
        self._numbers = NumberColumn("q", pa.int64())

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        return self._numbers.to_array(values).view(self.arrow_type)

    def from_array(self, array: pa.Array) -> list[Any]:
        return self._numbers.from_array(array.view(pa.int64()))


class ExactColumn:
    """A column that takes values of one class and no other, not even of a subclass."""

    def __init__(self, cls: type, column: Column) -> None:
        self._allowed = {cls, NoneType}
        self._column = column
        self.arrow_type = column.arrow_type

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        if not set(map(type, values)) <= self._allowed:
            raise Inexact("a value of another class")
        return self._column.to_array(values)

    def from_array(self, array: pa.Array) -> list[Any]:
        return self._column.from_array(array)


def _in_one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        raise Inexact("the values exceed the two gigabytes of one Arrow array")
    return array
