"""Records as columns of a table that other systems read: the Arrow types of tables, there and back.

On the way between tasks numbers of any size are bytes, maps are lists of pairs and rows have a kind. Tables
have decimals, maps, structs and points in time. Here is which of them stands for which type:

    BIG_DEC     decimal(38, 18), or the precision that the table has      BIG_INT     decimal(38, 0)
    INSTANT     timestamp in UTC, microseconds                            MAP         map
    a type with fields (a row, a tuple, a dataclass)                      struct
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from riverrun.core.errors import ProgramError
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.arrow_types import column_for, fields_of
from riverrun.serde.column_views import column_array, column_from, kinds
from riverrun.serde.columns import ColumnLayout, ColumnRun, layout_of, plain_type
from riverrun.serde.instant import Instant
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    Types,
)

__all__ = [
    "NotARowOfATable",
    "run_of_table",
    "table_batch",
    "table_layout",
    "table_schema",
    "type_of_table",
]

_NATURAL: Final = {
    BasicType.BIG_DEC: pa.decimal128(38, 18),
    BasicType.BIG_INT: pa.decimal128(38, 0),
    BasicType.INSTANT: pa.timestamp("us", tz="UTC"),
}
_LISTS: Final = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = 1_000_000
_MICRO: Final = timedelta(microseconds=1)


class NotARowOfATable(ProgramError):  # noqa: N818  (the name says what happened)
    """A record cannot be a row of a table."""


def table_layout(who: str, type_info: TypeInformation | None) -> ColumnLayout:
    """The columns of records of a type that are to be rows of a table.

    Raises:
        ProgramError: the type has no fields, or one of them has no form in a table.
    """
    layout = None if type_info is None else layout_of(type_info)
    if layout is None or (layout.names == ("value",) and _fields(layout.type_info) is None):
        raise ProgramError(
            f"{who}: the type of the records is {type_info!r}; expected one whose fields are the "
            f"columns of the table, such as Types.ROW_NAMED([...], [...]) or Types.TUPLE([...])"
        )
    return layout


def table_schema(layout: ColumnLayout) -> pa.Schema:
    """The columns of a table for these records, all of which may be null."""
    return pa.schema(
        [
            pa.field(name, natural_type(type_info))
            for name, type_info in zip(layout.names, layout.types, strict=True)
        ]
    )


def natural_type(type_info: TypeInformation) -> pa.DataType:
    """The Arrow type that stands for a type in a table."""
    plain = plain_type(type_info)
    if isinstance(plain, BasicTypeInfo) and plain.basic_type in _NATURAL:
        return _NATURAL[plain.basic_type]
    if isinstance(plain, MapTypeInfo):
        return pa.map_(natural_type(plain.key_type_info), natural_type(plain.value_type_info))
    fields = fields_of(plain)
    if fields is not None:
        return pa.struct(
            [
                (name, natural_type(each))
                for name, each in zip(fields.names, fields.types, strict=True)
            ]
        )
    if isinstance(plain, _LISTS) and not _is_bytes(plain):
        return pa.list_(natural_type(plain.element_type))
    column = column_for(plain)
    if column is None:
        raise ProgramError(
            f"{plain!r}: no type of a table stands for it; map it to another type before"
        )
    return column.arrow_type


def table_batch(run: ColumnRun, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of a table out of records; ``schema`` says the columns, by the names of fields.

    Raises:
        NotARowOfATable: a value does not fit its column without loss, or a row takes something back.
    """
    layout = run.layout
    _check_kinds(run)
    arrays = []
    for field in schema:
        position = layout.position(field.name)
        try:
            arrays.append(_array(layout, position, run.column(position), field.type))
        except (pa.ArrowException, ValueError, TypeError, ArithmeticError) as error:
            raise NotARowOfATable(
                f"column {field.name!r}: a value of type {layout.types[position]!r} does not fit "
                f"{field.type} of the table ({error}); map it to one that does before"
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def type_of_table(schema: pa.Schema) -> TypeInformation:
    """The type of the rows of a table, by its columns.

    Raises:
        TypeError: a column has an Arrow type that no type of ours stands for.
    """
    flat = [(place, field) for place, field in enumerate(schema) if not _is_special(field.type)]
    types: dict[int, TypeInformation] = {
        place: _special_type(field) for place, field in enumerate(schema) if _is_special(field.type)
    }
    simple = pa.schema([field for _, field in flat])
    if flat:
        found: Any = type_of_schema(simple)
        types |= {
            place: kind for (place, _), kind in zip(flat, found.get_field_types(), strict=True)
        }
    return Types.ROW_NAMED(list(schema.names), [types[place] for place in range(len(schema))])


def run_of_table(layout: ColumnLayout, batch: pa.RecordBatch) -> ColumnRun:
    """Rows of a table as records of the type that `type_of_table` gave."""
    arrays = []
    for position, name in enumerate(layout.names):
        given = batch.column(name)
        if _is_special(given.type):
            values = _from_natural(layout.types[position], given.to_pylist())
            arrays.append(layout.columns[position].to_array(values))
        else:
            arrays.append(column_from(layout, position, column_array(given)))
    if layout.has_kind:
        arrays.append(kinds(batch.num_rows))
    return ColumnRun(layout, pa.RecordBatch.from_arrays(arrays, schema=layout.schema))


def _check_kinds(run: ColumnRun) -> None:
    if not run.layout.has_kind or not len(run):
        return
    kind = run.batch.column(run.batch.num_columns - 1).to_numpy(zero_copy_only=False)
    if np.any(kind != 0):
        row = run.rows()[int(np.flatnonzero(kind != 0)[0])]
        raise NotARowOfATable(
            f"the row {row!r} is of kind {row.get_row_kind().name}; expected INSERT: a table that is "
            f"appended to takes nothing back"
        )


def _array(layout: ColumnLayout, position: int, array: pa.Array, wanted: pa.DataType) -> pa.Array:
    type_info = layout.types[position]
    if array.type == wanted:
        return array
    if not _differs(type_info):
        return array.cast(wanted)
    values = _to_natural(type_info, layout.columns[position].from_array(array))
    natural = natural_type(type_info)
    if pa.types.is_decimal(natural) and pa.types.is_decimal(wanted):
        return pa.array(values, wanted)
    made = pa.array(values, natural)
    return made if natural == wanted else made.cast(wanted)


def _differs(type_info: TypeInformation) -> bool:
    """Whether records travel with another Arrow type than tables have."""
    column = column_for(type_info)
    return column is None or column.arrow_type != natural_type(type_info)


def _to_natural(type_info: TypeInformation, values: Sequence[Any]) -> list[Any]:
    plain = plain_type(type_info)
    fields = fields_of(plain)
    if fields is not None:
        present = [value for value in values if value is not None]
        parts = [
            _to_natural(each, list(part))
            for each, part in zip(fields.types, fields.fields.split(present), strict=False)
        ]
        made = iter([dict(zip(fields.names, row, strict=True)) for row in zip(*parts, strict=True)])
        return [None if value is None else next(made) for value in values]
    if isinstance(plain, MapTypeInfo):
        key, value_type = plain.key_type_info, plain.value_type_info
        return [
            None
            if each is None
            else list(
                zip(
                    _to_natural(key, list(each)),
                    _to_natural(value_type, list(each.values())),
                    strict=True,
                )
            )
            for each in values
        ]
    if isinstance(plain, _LISTS) and not _is_bytes(plain):
        return [None if each is None else _to_natural(plain.element_type, each) for each in values]
    if isinstance(plain, BasicTypeInfo) and plain.basic_type in _NATURAL:
        return [None if value is None else _plain_number(value) for value in values]
    return list(values)


def _plain_number(value: Any) -> Any:
    if isinstance(value, Instant):
        return value.seconds * _SECOND + value.nanos // 1000
    return Decimal(value)


def _is_bytes(type_info: Any) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes


def _fields(type_info: TypeInformation) -> Any:
    return fields_of(plain_type(type_info))


def _is_special(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.types.is_decimal(kind.value_type) or _is_special(kind.value_type)
    is_instant = pa.types.is_timestamp(kind) and kind.tz is not None
    return is_instant or pa.types.is_struct(kind) or pa.types.is_map(kind)


def _special_type(field: pa.Field) -> TypeInformation:
    kind = field.type
    if pa.types.is_struct(kind):
        return type_of_table(pa.schema(list(kind)))
    if pa.types.is_map(kind):
        of_key, of_item = (
            _special_type(pa.field(f"{field.name}.{part}", inner))
            for part, inner in (("key", kind.key_type), ("value", kind.item_type))
        )
        return Types.MAP(of_key, of_item)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Types.LIST(_special_type(pa.field(field.name, kind.value_type)))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return Types.INSTANT()
    simple: Any = type_of_schema(pa.schema([field]))
    found: TypeInformation = simple.get_field_types()[0]
    return found


def _from_natural(type_info: TypeInformation, values: Sequence[Any]) -> list[Any]:
    plain = plain_type(type_info)
    fields = fields_of(plain)
    if fields is not None:
        present = [value for value in values if value is not None]
        parts = [
            _from_natural(each, [value[name] for value in present])
            for name, each in zip(fields.names, fields.types, strict=True)
        ]
        # A row's kind is one more part: all of them are inserted.
        made = iter(fields.fields.join([*parts, [0] * len(present)]))
        return [None if value is None else next(made) for value in values]
    if isinstance(plain, MapTypeInfo):
        return [
            None
            if each is None
            else dict(
                zip(
                    _from_natural(plain.key_type_info, [key for key, _ in each]),
                    _from_natural(plain.value_type_info, [item for _, item in each]),
                    strict=True,
                )
            )
            for each in values
        ]
    if isinstance(plain, ListTypeInfo):
        return [
            None if each is None else _from_natural(plain.element_type, each) for each in values
        ]
    if isinstance(plain, BasicTypeInfo) and plain.basic_type is BasicType.INSTANT:
        return [None if value is None else _instant(value) for value in values]
    if isinstance(plain, BasicTypeInfo) and plain.basic_type is BasicType.BIG_INT:
        return [None if value is None else int(value) for value in values]
    return list(values)


def _instant(value: datetime) -> Instant:
    seconds, micros = divmod((value - _EPOCH) // _MICRO, _SECOND)
    return Instant(seconds, micros * 1000)
