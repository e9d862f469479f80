"""Runs of records as columns: a record batch that stands for a list of records.

A `ColumnRun` can be used wherever a run's list of values is only read; it makes the records when they
are first asked for, once. What works on columns takes the batch and never makes any. A `TimeColumn`
is the same for timestamps.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from riverrun.serde.arrow_columns import Column, Inexact
from riverrun.serde.arrow_types import column_for, field_columns_for
from riverrun.serde.check import checker_for, takes_none
from riverrun.serde.composite_types import ExternalTypeInfo, OptionalTypeInfo, RowTypeInfo
from riverrun.serde.type_info import TypeInformation

if TYPE_CHECKING:
    # Whoever is given a run only reads it, and reading is all that both can do.
    Values: TypeAlias = list[Any]
    Times: TypeAlias = list[int]
else:
    Values = Times = Sequence

__all__ = ["ColumnLayout", "ColumnRun", "TimeColumn", "layout_of", "plain_rows", "plain_times"]

Indices: TypeAlias = npt.NDArray[np.int64]

CONVERSION_ERRORS: Final = (
    Inexact,
    pa.ArrowException,
    struct.error,
    ArithmeticError,
    AttributeError,
    TypeError,
    ValueError,
)
"""What the conversion of values that do not fit their columns may raise."""


class ColumnLayout:
    """How records of one type are the columns of a record batch.

    A type with fields has a column a field; a row has one more, the last, for its kind. Every other
    type has one column, ``value``.
    """

    def __init__(self, type_info: TypeInformation) -> None:
        parts = field_columns_for(type_info)
        whole = None if parts is not None else column_for(type_info)
        if parts is None and whole is None:
            raise TypeError(f"{type_info!r} does not map to Arrow; use layout_of to find out")
        self.type_info = type_info
        self.columns: list[Column] = (
            parts.columns if parts is not None else [whole] if whole else []
        )
        self._fields = None if parts is None else parts.fields
        names = ["value"] if parts is None else parts.names
        self.schema = pa.schema(
            [
                pa.field(name, column.arrow_type)
                for name, column in zip(names, self.columns, strict=True)
            ]
        )
        self.has_kind = isinstance(_inner(type_info), RowTypeInfo)
        self.names: tuple[str, ...] = tuple(names[:-1] if self.has_kind else names)
        """The names of the fields, without the kind of a row."""
        self.types: tuple[TypeInformation, ...] = _field_types(type_info, len(self.names))
        self.may_have_empty = any(isinstance(each, OptionalTypeInfo) for each in self.types)
        """Whether it is worth while to look for columns without any value."""
        self._check = checker_for(type_info)
        self._none = takes_none(type_info)

    def position(self, name: str | int) -> int:
        """Which column has this name; KeyError if there is none."""
        if isinstance(name, int):
            if not 0 <= name < len(self.names):
                raise KeyError(name)
            return name
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(name) from None

    def batch_of(self, values: Sequence[Any]) -> pa.RecordBatch:
        """The columns of ``values``; one of `CONVERSION_ERRORS` if they do not fit."""
        split = [values] if self._fields is None else self._fields.split(values)
        arrays = [column.to_array(part) for column, part in zip(self.columns, split, strict=True)]
        if self._fields is None and not self._none and arrays[0].null_count:
            raise TypeError("a record of this type is never None")
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def rows_of(self, batch: pa.RecordBatch) -> list[Any]:
        """The records whose columns ``batch`` has."""
        parts = [
            column.from_array(array)
            for column, array in zip(self.columns, batch.columns, strict=True)
        ]
        return parts[0] if self._fields is None else self._fields.join(parts)

    def run_of(self, values: Sequence[Any]) -> ColumnRun:
        """A run of ``values`` as columns; itself if it is one of this layout.

        Raises:
            TypeMismatch: a value is not of the type.
            TypeError: a value has no form in Arrow, such as a datetime with a zone.
        """
        if isinstance(values, ColumnRun):
            if values.layout is self:
                return values
            values = values.rows()
        try:
            return ColumnRun(self, self.batch_of(values))
        except CONVERSION_ERRORS as error:
            self._check(values)
            raise TypeError(
                f"a record of type {self.type_info!r} has no exact form as columns: {error}; "
                f"map it to a value that Arrow can hold before"
            ) from error


class ColumnRun(Values):
    """Records as columns; a sequence of records for those who want them."""

    __slots__ = ("_rows", "batch", "layout")

    def __init__(
        self, layout: ColumnLayout, batch: pa.RecordBatch, rows: list[Any] | None = None
    ) -> None:
        self.layout = layout
        self.batch = batch
        self._rows = rows

    def rows(self) -> list[Any]:
        """The records; made once, so nobody may change the list."""
        if self._rows is None:
            self._rows = self.layout.rows_of(self.batch)
        return self._rows

    def column(self, position: int) -> pa.Array:
        """The column of a field."""
        return self.batch.column(position)

    def take(self, indices: Indices) -> ColumnRun:
        """The records at these positions, in this order."""
        places = pa.array(indices)
        if not self.layout.may_have_empty:
            return ColumnRun(self.layout, self.batch.take(places))
        columns = [_taken(column, places) for column in self.batch.columns]
        return ColumnRun(
            self.layout, pa.RecordBatch.from_arrays(columns, schema=self.layout.schema)
        )

    def __len__(self) -> int:
        size: int = self.batch.num_rows
        return size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> ColumnRun: ...
    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.rows()[index]
        start, stop, step = index.indices(len(self))
        if step != 1:
            return self.take(np.arange(start, stop, step, dtype=np.int64))
        cut = None if self._rows is None else self._rows[start:stop]
        return ColumnRun(self.layout, self.batch.slice(start, max(0, stop - start)), cut)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self.rows() == list(other)

    __hash__ = None  # as a list has none

    def __reduce__(self) -> tuple[Any, ...]:
        return _run, (self.layout.type_info, self.batch)

    def __repr__(self) -> str:
        return f"<ColumnRun of {len(self)} records with {', '.join(self.layout.names)}>"


class TimeColumn(Times):
    """Timestamps as an array; a sequence of ints for those who want them."""

    __slots__ = ("_times", "array")

    def __init__(self, array: Indices) -> None:
        self.array = array
        self._times: list[int] | None = None

    @staticmethod
    def from_bytes(data: bytes | memoryview) -> TimeColumn:
        """The timestamps that ``tobytes`` gave."""
        return TimeColumn(np.frombuffer(data, "<i8"))

    def tobytes(self) -> bytes:
        """Eight bytes each, little-endian."""
        return self.array.astype("<i8", copy=False).tobytes()

    def tolist(self) -> list[int]:
        """The timestamps as ints; made once, so nobody may change the list."""
        if self._times is None:
            self._times = self.array.tolist()
        return self._times

    def extent(self) -> tuple[int, int]:
        """The least and the greatest of them; there must be one."""
        return int(self.array.min()), int(self.array.max())

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> TimeColumn: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return TimeColumn(self.array[index])
        return int(self.array[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self.tolist() == list(other)

    __hash__ = None  # as a list has none

    def __reduce__(self) -> tuple[Any, ...]:
        return TimeColumn, (self.array,)

    def __repr__(self) -> str:
        return f"<TimeColumn of {len(self)} timestamps>"


def _taken(column: pa.Array, places: pa.Array) -> pa.Array:
    if len(places) <= len(column) == column.null_count:
        return column.slice(0, len(places))
    return column.take(places)


def plain_rows(values: list[Any]) -> list[Any]:
    """A run as the list of its records."""
    if type(values) is list:  # an instance check of an abstract class costs a microsecond
        return values
    return values.rows() if isinstance(values, ColumnRun) else values


def plain_times(timestamps: list[int] | None) -> list[int] | None:
    """Timestamps as a list."""
    if timestamps is None or type(timestamps) is list:
        return timestamps
    return timestamps.tolist() if isinstance(timestamps, TimeColumn) else timestamps


def time_array(timestamps: Sequence[int]) -> Indices:
    """Timestamps as an array."""
    if isinstance(timestamps, TimeColumn):
        return timestamps.array
    return np.array(timestamps, np.int64)


@lru_cache(maxsize=1024)
def layout_of(type_info: TypeInformation) -> ColumnLayout | None:
    """The columns of records of a type; None if the type or a part of it does not map to Arrow."""
    if field_columns_for(type_info) is None and column_for(type_info) is None:
        return None
    return ColumnLayout(type_info)


def known_layout(type_info: TypeInformation | None) -> ColumnLayout:
    """The columns of records of a type that was found to map to Arrow when the program was made."""
    layout = None if type_info is None else layout_of(type_info)
    assert layout is not None, type_info  # noqa: S101  (found out before)
    return layout


def _run(type_info: TypeInformation, batch: pa.RecordBatch) -> ColumnRun:
    return ColumnRun(known_layout(type_info), batch)


def _inner(type_info: TypeInformation) -> TypeInformation:
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    return type_info


def _field_types(type_info: TypeInformation, count: int) -> tuple[TypeInformation, ...]:
    inner = _inner(type_info)
    if field_columns_for(inner) is None:
        return (inner,)
    types = tuple(inner.get_field_types())  # type: ignore[attr-defined]  # every type with fields
    assert len(types) == count  # noqa: S101  (a column a field)
    return types


def plain_type(type_info: TypeInformation) -> TypeInformation:
    """The type without what says that None or another class is allowed."""
    while isinstance(type_info, ExternalTypeInfo | OptionalTypeInfo):
        type_info = type_info.type_info
    return type_info
