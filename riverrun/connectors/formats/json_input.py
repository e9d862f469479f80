"""From JSON to values of a declared type: one typed decoder for what is as it should be.

A type becomes an annotation that msgspec decodes in one go, and a function that finishes what msgspec
cannot make (rows, times). What that refuses is read again by ``json_leniently``, which takes what Flink's
format takes beside the proper form and says where the fault is.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import GenericAlias
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import astuple

from riverrun.connectors.formats.times import date_of, instant_of, time_of, timestamp_of
from riverrun.serde.basic_types import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from riverrun.serde.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from riverrun.serde.columns import plain_type
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.row import rows_of
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.type_info import TypeInformation

_ODD: Final = re.compile(r'[\x00-\x1f"\\]')
"""What the name of a field of msgspec must not have."""
INTEGERS: Final = {
    BasicType.BYTE: 8,
    BasicType.SHORT: 16,
    BasicType.INT: 32,
    BasicType.LONG: 64,
}
"""The types of whole numbers with a limit, and their bits."""
LISTS: Final = (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)
"""The types of ``list`` values (and of bytes, which are asked for before)."""
OBJECTS: Final = (RowTypeInfo, DataclassTypeInfo, NamedTupleTypeInfo)
"""The types of values with named fields."""
ObjectType: TypeAlias = RowTypeInfo | DataclassTypeInfo | NamedTupleTypeInfo
TEXT_TIMES: Final[dict[type, Callable[[str], Any]]] = {
    DateTypeInfo: date_of,
    TimeTypeInfo: time_of,
    TimestampTypeInfo: timestamp_of,
}
LOCAL_TIMES: Final[dict[LocalTimeTypeInfo.TimeType, Callable[[str], Any]]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: date_of,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: time_of,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: timestamp_of,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What msgspec decodes, and what makes a value of it; None: it is the value."""

    annotation: Any
    finish: Callable[[Any], Any] | None = None


def shape_of(type_info: TypeInformation, *, all_fields: bool) -> Shape | None:
    """How values of the type are decoded; None: only field by field.

    Args:
        type_info: their declared type.
        all_fields: whether every field of a row has to be there.
    """
    kind = plain_type(type_info)
    for classes, make in _SHAPES:
        if isinstance(kind, classes):
            return make(kind, all_fields)
    return None


def single(value: float) -> float:
    """The nearest number of 32 bits."""
    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


def object_shape(kind: ObjectType, all_fields: bool) -> Shape | None:  # noqa: FBT001  (as in the table)
    """A JSON object with a member for each field; others are passed over."""
    shapes = [shape_of(each, all_fields=all_fields) for each in kind.get_field_types()]
    if any(shape is None for shape in shapes) or any(map(_ODD.search, kind.get_field_names())):
        return None
    found = [shape for shape in shapes if shape is not None]
    labels = [f"f{position}" for position in range(len(found))]
    fields: list[Any] = [
        (label, _or_none(shape.annotation), *(() if all_fields else (None,)))
        for label, shape in zip(labels, found, strict=True)
    ]
    decoded = msgspec.defstruct(
        "Fields", fields, rename=dict(zip(labels, kind.get_field_names(), strict=True)), gc=False
    )
    assemble = assembler(kind, [shape.finish for shape in found])
    return Shape(decoded, lambda one: assemble([one])[0])


def assembler(
    kind: ObjectType,
    finishers: Sequence[Callable[[Any], Any] | None],
) -> Callable[[Sequence[Any]], list[Any]]:
    """What makes the values of a run of decoded objects."""
    steps = [(place, finish) for place, finish in enumerate(finishers) if finish is not None]

    def lists(decoded: Sequence[Any]) -> list[list[Any]]:
        values = [list(astuple(each)) for each in decoded]
        for place, finish in steps:
            for fields in values:
                found = fields[place]
                if found is not None:
                    fields[place] = finish(found)
        return values

    if isinstance(kind, RowTypeInfo):
        names = tuple(kind.get_field_names())
        return lambda decoded: list(rows_of(names, lists(decoded), bytes(len(decoded))))
    cls = kind.cls
    return lambda decoded: [cls(*fields) for fields in lists(decoded)]


def _list_shape(kind: Any, all_fields: bool) -> Shape | None:  # noqa: FBT001
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.is_bytes:
        return Shape(bytes)
    element = shape_of(kind.element_type, all_fields=all_fields)
    if element is None:
        return None
    inner = element.annotation
    if not isinstance(kind, PrimitiveArrayTypeInfo):
        inner = _or_none(inner)
    annotation, finish = GenericAlias(list, (inner,)), element.finish
    if finish is None:
        return Shape(annotation)
    return Shape(annotation, lambda found: [None if v is None else finish(v) for v in found])


def _map_shape(kind: MapTypeInfo, all_fields: bool) -> Shape | None:  # noqa: FBT001
    key = plain_type(kind.key_type_info)
    value = shape_of(kind.value_type_info, all_fields=all_fields)
    if value is None or not isinstance(key, BasicTypeInfo) or key.basic_type not in _KEYS:
        return None
    inner = _or_none(value.annotation)
    annotation, finish = (
        GenericAlias(dict, (_BASIC[key.basic_type].annotation, inner)),
        value.finish,
    )
    if finish is None:
        return Shape(annotation)
    return Shape(
        annotation,
        lambda found: {k: None if v is None else finish(v) for k, v in found.items()},
    )


def _tuple_shape(kind: TupleTypeInfo, all_fields: bool) -> Shape | None:  # noqa: FBT001
    shapes = [shape_of(each, all_fields=all_fields) for each in kind.get_field_types()]
    found = [shape for shape in shapes if shape is not None]
    if len(found) != len(shapes) or not found:
        return None
    annotation = GenericAlias(tuple, tuple(_or_none(shape.annotation) for shape in found))
    finishers = [shape.finish for shape in found]
    if not any(finishers):
        return Shape(annotation)
    return Shape(
        annotation,
        lambda values: tuple(
            value if finish is None or value is None else finish(value)
            for finish, value in zip(finishers, values, strict=True)
        ),
    )


def _or_none(annotation: Any) -> Any:
    return annotation if annotation is Any else annotation | None


def _integer(bits: int) -> Shape:
    return Shape(Annotated[int, Meta(ge=-(1 << (bits - 1)), le=(1 << (bits - 1)) - 1)])


_BASIC: Final[dict[BasicType, Shape]] = {
    BasicType.STRING: Shape(str),
    BasicType.BOOLEAN: Shape(bool),
    BasicType.CHAR: Shape(Annotated[str, Meta(min_length=1, max_length=1)]),
    BasicType.FLOAT: Shape(float, single),
    BasicType.DOUBLE: Shape(float),
    BasicType.BIG_INT: Shape(int),
    BasicType.BIG_DEC: Shape(Decimal),
    BasicType.INSTANT: Shape(str, instant_of),
    **{basic: _integer(bits) for basic, bits in INTEGERS.items()},
}
_KEYS: Final = frozenset({BasicType.STRING, BasicType.BIG_INT, *INTEGERS})
_SHAPES: Final[tuple[tuple[Any, Callable[[Any, bool], Shape | None]], ...]] = (
    (BasicTypeInfo, lambda kind, _: _BASIC[kind.basic_type]),
    (PickledBytesTypeInfo, lambda _kind, _: Shape(Any)),
    (LocalTimeTypeInfo, lambda kind, _: Shape(str, LOCAL_TIMES[kind.time_type])),
    (tuple(TEXT_TIMES), lambda kind, _: Shape(str, TEXT_TIMES[type(kind)])),
    (LISTS, _list_shape),
    (MapTypeInfo, _map_shape),
    (TupleTypeInfo, _tuple_shape),
    (OBJECTS, object_shape),
)
"""How values of each kind of type are decoded."""
