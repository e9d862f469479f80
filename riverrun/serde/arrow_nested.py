"""How lists, maps and values with fields inside other values become Arrow arrays and come back."""

from collections.abc import Sequence
from itertools import chain, compress, islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from riverrun.serde.arrow_columns import Column, Inexact, classes_of
from riverrun.serde.arrow_fields import Fields

__all__ = ["ListColumn", "MapColumn", "StructColumn"]

_LARGEST_OFFSET = 2**31 - 1


class StructColumn:
    """Values with fields, as a struct."""

    def __init__(self, names: Sequence[str], columns: Sequence[Column], fields: Fields) -> None:
        self._columns = columns
        self._fields = fields
        self.arrow_type = pa.struct(
            [pa.field(name, column.arrow_type) for name, column in zip(names, columns, strict=True)]
        )

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        present, nulls = _without_none(values)
        split = self._fields.split(present)
        if nulls is not None:
            valid = (~nulls).tolist()
            split = [_spread(column, valid) for column in split]
        arrays = [column.to_array(part) for column, part in zip(self._columns, split, strict=True)]
        mask = None if nulls is None else pa.array(nulls)
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow_type), mask=mask)

    def from_array(self, array: pa.Array) -> list[Any]:
        parts = [
            column.from_array(array.field(position))
            for position, column in enumerate(self._columns)
        ]
        if not array.null_count:
            return self._fields.join(parts)
        valid = _valid(array)
        joined = self._fields.join([list(compress(part, valid)) for part in parts])
        return _spread(joined, valid)


class ListColumn:
    """Lists, whose elements may be None unless ``none`` forbids it."""

    def __init__(self, element: Column, *, none: bool = True) -> None:
        self._element = element
        self._none = none
        self.arrow_type = pa.list_(element.arrow_type)

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        classes_of(values, (list,))
        present, nulls = _without_none(values)
        flat = self._element.to_array(list(chain.from_iterable(present)))
        if flat.null_count and not self._none:
            raise TypeError("expected elements that are not None")
        return _list_array(self.arrow_type, values, nulls, flat)

    def from_array(self, array: pa.Array) -> list[Any]:
        flat = self._element.from_array(array.values)
        offsets = array.offsets.to_numpy().tolist()
        lists = [flat[start:end] for start, end in pairwise(offsets)]
        return _with_none(lists, array)


class MapColumn:
    """Dicts, as lists of pairs: Arrow's own maps do not take None as a key."""

    def __init__(self, key: Column, value: Column) -> None:
        self._key = key
        self._value = value
        pair = [pa.field("key", key.arrow_type), pa.field("value", value.arrow_type)]
        self.arrow_type = pa.list_(pa.struct(pair))

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        classes_of(values, (dict,))
        present, nulls = _without_none(values)
        keys = self._key.to_array(list(chain.from_iterable(present)))
        items = self._value.to_array(list(chain.from_iterable(map(dict.values, present))))
        pairs = pa.StructArray.from_arrays([keys, items], fields=list(self.arrow_type.value_type))
        return _list_array(self.arrow_type, values, nulls, pairs)

    def from_array(self, array: pa.Array) -> list[Any]:
        keys = self._key.from_array(array.values.field(0))
        items = self._value.from_array(array.values.field(1))
        offsets = array.offsets.to_numpy()
        # A slice of a column has all pairs of the column, and offsets that begin at its own.
        pairs = islice(zip(keys, items, strict=True), int(offsets[0]), None)
        sizes = (offsets[1:] - offsets[:-1]).tolist()
        return _with_none([dict(islice(pairs, size)) for size in sizes], array)


def _without_none(values: Sequence[Any]) -> tuple[Sequence[Any], Any]:
    """The values that are not None, and where the others are (None when there are none)."""
    if type(None) not in set(map(type, values)):
        return values, None
    nulls = np.fromiter((value is None for value in values), np.bool_, len(values))
    return [value for value in values if value is not None], nulls


def _spread(values: Sequence[Any], valid: list[bool]) -> list[Any]:
    rest = iter(values)
    return [next(rest) if ok else None for ok in valid]


def _valid(array: pa.Array) -> list[bool]:
    valid: list[bool] = array.is_valid().to_numpy(zero_copy_only=False).tolist()
    return valid


def _list_array(
    arrow_type: pa.DataType, values: Sequence[Any], nulls: Any, flat: pa.Array
) -> pa.Array:
    sizes = map(len, values) if nulls is None else (0 if v is None else len(v) for v in values)
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(sizes, np.int64, len(values)), out=offsets[1:])
    if offsets[-1] > _LARGEST_OFFSET:
        raise Inexact("the lists of the run exceed the two thousand million elements of an array")
    mask = None if nulls is None else pa.array(nulls)
    starts = pa.array(offsets.astype(np.int32))
    return pa.ListArray.from_arrays(starts, flat, type=arrow_type, mask=mask)


def _with_none(values: list[Any], array: pa.Array) -> list[Any]:
    if not array.null_count:
        return values
    return [value if ok else None for value, ok in zip(values, _valid(array), strict=True)]
