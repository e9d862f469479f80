"""Which types map to Arrow, and to which columns."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from riverrun.serde.arrow_columns import (
    BinaryColumn,
    BoolColumn,
    Column,
    DateColumn,
    NumberColumn,
    StringColumn,
    TimeColumn,
    TimestampColumn,
    big_decimal_column,
    big_int_column,
)
from riverrun.serde.arrow_fields import (
    DataclassFields,
    Fields,
    InstantFields,
    NamedTupleFields,
    RowFields,
    TupleFields,
    is_plain_dataclass,
)
from riverrun.serde.arrow_nested import ListColumn, MapColumn, StructColumn
from riverrun.serde.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DataclassTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    NamedTupleTypeInfo,
    ObjectArrayTypeInfo,
    OptionalTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

__all__ = [
    "FieldColumns",
    "FieldTypes",
    "column_for",
    "columns_of",
    "field_columns_for",
    "fields_of",
    "instant_column",
]

_KIND = "row_kind"


class FieldTypes(NamedTuple):
    """The fields that values of a type have."""

    names: list[str]
    types: list[TypeInformation]
    fields: Fields


class FieldColumns(NamedTuple):
    """The columns of a type whose values have fields."""

    names: list[str]
    columns: list[Column]
    fields: Fields


def column_for(type_info: TypeInformation) -> Column | None:
    """The Arrow column of a type, or None when the type or a part of it does not map to Arrow."""
    for cls, build in _BUILDERS.items():
        if isinstance(type_info, cls):
            return build(type_info)
    return None


def field_columns_for(type_info: TypeInformation) -> FieldColumns | None:
    """The Arrow columns of the fields of a type, or None when it has no fields or does not map."""
    if isinstance(type_info, ExternalTypeInfo):
        return field_columns_for(type_info.type_info)
    return (
        None
        if (found := fields_of(type_info)) is None
        else columns_of(type_info, found, column_for)
    )


def fields_of(type_info: TypeInformation) -> FieldTypes | None:
    """The fields of a type's values, and how to take them apart; None when it has none."""
    types: list[TypeInformation]
    names: list[str]
    match type_info:
        case TupleTypeInfo():
            types, names = type_info.get_field_types(), []
            fields: Fields = TupleFields(len(types))
        case NamedTupleTypeInfo(cls):
            types, names = type_info.get_field_types(), type_info.get_field_names()
            fields = NamedTupleFields(cls, len(types))
        case DataclassTypeInfo(cls) if is_plain_dataclass(cls):
            types, names = type_info.get_field_types(), type_info.get_field_names()
            fields = DataclassFields(cls)
        case RowTypeInfo(_, field_names):
            types, names = type_info.get_field_types(), type_info.get_field_names()
            fields = RowFields(None if field_names is None else tuple(field_names), len(types))
        case _:
            return None
    names = names or [f"f{position}" for position in range(len(types))]
    return FieldTypes(names, types, fields) if types else None


def columns_of(
    type_info: TypeInformation,
    found: FieldTypes,
    column_of: Callable[[TypeInformation], Column | None],
) -> FieldColumns | None:
    """The columns of the fields as ``column_of`` has them, a row's kind last; None if one has none."""
    columns = [column for field in found.types if (column := column_of(field)) is not None]
    if len(columns) != len(found.types):
        return None
    names = found.names
    if isinstance(type_info, RowTypeInfo):
        names, columns = [*names, _KIND], [*columns, NumberColumn("b", pa.int8())]
    return FieldColumns(names, columns, found.fields)


def _struct_column(type_info: TypeInformation) -> Column | None:
    parts = field_columns_for(type_info)
    return None if parts is None else StructColumn(*parts)


def _basic_column(type_info: BasicTypeInfo) -> Column:
    return _BASIC[type_info.basic_type]()


def instant_column() -> Column:
    """Seconds and nanoseconds of an instant."""
    columns = [NumberColumn("q", pa.int64()), NumberColumn("i", pa.int32())]
    return StructColumn(["seconds", "nanos"], columns, InstantFields())


def _array_column(type_info: PrimitiveArrayTypeInfo) -> Column | None:
    if type_info.is_bytes:
        return BinaryColumn()
    element = column_for(type_info.element_type)
    return None if element is None else ListColumn(element, none=False)


def _list_column(
    type_info: ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo,
) -> Column | None:
    element = column_for(type_info.element_type)
    return None if element is None else ListColumn(element)


def _map_column(type_info: MapTypeInfo) -> Column | None:
    key, value = column_for(type_info.key_type_info), column_for(type_info.value_type_info)
    return None if key is None or value is None else MapColumn(key, value)


def _inner_column(type_info: OptionalTypeInfo | ExternalTypeInfo) -> Column | None:
    return column_for(type_info.type_info)


def _local_time_column(type_info: LocalTimeTypeInfo) -> Column:
    return _LOCAL_TIMES[type_info.time_type]()


_BASIC: Mapping[BasicType, Callable[[], Column]] = {
    BasicType.STRING: StringColumn,
    BasicType.CHAR: lambda: StringColumn(length=1),
    BasicType.BOOLEAN: BoolColumn,
    BasicType.BYTE: lambda: NumberColumn("b", pa.int8()),
    BasicType.SHORT: lambda: NumberColumn("h", pa.int16()),
    BasicType.INT: lambda: NumberColumn("i", pa.int32()),
    BasicType.LONG: lambda: NumberColumn("q", pa.int64()),
    BasicType.FLOAT: lambda: NumberColumn("d", pa.float64()),
    BasicType.DOUBLE: lambda: NumberColumn("d", pa.float64()),
    BasicType.BIG_INT: big_int_column,
    BasicType.BIG_DEC: big_decimal_column,
    BasicType.INSTANT: instant_column,
}
_LOCAL_TIMES: Mapping[LocalTimeTypeInfo.TimeType, Callable[[], Column]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: DateColumn,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: TimeColumn,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: TimestampColumn,
}
_BUILDERS: Mapping[type[TypeInformation], Callable[[Any], Column | None]] = {
    BasicTypeInfo: _basic_column,
    TupleTypeInfo: _struct_column,
    RowTypeInfo: _struct_column,
    NamedTupleTypeInfo: _struct_column,
    DataclassTypeInfo: _struct_column,
    ListTypeInfo: _list_column,
    BasicArrayTypeInfo: _list_column,
    ObjectArrayTypeInfo: _list_column,
    PrimitiveArrayTypeInfo: _array_column,
    MapTypeInfo: _map_column,
    OptionalTypeInfo: _inner_column,
    ExternalTypeInfo: _inner_column,
    DateTypeInfo: lambda _type_info: DateColumn(),
    TimeTypeInfo: lambda _type_info: TimeColumn(),
    TimestampTypeInfo: lambda _type_info: TimestampColumn(),
    LocalTimeTypeInfo: _local_time_column,
}
