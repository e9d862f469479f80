"""Avro schemas, and the types of the records that they describe; by PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from riverrun.connectors.base.extras import require
from riverrun.core.errors import ProgramError
from riverrun.serde.basic_types import PickledBytesTypeInfo
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["AvroSchema", "GenericRecordAvroTypeInfo"]


class AvroSchema:
    """A schema as its JSON says it.

    >>> schema = AvroSchema.parse_string('{"type": "record", "name": "A", "fields": []}')
    >>> schema.full_name
    'A'
    """

    def __init__(self, definition: Any) -> None:
        self.definition = definition
        parse = require("fastavro", extra="avro", user="Avro").parse_schema
        try:
            self._parsed = parse(definition)
        except Exception as error:
            # fastavro lets any kind of error out for a schema that makes no sense.
            raise ProgramError(f"avro schema: {definition!r} is none: {error}") from error

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema in a text."""
        return AvroSchema(_parsed_json("the text", json_schema))

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema in a file of this machine."""
        try:
            text = Path(file_path).read_text(encoding="utf-8")
        except OSError as error:
            raise ProgramError(
                f"avro schema: cannot read the file {file_path!r}: {error}"
            ) from error
        return AvroSchema(_parsed_json(f"the file {file_path!r}", text))

    @property
    def parsed(self) -> Any:
        """The schema as fastavro wants it."""
        return self._parsed

    @property
    def full_name(self) -> str:
        """The name of the record, enum or fixed; the kind of everything else."""
        if isinstance(self._parsed, dict):
            return str(self._parsed.get("name", self._parsed.get("type")))
        return str(self._parsed)

    def __str__(self) -> str:
        return msgspec.json.encode(self.definition).decode()

    def __repr__(self) -> str:
        return f"AvroSchema({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self.definition == other.definition

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (self.definition,)


@dataclass(frozen=True, repr=False)
class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """Records of an Avro schema as dicts."""

    schema: AvroSchema

    def __repr__(self) -> str:
        return f"GenericRecordAvroTypeInfo({self.schema.full_name})"


def row_type_of_avro(schema: AvroSchema) -> RowTypeInfo:
    """The type of rows that stand for the records.

    >>> fields = '[{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}]'
    >>> row_type_of_avro(AvroSchema.parse_string(f'{{"type": "record", "name": "A", "fields": {fields}}}'))
    Types.ROW_NAMED(['at'], [Types.SQL_TIMESTAMP()])

    Raises:
        ProgramError: it describes no record, or something that no type stands for.
    """
    found = _Types().type_of(schema.parsed, schema.full_name)
    if not isinstance(found, RowTypeInfo):
        raise ProgramError(f"avro schema: {schema} describes {found!r}; expected a record")
    return found


class _Types:
    def __init__(self) -> None:
        self._named: dict[str, TypeInformation | None] = {}

    def type_of(self, node: Any, where: str) -> TypeInformation:
        if isinstance(node, list):
            return self._union(node, where)
        if isinstance(node, str):
            return self._simple(node, {}, where)
        kind = node["type"]
        if isinstance(kind, dict | list):
            return self.type_of(kind, where)
        return self._complex(kind, node, where)

    def _complex(self, kind: str, node: Mapping[str, Any], where: str) -> TypeInformation:
        if kind in {"record", "error"}:
            return self._record(node)
        if kind == "array":
            return Types.OBJECT_ARRAY(self.type_of(node["items"], f"{where}[]"))
        if kind == "map":
            return Types.MAP(Types.STRING(), self.type_of(node["values"], f"{where}{{}}"))
        found = self._simple(kind, node, where)
        if "name" in node:
            self._named[node["name"]] = found
        return found

    def _record(self, node: Mapping[str, Any]) -> TypeInformation:
        name = node["name"]
        self._named[name] = None
        fields = node["fields"]
        types = [self.type_of(each["type"], f"{name}.{each['name']}") for each in fields]
        found = Types.ROW_NAMED([each["name"] for each in fields], types)
        self._named[name] = found
        return found

    def _union(self, choices: list[Any], where: str) -> TypeInformation:
        others = [each for each in choices if each != "null"]
        if len(others) == 1:
            return self.type_of(others[0], where)
        return Types.PICKLED_BYTE_ARRAY()  # values of several types

    def _simple(self, kind: str, node: Mapping[str, Any], where: str) -> TypeInformation:
        logical = node.get("logicalType")
        make = _LOGICAL.get((kind, logical)) or _SIMPLE.get(kind)
        if make is not None:
            found: TypeInformation = make()
            return found
        if self._named.get(kind) is not None:
            named = self._named[kind]
            assert named is not None  # noqa: S101  (just asked)
            return named
        raise ProgramError(
            f"avro schema: {where} has the type {kind!r}, which rows cannot have"
            f"{' because it is inside of itself' if kind in self._named else ''}; read generic records "
            f"instead"
        )


def _parsed_json(what: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ProgramError(f"avro schema: {what} is not JSON: {error}") from error


def _byte_array() -> TypeInformation:
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


_SIMPLE: Final[Mapping[str, Callable[[], TypeInformation]]] = {
    "null": Types.PICKLED_BYTE_ARRAY,
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "enum": Types.STRING,
    "bytes": _byte_array,
    "fixed": _byte_array,
}
_LOGICAL: Final[Mapping[tuple[str, Any], Callable[[], TypeInformation]]] = {
    ("int", "date"): Types.SQL_DATE,
    ("int", "time-millis"): Types.SQL_TIME,
    ("long", "time-micros"): Types.SQL_TIME,
    ("long", "timestamp-millis"): Types.SQL_TIMESTAMP,
    ("long", "timestamp-micros"): Types.SQL_TIMESTAMP,
    ("long", "local-timestamp-millis"): Types.SQL_TIMESTAMP,
    ("long", "local-timestamp-micros"): Types.SQL_TIMESTAMP,
    ("bytes", "decimal"): Types.BIG_DEC,
    ("fixed", "decimal"): Types.BIG_DEC,
}
