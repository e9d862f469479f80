"""Classes of values that were kept: found again by name, or stood in for.

When the class that is found under the name has other fields by now, or none is found, a stand-in with
the fields of old is made: values of old can be read with it, and `riverrun.serde.evolution` makes of
them what the program declares now.
"""

import dataclasses
from collections import namedtuple
from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from riverrun.serde.arrow_fields import is_plain_dataclass
from riverrun.serde.basic_types import PickledBytesTypeInfo
from riverrun.serde.collection_types import ListTypeInfo, MapTypeInfo, ObjectArrayTypeInfo
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.type_info import TypeInformation

__all__ = [
    "class_name",
    "class_now",
    "dataclass_of",
    "named_tuple_of",
    "remember",
    "without_stand_ins",
]

_Class: TypeAlias = NamedTupleTypeInfo | DataclassTypeInfo

_NOW: Final = "__riverrun_now__"
"""On a stand-in: the class that is found under its name, or None."""

# Classes that came to this process by value, such as those of the script that was started, cannot be
# imported by their name.
_SEEN: Final[WeakValueDictionary[str, type[Any]]] = WeakValueDictionary()
_MADE: Final[dict[tuple[str, ...], type[Any]]] = {}
"""The stand-ins of this process."""


def class_name(cls: type[Any]) -> str:
    """The module and the name in it, by which a class is found again."""
    return f"{cls.__module__}:{cls.__qualname__}"


def remember(cls: type[Any]) -> str:
    """The name of the class, which this process can find from now on."""
    name = class_name(cls)
    if class_now(cls) is cls:
        _SEEN[name] = cls
    return name


def class_now(cls: type[Any]) -> type[Any] | None:
    """``cls`` itself; for a stand-in the class that is found under its name, if there is one."""
    if _NOW in cls.__dict__:
        found: type[Any] | None = cls.__dict__[_NOW]
        return found
    return cls


def named_tuple_of(name: str, fields: Sequence[str]) -> type[Any]:
    """The class of this name if it is a named tuple of these fields, else a stand-in."""
    found = _found(name)
    if found is not None and list(getattr(found, "_fields", ())) == list(fields):
        return found

    def make() -> type[Any]:
        return namedtuple("made", fields)  # noqa: PYI024 - known only now

    return _stand_in(("tuple", name, *fields), name, found, make)


def dataclass_of(name: str, fields: Sequence[str], *, plain: bool) -> type[Any]:
    """The class of this name if it is a dataclass of these fields, as plain as it was; else a stand-in."""
    found = _found(name)
    if found is not None and dataclasses.is_dataclass(found):
        same = [field.name for field in dataclasses.fields(found)] == list(fields)
        if same and is_plain_dataclass(found) == plain:
            return found

    def make() -> type[Any]:
        # A class with named arguments only is encoded like one with ways of its own.
        return dataclasses.make_dataclass("made", fields, kw_only=not plain)

    return _stand_in(("plain" if plain else "dataclass", name, *fields), name, found, make)


def without_stand_ins(type_info: TypeInformation) -> TypeInformation:
    """The type with the program's own classes in place of stand-ins, and rows where there is none."""
    inner = without_stand_ins
    found = type_info
    match type_info:
        case OptionalTypeInfo(of):
            found = OptionalTypeInfo(inner(of))
        case ExternalTypeInfo(of):
            found = ExternalTypeInfo(inner(of))
        case ListTypeInfo(element) | ObjectArrayTypeInfo(element):
            found = type(type_info)(inner(element))
        case MapTypeInfo(key, value):
            found = MapTypeInfo(inner(key), inner(value))
        case TupleTypeInfo(types):
            found = TupleTypeInfo([inner(part) for part in types])
        case RowTypeInfo(types, names):
            found = RowTypeInfo([inner(part) for part in types], names)
        case NamedTupleTypeInfo(cls, types) | DataclassTypeInfo(cls, types):
            found = _in_program(type_info, cls, [inner(part) for part in types])
    return found


def _in_program(type_info: _Class, cls: type[Any], types: list[TypeInformation]) -> TypeInformation:
    names = type_info.get_field_names()
    now = class_now(cls)
    if now is cls:
        return type(type_info)(cls, types)
    if now is None or not _is_such(type_info, now):
        return RowTypeInfo(types, names)
    known = dict(zip(names, types, strict=True))
    if isinstance(type_info, NamedTupleTypeInfo):
        return NamedTupleTypeInfo(now, [known.get(name, _ANYTHING) for name in now._fields])
    fields = [field.name for field in dataclasses.fields(now)]
    return DataclassTypeInfo(now, [known.get(name, _ANYTHING) for name in fields])


def _is_such(type_info: _Class, cls: type[Any]) -> bool:
    if isinstance(type_info, DataclassTypeInfo):
        return dataclasses.is_dataclass(cls)
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


_ANYTHING: Final = PickledBytesTypeInfo()


def _stand_in(
    key: tuple[str, ...], name: str, found: type[Any] | None, make: Callable[[], type[Any]]
) -> type[Any]:
    """The stand-in that ``key`` tells from others.

    It is the same each time: a value that somebody reads with it may be written by somebody else.
    """
    known = _MADE.get(key)
    if known is not None and class_now(known) is found:
        return known
    made = make()
    module, _, qualname = name.partition(":")
    made.__module__, made.__qualname__ = module, qualname
    made.__name__ = qualname.rpartition(".")[2]
    setattr(made, _NOW, found)
    _MADE[key] = made
    return made


def _found(name: str) -> type[Any] | None:
    module, _, qualname = name.partition(":")
    try:
        found = attrgetter(qualname)(import_module(module))
    except Exception:  # noqa: BLE001 - an import runs the user's code, which may raise anything
        return _SEEN.get(name)
    return found if isinstance(found, type) else None
