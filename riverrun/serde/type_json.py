"""A type as JSON, in which it stands beside the state that was written with it.

A class is kept by its name and the names of its fields (see `riverrun.serde.stand_ins` for what becomes
of classes that change).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from riverrun.core.errors import ProgramError
from riverrun.serde.arrow_fields import is_plain_dataclass
from riverrun.serde.basic_types import (
    BasicType,
    BasicTypeInfo,
    InstantTypeInfo,
    PickledBytesTypeInfo,
)
from riverrun.serde.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.stand_ins import dataclass_of, named_tuple_of, remember
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.type_info import TypeInformation

__all__ = ["UnreadableType", "type_from_json", "type_to_json"]

VERSION: Final = 1
"""Of the JSON; a change that an older reader cannot read adds one."""

_Node = dict[str, Any]


class UnreadableType(ProgramError):  # noqa: N818 - the name says what happened
    """A type that was kept with state is not in a form that this version reads."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found, self.expected = found, expected

    def __str__(self) -> str:
        return (
            f"the type that state was written with is kept as {self.found}; expected {self.expected}; "
            f"read the state with the version of riverrun that wrote it, or a newer one"
        )


def type_to_json(type_info: TypeInformation) -> str:
    """The type as JSON of one line; equal types give equal text.

    >>> type_to_json(TupleTypeInfo([BasicTypeInfo(BasicType.LONG)]))
    '{"type":{"fields":[{"kind":"basic","name":"LONG"}],"kind":"tuple"},"version":1}'
    """
    tree = {"version": VERSION, "type": _to_node(type_info)}
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))


def type_from_json(text: str) -> TypeInformation:
    """The type that `type_to_json` was given, as far as its classes are still what they were.

    Raises:
        UnreadableType: the text is no type, or a newer version wrote it.
    """
    try:
        tree = json.loads(text)
        version = tree["version"]
    except (ValueError, TypeError, KeyError) as error:
        raise UnreadableType(repr(text), f"JSON of version {VERSION}") from error
    if version != VERSION:
        raise UnreadableType(f"JSON of version {version!r}", f"version {VERSION}")
    try:
        return _from_node(tree["type"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableType(repr(text), "a type of riverrun") from error


def _to_node(type_info: TypeInformation) -> _Node:
    for cls, form in _FORMS.items():
        if isinstance(type_info, cls):
            return {"kind": form.kind, **form.parts(type_info)}
    raise TypeError(f"{type_info!r} is not a type that riverrun knows; use one of the Types class")


def _from_node(node: _Node) -> TypeInformation:
    return _BY_KIND[node["kind"]].make(node)


def _element_parts(type_info: Any) -> _Node:
    return {"element": _to_node(type_info.element_type)}


def _map_parts(type_info: MapTypeInfo) -> _Node:
    return {
        "key": _to_node(type_info.key_type_info),
        "value": _to_node(type_info.value_type_info),
    }


def _inner_parts(type_info: OptionalTypeInfo | ExternalTypeInfo) -> _Node:
    return {"of": _to_node(type_info.type_info)}


def _fields_parts(type_info: Any) -> _Node:
    return {"fields": [_to_node(field) for field in type_info.field_types]}


def _row_parts(type_info: RowTypeInfo) -> _Node:
    named = {} if type_info.field_names is None else {"names": list(type_info.field_names)}
    return {**_fields_parts(type_info), **named}


def _class_parts(type_info: NamedTupleTypeInfo | DataclassTypeInfo) -> _Node:
    names = type_info.get_field_names()
    return {**_fields_parts(type_info), "class": remember(type_info.cls), "names": names}


def _dataclass_parts(type_info: DataclassTypeInfo) -> _Node:
    # Whether the class makes its objects in a way of its own decides how its values are encoded.
    return {**_class_parts(type_info), "plain": is_plain_dataclass(type_info.cls)}


def _no_parts(_type_info: TypeInformation) -> _Node:
    return {}


def _basic(node: _Node) -> TypeInformation:
    basic = BasicType[node["name"]]
    return InstantTypeInfo() if basic is BasicType.INSTANT else BasicTypeInfo(basic)


def _fields(node: _Node) -> list[TypeInformation]:
    return [_from_node(field) for field in node["fields"]]


def _named_tuple(node: _Node) -> TypeInformation:
    return NamedTupleTypeInfo(named_tuple_of(node["class"], node["names"]), _fields(node))


def _dataclass(node: _Node) -> TypeInformation:
    cls = dataclass_of(node["class"], node["names"], plain=node["plain"])
    return DataclassTypeInfo(cls, _fields(node))


class _Form(NamedTuple):
    """How one kind of type is written and read."""

    kind: str
    parts: Callable[[Any], _Node]
    make: Callable[[_Node], TypeInformation]


def _sequence(kind: str, cls: Callable[[TypeInformation], TypeInformation]) -> _Form:
    return _Form(kind, _element_parts, lambda node: cls(_from_node(node["element"])))


_FORMS: Final[Mapping[type[TypeInformation], _Form]] = {
    BasicTypeInfo: _Form("basic", lambda found: {"name": found.basic_type.name}, _basic),
    PickledBytesTypeInfo: _Form("pickled", _no_parts, lambda _node: PickledBytesTypeInfo()),
    DateTypeInfo: _Form("date", _no_parts, lambda _node: DateTypeInfo()),
    TimeTypeInfo: _Form("time", _no_parts, lambda _node: TimeTypeInfo()),
    TimestampTypeInfo: _Form("timestamp", _no_parts, lambda _node: TimestampTypeInfo()),
    LocalTimeTypeInfo: _Form(
        "local_time",
        lambda found: {"name": found.time_type.name},
        lambda node: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType[node["name"]]),
    ),
    PrimitiveArrayTypeInfo: _sequence("primitive_array", PrimitiveArrayTypeInfo),
    BasicArrayTypeInfo: _sequence("basic_array", BasicArrayTypeInfo),
    ObjectArrayTypeInfo: _sequence("object_array", ObjectArrayTypeInfo),
    ListTypeInfo: _sequence("list", ListTypeInfo),
    MapTypeInfo: _Form(
        "map",
        _map_parts,
        lambda node: MapTypeInfo(_from_node(node["key"]), _from_node(node["value"])),
    ),
    TupleTypeInfo: _Form("tuple", _fields_parts, lambda node: TupleTypeInfo(_fields(node))),
    RowTypeInfo: _Form(
        "row", _row_parts, lambda node: RowTypeInfo(_fields(node), node.get("names"))
    ),
    NamedTupleTypeInfo: _Form("named_tuple", _class_parts, _named_tuple),
    DataclassTypeInfo: _Form("dataclass", _dataclass_parts, _dataclass),
    OptionalTypeInfo: _Form(
        "optional", _inner_parts, lambda node: OptionalTypeInfo(_from_node(node["of"]))
    ),
    ExternalTypeInfo: _Form(
        "external", _inner_parts, lambda node: ExternalTypeInfo(_from_node(node["of"]))
    ),
}
_BY_KIND: Final = {form.kind: form for form in _FORMS.values()}
