"""The type of rows that a JSON schema describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from riverrun.core.errors import ProgramError
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

_FORMATS: Final[Mapping[str, Any]] = {
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
    "date-time": Types.SQL_TIMESTAMP,
}


def row_type_of_json_schema(json_schema: str) -> RowTypeInfo:
    """The row type of the objects that the schema allows.

    Whole numbers and numbers become decimals, as in Flink, since the schema sets no limit to them.

    >>> row_type_of_json_schema('{"type": "object", "properties": {"a": {"type": "string"}}}')
    Types.ROW_NAMED(['a'], [Types.STRING()])

    Raises:
        ProgramError: it is no JSON schema of an object, or uses what no type stands for.
    """
    try:
        schema = msgspec.json.decode(json_schema)
    except msgspec.DecodeError as error:
        raise ProgramError(f"json schema: it is not JSON: {error}") from error
    found = _Reader(schema).type_of(schema, "the schema")
    if not isinstance(found, RowTypeInfo):
        raise ProgramError(
            f"json schema: it describes {found!r}; expected an object with properties"
        )
    return found


class _Reader:
    def __init__(self, root: Any) -> None:
        self._root = root

    def type_of(self, node: Any, where: str) -> TypeInformation:
        if not isinstance(node, dict):
            raise ProgramError(f"json schema: {where} is {node!r}; expected an object")
        if "$ref" in node:
            return self.type_of(self._referred(node["$ref"], where), where)
        kind = node.get("type")
        choices = [{**node, "type": each} for each in kind] if isinstance(kind, list) else None
        if choices or "oneOf" in node:
            return self._one_of(choices or node["oneOf"], where)
        if kind == "object":
            return self._object(node, where)
        if kind == "array":
            return self._array(node, where)
        if kind in _SIMPLE:
            return _SIMPLE[kind](node)
        raise ProgramError(
            f"json schema: {where} has the type {kind!r}; expected object, array, string, boolean, "
            f"number or integer"
        )

    def _one_of(self, choices: list[Any], where: str) -> TypeInformation:
        others = [each for each in choices if each.get("type") != "null"]
        if len(others) != 1:
            raise ProgramError(
                f"json schema: {where} may be of {len(others)} types; expected one, or one and null"
            )
        return self.type_of(others[0], where)

    def _object(self, node: Mapping[str, Any], where: str) -> TypeInformation:
        members = node.get("properties", {})
        types = [
            self.type_of(inner, f"{where}, property {name!r}") for name, inner in members.items()
        ]
        return Types.ROW_NAMED(list(members), types)

    def _array(self, node: Mapping[str, Any], where: str) -> TypeInformation:
        items = node.get("items")
        if isinstance(items, list):
            types = [
                self.type_of(each, f"{where}, item {place}") for place, each in enumerate(items)
            ]
            return Types.TUPLE(types)
        return Types.OBJECT_ARRAY(self.type_of(items, f"{where}, items"))

    def _referred(self, reference: Any, where: str) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise ProgramError(
                f"json schema: {where} refers to {reference!r}; expected a place in the same schema, "
                f"such as '#/definitions/x'"
            )
        found = self._root
        for part in filter(None, reference[1:].split("/")):
            if not isinstance(found, dict) or part not in found:
                raise ProgramError(
                    f"json schema: {where} refers to {reference!r}, which is not there"
                )
            found = found[part]
        return found


def _text_type(node: Mapping[str, Any]) -> TypeInformation:
    if node.get("contentEncoding") == "base64":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    make = _FORMATS.get(node.get("format", ""), Types.STRING)
    found: TypeInformation = make()
    return found


_SIMPLE: Final[Mapping[Any, Callable[[Mapping[str, Any]], TypeInformation]]] = {
    "string": _text_type,
    "boolean": lambda _: Types.BOOLEAN(),
    "number": lambda _: Types.BIG_DEC(),
    "integer": lambda _: Types.BIG_DEC(),
}
