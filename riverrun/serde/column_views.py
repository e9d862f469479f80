"""Columns as a program sees them: the fields of a type by name, as Arrow types of their own kind.

On the way between tasks a number of any size or a decimal is text or bytes in Arrow, and a row has a
column for its kind. A program that works on columns gets decimals as decimals, no kinds, and may give
columns of any Arrow type that can be cast to the declared one without loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from riverrun.serde.arrow_columns import Column, Inexact
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.columns import ColumnLayout, ColumnRun, plain_type
from riverrun.serde.type_info import TypeInformation

__all__ = [
    "ColumnMismatch",
    "batch_from",
    "column_array",
    "column_from",
    "kinds",
    "view_of",
    "view_type",
]

_BIG: Final = (BasicType.BIG_DEC, BasicType.BIG_INT)
_ANY_DECIMAL: Final = pa.decimal256(76, 18)
_ANY_INTEGER: Final = pa.decimal256(76, 0)
_NULL: Final = pa.null()


class ColumnMismatch(TypeError):  # noqa: N818  (the name says what happened)
    """Columns are not those of the declared type."""


def view_of(run: ColumnRun) -> pa.RecordBatch:
    """The columns of a run for a program."""
    layout = run.layout
    arrays = [view_column(run, position) for position in range(len(layout.names))]
    return pa.RecordBatch.from_arrays(arrays, names=list(layout.names))


def view_column(run: ColumnRun, position: int) -> pa.Array:
    """One column of a run for a program."""
    array = run.column(position)
    big = _big(run.layout.types[position])
    if big is None:
        return array
    values = run.layout.columns[position].from_array(array)
    if big is BasicType.BIG_INT:
        values = [None if value is None else Decimal(value) for value in values]
    try:
        made = pa.array(values)
        return made if pa.types.is_decimal(made.type) else made.cast(_view_types(big))
    except pa.ArrowException as error:
        raise ColumnMismatch(
            f"column {run.layout.names[position]!r}: a number has more digits than an Arrow decimal "
            f"can hold ({error}); map it to another type before"
        ) from error


def view_type(layout: ColumnLayout, position: int) -> pa.DataType:
    """The Arrow type of a column for a program (of numbers of any size: one that holds most of them)."""
    big = _big(layout.types[position])
    return layout.schema.field(position).type if big is None else _view_types(big)


def batch_from(layout: ColumnLayout, given: Any, kind: pa.Array | None = None) -> pa.RecordBatch:
    """The batch of a layout out of what a program made: a record batch, a table or a mapping.

    ``kind`` are the kinds of rows; they are all INSERT without.

    Raises:
        ColumnMismatch: a column is missing, or cannot be cast to its type without loss.
    """
    columns = _columns_by_name(given)
    missing = [name for name in layout.names if name not in columns]
    unknown = [name for name in columns if name not in layout.names]
    if missing or unknown:
        raise ColumnMismatch(
            f"the columns are {list(columns)!r}; expected {list(layout.names)!r}, "
            f"the fields of {layout.type_info!r}"
        )
    arrays = [
        column_from(layout, position, columns[name]) for position, name in enumerate(layout.names)
    ]
    sizes = {len(array) for array in arrays}
    if len(sizes) > 1:
        raise ColumnMismatch(
            f"the columns have different lengths: "
            f"{dict(zip(layout.names, map(len, arrays), strict=True))!r}; expected one length"
        )
    if layout.has_kind:
        arrays.append(kinds(sizes.pop()) if kind is None else kind)
    return pa.RecordBatch.from_arrays(arrays, schema=layout.schema)


def column_from(layout: ColumnLayout, position: int, given: Any) -> pa.Array:
    """The column of a layout out of what a program made: an Arrow array, or anything that can become one."""
    name, wanted = layout.names[position], layout.schema.field(position).type
    column = layout.columns[position]
    try:
        array = column_array(given, wanted)
        if _big(layout.types[position]) is not None and array.type != wanted:
            return _big_column(column, array, layout.types[position])
        if array.type != wanted:
            array = array.cast(wanted)
        if _is_char(layout.types[position]):
            column.to_array(array.to_pylist())
    except (pa.ArrowException, TypeError, ValueError, Inexact) as error:
        found = getattr(given, "type", type(given).__name__)
        raise ColumnMismatch(
            f"column {name!r}: is {found}; expected {wanted} or what can be cast to it without loss, "
            f"for {layout.types[position]!r} ({error})"
        ) from error
    return array


def kinds(count: int) -> pa.Array:
    """The kinds of so many rows, all INSERT."""
    return pa.array(np.zeros(count, np.int8))


def _big_column(column: Column, array: pa.Array, type_info: TypeInformation) -> pa.Array:
    values = array.to_pylist()
    if _big(type_info) is BasicType.BIG_INT:
        whole = [None if value is None else int(value) for value in values]
        if any(a is not None and a != b for a, b in zip(whole, values, strict=True)):
            raise ValueError("expected whole numbers")
        return column.to_array(whole)
    return column.to_array(
        [Decimal(value) if isinstance(value, int) else value for value in values]
    )


def column_array(given: Any, wanted: pa.DataType = _NULL) -> pa.Array:
    """What a program gives as a column, as one Arrow array; of type ``wanted`` if all of it is null."""
    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks()
        if isinstance(given, pa.ChunkedArray):  # more than one array can hold, or none at all
            given = pa.concat_arrays(given.chunks) if given.num_chunks else pa.array([], wanted)
    if isinstance(given, pa.ExtensionArray):
        return given.storage
    if isinstance(given, pa.DictionaryArray):
        return given.dictionary_decode()
    if isinstance(given, pa.Array):
        return given
    made = pa.array(given)
    return pa.array([None] * len(made), wanted) if pa.types.is_null(made.type) else made


def _columns_by_name(given: Any) -> Mapping[str, Any]:
    if isinstance(given, pa.RecordBatch | pa.Table):
        names: Sequence[str] = given.schema.names
        return dict(zip(names, given.columns, strict=True))
    if isinstance(given, Mapping):
        return given
    raise ColumnMismatch(
        f"got a {type(given).__name__}; expected a pyarrow RecordBatch or Table, or a dict of arrays"
    )


def _view_types(big: BasicType) -> pa.DataType:
    return _ANY_INTEGER if big is BasicType.BIG_INT else _ANY_DECIMAL


def _big(type_info: TypeInformation) -> BasicType | None:
    plain = plain_type(type_info)
    if isinstance(plain, BasicTypeInfo) and plain.basic_type in _BIG:
        return plain.basic_type
    return None


def _is_char(type_info: TypeInformation) -> bool:
    plain = plain_type(type_info)
    return isinstance(plain, BasicTypeInfo) and plain.basic_type is BasicType.CHAR
