"""How a column of Python values becomes an Arrow array and comes back: the indivisible types.

A column takes exactly the values that the check of its type takes, and raises some error for
others: it need not say which value, the check will. What it could convert but not give back as it
was (a zone, a subclass of date) it answers with `Inexact`, and the run then travels pickled.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

__all__ = [
    "BinaryColumn",
    "BoolColumn",
    "Column",
    "DateColumn",
    "Inexact",
    "NumberColumn",
    "StringColumn",
    "TimeColumn",
    "TimestampColumn",
    "big_decimal_column",
    "big_int_column",
    "classes_of",
]


class Inexact(Exception):  # noqa: N818 - it is a signal to choose another encoding
    """Arrow would hold these values, but not give them back as they are."""


class Column(Protocol):
    """One type's way into Arrow and back; ``from_array(to_array(values))`` equals the values."""

    arrow_type: pa.DataType

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        """The values, some of which may be None, as an array of ``arrow_type``."""
        ...

    def from_array(self, array: pa.Array) -> list[Any]:
        """The values of an array that `to_array` made."""
        ...


def classes_of(
    values: Sequence[Any], classes: tuple[type, ...], refused: type | None = None
) -> set[type]:
    """The classes found among the values, each of them, a subclass or NoneType, else TypeError."""
    found = set(map(type, values))
    for cls in found:
        if cls in classes or cls is NoneType:
            continue
        if not issubclass(cls, classes) or (refused is not None and issubclass(cls, refused)):
            raise TypeError(f"expected {classes}, found {cls}")
    return found


class NumberColumn:
    """Ints and floats of a fixed size, by their code in ``struct``."""

    def __init__(self, code: str, arrow_type: pa.DataType) -> None:
        self.arrow_type = arrow_type
        self._code = code
        self._dtype = np.dtype(code)
        self._zero = 0.0 if code == "d" else 0
        self._classes: tuple[type, ...] = (float, int) if code == "d" else (int,)

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        # struct.pack is two to four times as fast as pa.array, and refuses a float in an int column.
        size = len(values)
        if NoneType in classes_of(values, self._classes, refused=bool):
            return self._with_nulls(values)
        data = struct.pack(f"{size}{self._code}", *values)
        return pa.Array.from_buffers(self.arrow_type, size, [None, pa.py_buffer(data)], 0)

    def _with_nulls(self, values: Sequence[Any]) -> pa.Array:
        zero = self._zero
        size = len(values)
        data = struct.pack(f"{size}{self._code}", *[zero if v is None else v for v in values])
        mask = np.fromiter((value is None for value in values), np.bool_, size)
        return pa.array(np.frombuffer(data, self._dtype), type=self.arrow_type, mask=mask)

    def from_array(self, array: pa.Array) -> list[Any]:
        if array.null_count:
            return list(array.to_pylist())
        values: list[Any] = array.to_numpy().tolist()
        return values


class BoolColumn:
    """Bools."""

    arrow_type = pa.bool_()

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        classes_of(values, (bool,))
        return pa.array(values, self.arrow_type)

    def from_array(self, array: pa.Array) -> list[Any]:
        return _objects(array)


class StringColumn:
    """Strings, of any length or of one; one with a lone surrogate has no UTF-8 form and fails."""

    arrow_type = pa.string()

    def __init__(self, length: int | None = None) -> None:
        self._length = length

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        classes_of(values, (str,))
        if self._length is not None:
            lengths = {len(value) for value in values if value is not None}
            if not lengths <= {self._length}:
                raise ValueError(f"expected strings of length {self._length}, found {lengths}")
        return _one_chunk(pa.array(values, self.arrow_type))

    def from_array(self, array: pa.Array) -> list[Any]:
        return _objects(array)


class BinaryColumn:
    """Bytes, or values of a class that a pair of functions turns into bytes and back."""

    arrow_type = pa.binary()

    def __init__(
        self,
        classes: tuple[type, ...] = (bytes, bytearray),
        to_bytes: Callable[[Any], bytes] | None = None,
        from_bytes: Callable[[bytes], Any] | None = None,
    ) -> None:
        self._classes = classes
        self._to_bytes = to_bytes
        self._from_bytes = from_bytes

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        classes_of(values, self._classes, refused=bool)
        convert = self._to_bytes
        if convert is not None:
            values = [None if value is None else convert(value) for value in values]
        return _one_chunk(pa.array(values, self.arrow_type))

    def from_array(self, array: pa.Array) -> list[Any]:
        values = _objects(array)
        convert = self._from_bytes
        if convert is None:
            return values
        return [None if value is None else convert(value) for value in values]


def big_int_column() -> BinaryColumn:
    """Ints of any size, as two's complement in little-endian order."""
    return BinaryColumn(
        (int,),
        lambda value: value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True),
        lambda data: int.from_bytes(data, "little", signed=True),
    )


def big_decimal_column() -> BinaryColumn:
    """Decimals of any precision, as their text, which keeps trailing zeros and the sign of zero."""
    return BinaryColumn(
        (Decimal,), lambda value: str(value).encode(), lambda data: Decimal(data.decode())
    )


class DateColumn:
    """Dates without a time."""

    arrow_type = pa.date32()

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        _require_exact(values, date)
        return pa.array(values, self.arrow_type)

    def from_array(self, array: pa.Array) -> list[Any]:
        return _objects(array)


class TimestampColumn:
    """Datetimes without a zone, in microseconds."""

    arrow_type = pa.timestamp("us")

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        _require_exact(values, datetime)
        _require_naive(values)
        return pa.array(values, self.arrow_type)

    def from_array(self, array: pa.Array) -> list[Any]:
        return _objects(array)


class TimeColumn:
    """Times of day without a zone, in microseconds."""

    arrow_type = pa.time64("us")

    def to_array(self, values: Sequence[Any]) -> pa.Array:
        _require_exact(values, time)
        _require_naive(values)
        return pa.array(values, self.arrow_type)

    def from_array(self, array: pa.Array) -> list[Any]:
        return list(array.to_pylist())


def _objects(array: pa.Array) -> list[Any]:
    """The values by way of numpy, whose conversion costs a fraction of a scalar each."""
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def _one_chunk(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        raise Inexact("the texts of the run exceed the two gigabytes of one Arrow array")
    return array


def _require_exact(values: Sequence[Any], cls: type) -> None:
    if not set(map(type, values)) <= {cls, NoneType}:
        raise Inexact(f"a subclass of {cls.__name__}")


def _require_naive(values: Sequence[Any]) -> None:
    for value in values:
        if value is not None and (value.tzinfo is not None or value.fold):
            raise Inexact("a zone or a fold")
