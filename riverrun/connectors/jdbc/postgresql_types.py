"""PostgreSQL's types and riverrun's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["type_of"]

_TYPES: Final[Mapping[str, Callable[[], TypeInformation]]] = {
    "boolean": Types.BOOLEAN,
    "smallint": Types.SHORT,
    "integer": Types.INT,
    "bigint": Types.LONG,
    "oid": Types.LONG,
    "real": Types.FLOAT,
    "double precision": Types.DOUBLE,
    "numeric": Types.BIG_DEC,
    "text": Types.STRING,
    "character varying": Types.STRING,
    "character": Types.STRING,
    "name": Types.STRING,
    "date": Types.SQL_DATE,
    "time without time zone": Types.SQL_TIME,
    "timestamp without time zone": Types.SQL_TIMESTAMP,
    "timestamp with time zone": Types.SQL_TIMESTAMP,
}


def type_of(declared: str) -> TypeInformation:
    """The type of values of a column declared so; what has no counterpart travels pickled.

    >>> type_of("bigint"), type_of("numeric(10,2)")
    (Types.LONG(), Types.BIG_DEC())
    """
    bare = declared.partition("(")[0].strip()
    after = declared.rpartition(")")[2].strip()
    name = f"{bare} {after}".strip() if after and "(" in declared else bare
    return _TYPES.get(name, Types.PICKLED_BYTE_ARRAY)()
