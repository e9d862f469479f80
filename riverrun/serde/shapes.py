"""Which types have records that `loops.encode_shaped` and `loops.Writer` can write as plain values, and such runs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from riverrun import loops
from riverrun.loops import Shape, written
from riverrun.serde.arrow_fields import is_made_of_fields
from riverrun.serde.basic_types import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from riverrun.serde.collection_types import PrimitiveArrayTypeInfo
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.row import Row, row_attributes
from riverrun.serde.type_info import TypeInformation

__all__ = ["SHAPED", "decoded", "shape_of"]

SHAPED: Final = 0x02
"""The first byte of such a run: neither a pickle nor an Arrow message begins with it."""

_DEEPEST: Final = 8
"""Tuples in tuples; others have no shape."""
_KINDS: Final[Mapping[BasicType, str]] = {
    BasicType.BYTE: "b",
    BasicType.SHORT: "h",
    BasicType.INT: "i",
    BasicType.LONG: "q",
    BasicType.FLOAT: "d",
    BasicType.DOUBLE: "d",
    BasicType.STRING: "s",
    BasicType.BOOLEAN: "?",
}
_PLAIN: Final = frozenset({"y", *_KINDS.values()})
"""What may be a record, and not only a part of one."""


@lru_cache(maxsize=1024)
def shape_of(type_info: TypeInformation) -> Shape | None:
    """The shape of records of a type; None where they have none.

    >>> from riverrun.serde.types import Types
    >>> shape_of(Types.TUPLE([Types.STRING(), Types.INT()])).kinds
    'si'
    """
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    match type_info:
        case TupleTypeInfo(types):
            return _with_fields(tuple, None, types)
        case NamedTupleTypeInfo(cls, types):
            return _with_fields(cls, None, types)
        case RowTypeInfo(types, names):
            return _row_shape(types, None if names is None else tuple(names))
        case DataclassTypeInfo(cls, types) if is_made_of_fields(cls):
            return _with_fields(cls, tuple(type_info.get_field_names()), types)
    kind = _kind_of(type_info, 0)
    return Shape(None, None, kind) if kind in _PLAIN else None


def _row_shape(types: Sequence[TypeInformation], names: tuple[str, ...] | None) -> Shape | None:
    kinds = _kinds_of(types, 1)
    if kinds is None:
        return None
    # Names in another order, and other kinds of change, are left to columns.
    return Shape(Row, None, kinds, *row_attributes(names))


def _with_fields(
    cls: type[Any], names: tuple[str, ...] | None, types: Sequence[TypeInformation]
) -> Shape | None:
    kinds = _kinds_of(types, 1)
    return None if kinds is None else Shape(cls, names, kinds)


def _kinds_of(types: Sequence[TypeInformation], depth: int) -> str | None:
    kinds = [kind for each in types if (kind := _kind_of(each, depth)) is not None]
    return "".join(kinds) if len(kinds) == len(types) else None


def _kind_of(type_info: TypeInformation, depth: int) -> str | None:
    while isinstance(type_info, ExternalTypeInfo | OptionalTypeInfo):
        type_info = type_info.type_info
    match type_info:
        case BasicTypeInfo(basic):
            return _KINDS.get(basic)
        case PickledBytesTypeInfo():
            return "p"
        case PrimitiveArrayTypeInfo() if type_info.is_bytes:
            return "y"
        case TupleTypeInfo(types) if depth < _DEEPEST:
            kinds = _kinds_of(types, depth + 1)
            return None if kinds is None else f"({kinds})"
    return None


def decoded(data: bytes | memoryview, shape: Shape) -> list[Any]:
    """The records of a run."""
    records = loops.decode_shaped(data, shape)
    if records is None:
        records = written.decode_shaped(data, shape)
    return records
