"""Between what fastavro reads and writes (dicts) and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import MapTypeInfo, ObjectArrayTypeInfo
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.row import Row, rows_of
from riverrun.serde.time_types import TimestampTypeInfo
from riverrun.serde.type_info import TypeInformation

Convert = Callable[[Any], Any]


def rows_from(type_info: RowTypeInfo) -> Callable[[Sequence[Mapping[str, Any]]], list[Row]]:
    """What makes rows of a run of records."""
    names = tuple(type_info.get_field_names())
    steps = [
        (place, convert)
        for place, each in enumerate(type_info.field_types)
        if (convert := _from_record(each)) is not None
    ]
    take = itemgetter(*names) if names else None

    def values(record: Mapping[str, Any]) -> list[Any]:
        if take is None:
            return []
        return [take(record)] if len(names) == 1 else list(take(record))

    def rows(records: Sequence[Mapping[str, Any]]) -> list[Row]:
        found = [values(record) for record in records]
        for place, convert in steps:
            for fields in found:
                if fields[place] is not None:
                    fields[place] = convert(fields[place])
        return rows_of(names, found, bytes(len(found)))

    return rows


def records_from(type_info: RowTypeInfo) -> Callable[[Any], dict[str, Any]]:
    """What makes a record of a row, a dict or a tuple."""
    names = type_info.get_field_names()
    steps = [
        (name, convert)
        for name, each in zip(names, type_info.field_types, strict=True)
        if (convert := _to_record(each)) is not None
    ]

    def record(value: Any) -> dict[str, Any]:
        if isinstance(value, Row):
            found = dict(zip(names, value.get_fields_by_names(names), strict=True))
        elif isinstance(value, Mapping):
            found = dict(value)
        else:
            found = dict(zip(names, value, strict=True))
        for name, convert in steps:
            inner = found.get(name)
            if inner is not None:
                found[name] = convert(inner)
        return found

    return record


def _from_record(kind: TypeInformation) -> Convert | None:
    if isinstance(kind, RowTypeInfo):
        rows = rows_from(kind)
        return lambda record: rows([record])[0]
    if isinstance(kind, TimestampTypeInfo):
        return _without_zone
    if isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.STRING:
        return _text
    return _inside(kind, _from_record)


def _to_record(kind: TypeInformation) -> Convert | None:
    if isinstance(kind, RowTypeInfo):
        return records_from(kind)
    if isinstance(kind, TimestampTypeInfo):
        return _with_zone
    return _inside(kind, _to_record)


def _inside(
    kind: TypeInformation, convert_for: Callable[[TypeInformation], Convert | None]
) -> Convert | None:
    if isinstance(kind, ObjectArrayTypeInfo):
        element = convert_for(kind.element_type)
        if element is not None:
            return lambda values: [None if each is None else element(each) for each in values]
    if isinstance(kind, MapTypeInfo):
        value = convert_for(kind.value_type_info)
        if value is not None:
            return lambda found: {
                key: None if each is None else value(each) for key, each in found.items()
            }
    return None


def _without_zone(value: datetime) -> datetime:
    """A point in time as rows have it: UTC, and no word about it."""
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def _with_zone(value: datetime) -> datetime:
    """A timestamp of a row is UTC; fastavro would take it for the zone of the machine."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value
