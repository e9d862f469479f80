"""Values with fields, taken apart by an old type and put together by a new one."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import NoneType
from typing import Any, Final, TypeAlias

from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    RowTypeInfo,
)
from riverrun.serde.row import Row, RowKind

__all__ = ["Absent", "FieldsTypeInfo", "Make", "Split", "absent_fields", "maker_of", "splitter_of"]

FieldsTypeInfo: TypeAlias = RowTypeInfo | NamedTupleTypeInfo | DataclassTypeInfo
Absent: TypeAlias = Callable[[], Any]
"""Gives the value of a field that old values do not have."""
Split: TypeAlias = Callable[[Any], Sequence[Any]]
"""Gives the values of the fields, in the order of the type."""
Make: TypeAlias = Callable[[Any, list[Any]], Any]
"""Called with the old value and the values of the new fields; gives the new value."""


def splitter_of(type_info: FieldsTypeInfo) -> Split:
    """How values of the type are taken apart."""
    if isinstance(type_info, RowTypeInfo):
        return list if type_info.field_names is None else _by_names(type_info.field_names)
    getters = [attrgetter(name) for name in type_info.get_field_names()]
    return lambda value: [get(value) for get in getters]


def maker_of(type_info: FieldsTypeInfo) -> Make | str:
    """How values of the type are made, or why they cannot be."""
    match type_info:
        case RowTypeInfo(_, names):
            return _row_maker(names)
        case NamedTupleTypeInfo(cls):
            make = cls._make
            return lambda _old, values: make(values)
        case DataclassTypeInfo(cls):
            return _dataclass_maker(cls)


def absent_fields(type_info: FieldsTypeInfo) -> list[Absent | None]:
    """For each field what stands in for it when it is absent; None where nothing can.

    That is the field's default, else None if the field can be None. Rows take None anywhere.
    """
    if isinstance(type_info, RowTypeInfo):
        return [_none] * len(type_info.field_types)
    cls = type_info.cls
    defaults = _defaults(cls)
    nullable = _nullable(cls)
    return [
        defaults.get(name)
        or (_none if name in nullable or isinstance(part, OptionalTypeInfo) else None)
        for name, part in zip(type_info.get_field_names(), type_info.field_types, strict=True)
    ]


def label_of(type_info: FieldsTypeInfo, position: int) -> str:
    """What to call a field in a message."""
    return repr(type_info.get_field_names()[position])


def _none() -> None:
    return None


def _by_names(names: Sequence[str]) -> Split:
    def split(row: Row) -> Sequence[Any]:
        return row.get_fields_by_names(names)

    return split


def _row_maker(names: Sequence[str] | None) -> Make:
    def make(old: Any, values: list[Any]) -> Row:
        row = Row(*values)
        row.set_field_names(names)
        row.set_row_kind(old.get_row_kind() if isinstance(old, Row) else RowKind.INSERT)
        return row

    return make


def _dataclass_maker(cls: type[Any]) -> Make | str:
    fields = dataclasses.fields(cls)
    given = [(at, field.name) for at, field in enumerate(fields) if field.init]
    rest = [(at, field.name) for at, field in enumerate(fields) if not field.init]
    try:
        inspect.signature(cls).bind(**{name: None for _, name in given})
    except TypeError as error:
        return f"a {cls.__qualname__} cannot be made from its fields alone: {error}"

    def make(_old: Any, values: list[Any]) -> Any:
        made = cls(**{name: values[at] for at, name in given})
        for at, name in rest:
            object.__setattr__(made, name, values[at])
        return made

    return make


def _defaults(cls: type[Any]) -> dict[str, Absent]:
    if not dataclasses.is_dataclass(cls):
        kept: dict[str, Any] = getattr(cls, "_field_defaults", {})
        return {name: _giving(value) for name, value in kept.items()}
    found: dict[str, Absent] = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            found[field.name] = _giving(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory
    return found


def _giving(value: Any) -> Absent:
    return lambda: value


_ANYTHING: Final = (Any, object, None, NoneType)


def _nullable(cls: type[Any]) -> set[str]:
    """The fields that are annotated as something that can be None."""
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # noqa: BLE001 - resolving a name runs the user's code, which may raise anything
        return set()
    return {
        name
        for name, hint in hints.items()
        if hint in _ANYTHING or NoneType in typing.get_args(hint)
    }
