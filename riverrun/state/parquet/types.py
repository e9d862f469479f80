"""Which Arrow column a value has in a file: by its declared type, or by what it plainly is.

Unlike the columns in which records travel (`riverrun.serde.arrow_types`), these are made for other tools to
read: numbers of any size are text, dicts are maps. Every type has a column; a part that no Arrow type
stands for is a pickle in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import NoneType
from typing import Any, Final

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
)
from riverrun.serde.arrow_fields import (
    TupleFields,
)
from riverrun.serde.arrow_nested import ListColumn, StructColumn
from riverrun.serde.arrow_types import columns_of, fields_of, instant_column
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
from riverrun.state.parquet.cells import ExactColumn, MapColumn, PickleColumn, TextColumn


def column_for(type_info: TypeInformation) -> Column:
    """The column of values of a declared type."""
    for cls, build in _BUILDERS.items():
        if isinstance(type_info, cls):
            return build(type_info)
    return PickleColumn()


def plain_column_for(values: Sequence[Any], *, windows: bool = False) -> Column | None:
    """The column of values without a declared type; None if they are not all of one plain kind.

    Plain are text, numbers, booleans, bytes, and tuples of these of one length. None fits everywhere.
    ``windows``: a pair of whole numbers is a time window.
    """
    classes = set(map(type, values)) - {NoneType}
    if not classes:
        return _PLAIN[pa.string()]
    if len(classes) > 1:
        return None
    cls = classes.pop()
    if cls is tuple:
        return _plain_tuples([value for value in values if value is not None], windows=windows)
    for column in _PLAIN.values():
        if column.takes(cls):
            return column
    return None


def plain_column_of(arrow_type: pa.DataType) -> Column | None:
    """The column that `plain_column_for` chose, by the type that it has in the file."""
    if not pa.types.is_struct(arrow_type):
        return _PLAIN.get(arrow_type)
    parts = [plain_column_of(field.type) for field in arrow_type]
    known = [part for part in parts if part is not None]
    return (
        _tuples([field.name for field in arrow_type], known) if len(known) == len(parts) else None
    )


class _Plain(ExactColumn):
    """A column of one class that needs no declared type to be read."""

    def __init__(self, cls: type, column: Column) -> None:
        super().__init__(cls, column)
        self._class = cls

    def takes(self, cls: type) -> bool:
        """Whether values of the class have their place here."""
        return cls is self._class


_PLAIN: Final[Mapping[pa.DataType, _Plain]] = {
    column.arrow_type: column
    for column in (
        _Plain(str, StringColumn()),
        _Plain(int, NumberColumn("q", pa.int64())),
        _Plain(float, NumberColumn("d", pa.float64())),
        _Plain(bool, BoolColumn()),
        _Plain(bytes, BinaryColumn()),
    )
}


def _plain_tuples(values: Sequence[tuple[Any, ...]], *, windows: bool) -> Column | None:
    lengths = set(map(len, values))
    if len(lengths) > 1 or lengths == {0}:
        return None
    columns = [plain_column_for(part) for part in zip(*values, strict=True)]
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    if windows and [column.arrow_type for column in known] == [pa.int64(), pa.int64()]:
        return _tuples(["start", "end"], known)
    return _tuples([f"f{position}" for position in range(len(known))], known)


def _tuples(names: Sequence[str], columns: Sequence[Column]) -> Column:
    return ExactColumn(tuple, StructColumn(names, columns, TupleFields(len(columns))))


def _struct(type_info: TypeInformation) -> Column:
    found = fields_of(type_info)
    if found is None:
        return PickleColumn()  # also because a file has no structs without fields
    parts = columns_of(type_info, found, column_for)
    assert parts is not None  # noqa: S101  (every type has a column here)
    return StructColumn(_distinct(parts.names), parts.columns, parts.fields)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, changed where one is empty or where two differ in case alone, which many tools ignore."""
    found: list[str] = []
    taken: set[str] = set()
    for position, name in enumerate(names):
        given = name or f"f{position}"
        while given.casefold() in taken:
            given += "_"
        taken.add(given.casefold())
        found.append(given)
    return found


def _array(type_info: PrimitiveArrayTypeInfo) -> Column:
    if type_info.is_bytes:
        return BinaryColumn()
    return ListColumn(column_for(type_info.element_type), none=False)


def _list(type_info: ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo) -> Column:
    return ListColumn(column_for(type_info.element_type))


def _map(type_info: MapTypeInfo) -> Column:
    return MapColumn(column_for(type_info.key_type_info), column_for(type_info.value_type_info))


def _inner(type_info: OptionalTypeInfo | ExternalTypeInfo) -> Column:
    return column_for(type_info.type_info)


_BASIC: Final[Mapping[BasicType, Callable[[], Column]]] = {
    BasicType.STRING: StringColumn,
    BasicType.CHAR: lambda: StringColumn(length=1),
    BasicType.BOOLEAN: BoolColumn,
    BasicType.BYTE: lambda: NumberColumn("b", pa.int8()),
    BasicType.SHORT: lambda: NumberColumn("h", pa.int16()),
    BasicType.INT: lambda: NumberColumn("i", pa.int32()),
    BasicType.LONG: lambda: NumberColumn("q", pa.int64()),
    BasicType.FLOAT: lambda: NumberColumn("d", pa.float64()),
    BasicType.DOUBLE: lambda: NumberColumn("d", pa.float64()),
    BasicType.BIG_INT: lambda: TextColumn(int, int.__repr__, int, refused=bool),
    BasicType.BIG_DEC: lambda: TextColumn(Decimal, Decimal.__str__, Decimal),
    BasicType.INSTANT: instant_column,
}
_LOCAL_TIMES: Final[Mapping[LocalTimeTypeInfo.TimeType, Callable[[], Column]]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: DateColumn,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: TimeColumn,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: TimestampColumn,
}
_BUILDERS: Final[Mapping[type[TypeInformation], Callable[[Any], Column]]] = {
    BasicTypeInfo: lambda type_info: _BASIC[type_info.basic_type](),
    TupleTypeInfo: _struct,
    RowTypeInfo: _struct,
    NamedTupleTypeInfo: _struct,
    DataclassTypeInfo: _struct,
    ListTypeInfo: _list,
    BasicArrayTypeInfo: _list,
    ObjectArrayTypeInfo: _list,
    PrimitiveArrayTypeInfo: _array,
    MapTypeInfo: _map,
    OptionalTypeInfo: _inner,
    ExternalTypeInfo: _inner,
    DateTypeInfo: lambda _type_info: DateColumn(),
    TimeTypeInfo: lambda _type_info: TimeColumn(),
    TimestampTypeInfo: lambda _type_info: TimestampColumn(),
    LocalTimeTypeInfo: lambda type_info: _LOCAL_TIMES[type_info.time_type](),
}
