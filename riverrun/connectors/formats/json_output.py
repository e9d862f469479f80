"""From values of a declared type to what msgspec writes as JSON the way Flink's format does.

Decimals are numbers, bytes are base64, dates and times are text. Rows are objects, tuples are arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from riverrun.connectors.formats.errors import FormatError
from riverrun.connectors.formats.json_input import LISTS, OBJECTS, ObjectType
from riverrun.connectors.formats.times import (
    TimestampFormat,
    date_text,
    instant_text,
    time_text,
    timestamp_text,
)
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import MapTypeInfo, PrimitiveArrayTypeInfo
from riverrun.serde.columns import plain_type
from riverrun.serde.composite_types import TupleTypeInfo
from riverrun.serde.row import Row
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.type_info import TypeInformation

Convert = Callable[[Any], Any]


def output_of(type_info: TypeInformation, style: TimestampFormat) -> Convert | None:
    """What turns a value of the type into what is written; None: the value as it is."""
    kind = plain_type(type_info)
    if isinstance(kind, BasicTypeInfo):
        is_instant = kind.basic_type is BasicType.INSTANT
        return (lambda value: instant_text(value, style)) if is_instant else None
    for classes, make in _OUTPUTS:
        if isinstance(kind, classes):
            return make(kind, style)
    return time_output(kind, style)


def time_output(kind: TypeInformation, style: TimestampFormat) -> Convert | None:
    """What makes text of a date, time or timestamp; None for other types."""

    def stamp(value: Any) -> str:
        return timestamp_text(value, style)

    of_local = LocalTimeTypeInfo.TimeType
    local: dict[LocalTimeTypeInfo.TimeType, Convert] = {
        of_local.LOCAL_DATE: date_text,
        of_local.LOCAL_TIME: time_text,
        of_local.LOCAL_DATE_TIME: stamp,
    }
    if isinstance(kind, LocalTimeTypeInfo):
        return local[kind.time_type]
    by_type: dict[type, Convert] = {
        DateTypeInfo: date_text,
        TimeTypeInfo: time_text,
        TimestampTypeInfo: stamp,
    }
    return by_type.get(type(kind))


def _list_output(kind: Any, style: TimestampFormat) -> Convert | None:
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.is_bytes:
        return None
    element = output_of(kind.element_type, style)
    if element is None:
        return list
    return lambda values: [None if value is None else element(value) for value in values]


def _map_output(kind: MapTypeInfo, style: TimestampFormat) -> Convert:
    key = output_of(kind.key_type_info, style)
    value = output_of(kind.value_type_info, style)

    def convert(found: dict[Any, Any]) -> dict[str, Any]:
        return {
            _key_text(each if key is None else key(each)): inner
            if value is None or inner is None
            else value(inner)
            for each, inner in found.items()
        }

    return convert


def _key_text(key: Any) -> str:
    if key is None:
        raise FormatError("json: a map has the key None; expected a key, since JSON has no other")
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(key)


def _tuple_output(kind: TupleTypeInfo, style: TimestampFormat) -> Convert:
    parts = [output_of(each, style) for each in kind.field_types]

    def convert(values: Any) -> list[Any]:
        return [
            value if part is None or value is None else part(value)
            for part, value in zip(parts, values, strict=True)
        ]

    return convert


def _object_output(kind: ObjectType, style: TimestampFormat) -> Convert:
    names = kind.get_field_names()
    steps = [
        (name, step)
        for name, each in zip(names, kind.get_field_types(), strict=True)
        if (step := output_of(each, style)) is not None
    ]

    def fields(value: Any) -> dict[str, Any]:
        if isinstance(value, Row):
            found = value.get_fields_by_names(names)
        elif isinstance(value, tuple | list):
            found = list(value)
        elif isinstance(value, dict):
            found = [value.get(name) for name in names]
        else:
            found = [getattr(value, name) for name in names]
        return dict(zip(names, found, strict=True))

    def convert(value: Any) -> dict[str, Any]:
        members = fields(value)
        for name, step in steps:
            inner = members[name]
            if inner is not None:
                members[name] = step(inner)
        return members

    return convert


_OUTPUTS: Final[tuple[tuple[Any, Callable[[Any, TimestampFormat], Convert | None]], ...]] = (
    (OBJECTS, _object_output),
    (LISTS, _list_output),
    (MapTypeInfo, _map_output),
    (TupleTypeInfo, _tuple_output),
)
