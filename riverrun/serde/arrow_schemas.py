"""The type of rows whose columns an Arrow schema describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["type_of_schema"]


def type_of_schema(schema: pa.Schema) -> TypeInformation:
    """Rows with a field for each column.

    Raises:
        TypeError: a column has an Arrow type that no type of ours stands for.
    """
    names = list(schema.names)
    if len(set(names)) != len(names):
        raise TypeError(f"the columns are {names!r}; expected every name once")
    return Types.ROW_NAMED(names, [_type_of(field.type, field.name) for field in schema])


def _type_of(kind: pa.DataType, name: str) -> TypeInformation:
    for is_of, make in _SIMPLE:
        if is_of(kind):
            return make()
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return Types.SQL_TIMESTAMP()
    if pa.types.is_dictionary(kind):
        return _type_of(kind.value_type, name)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Types.LIST(_type_of(kind.value_type, name))
    hint = (
        'cast it to timestamp("us") in UTC' if pa.types.is_timestamp(kind) else "cast it to another"
    )
    raise TypeError(f"column {name!r}: has the Arrow type {kind}, which no type stands for; {hint}")


_SIMPLE: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[], TypeInformation]], ...]] = (
    (pa.types.is_boolean, Types.BOOLEAN),
    (pa.types.is_int8, Types.BYTE),
    (pa.types.is_int16, Types.SHORT),
    (pa.types.is_uint8, Types.SHORT),
    (pa.types.is_int32, Types.INT),
    (pa.types.is_uint16, Types.INT),
    (pa.types.is_int64, Types.LONG),
    (pa.types.is_uint32, Types.LONG),
    (pa.types.is_uint64, Types.BIG_INT),
    (pa.types.is_floating, Types.DOUBLE),
    (pa.types.is_string, Types.STRING),
    (pa.types.is_large_string, Types.STRING),
    (pa.types.is_string_view, Types.STRING),
    (pa.types.is_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_large_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_decimal, Types.BIG_DEC),
    (pa.types.is_date, Types.SQL_DATE),
    (pa.types.is_time, Types.SQL_TIME),
)
