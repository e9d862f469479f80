"""Protobuf messages of a generated class, as they are or as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.connectors.base.extras import require
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.connectors.formats.protobuf_rows import (
    message_maker,
    row_maker,
    row_type_of_protobuf,
)
from riverrun.serde.type_info import TypeInformation

__all__ = ["ProtobufDeserializationSchema", "ProtobufSerializationSchema"]


class ProtobufDeserializationSchema(DeserializationSchema):
    """Messages of a class that ``protoc`` generated; or rows with a field for each of theirs.

    Args:
        message_class: the generated class. Workers need its module only for messages: rows are made from
            its description, which travels with the program.
        as_rows: whether records are rows, and not messages.
        ignore_parse_errors: whether bytes that are no message give no record, instead of an error.
    """

    def __init__(
        self, message_class: Any, *, as_rows: bool = False, ignore_parse_errors: bool = False
    ) -> None:
        self._class = _generated("ProtobufDeserializationSchema", message_class)
        self._ignore = ignore_parse_errors
        self._as_rows = as_rows
        self._type = row_type_of_protobuf(message_class.DESCRIPTOR) if as_rows else None
        self._finish = row_maker(message_class.DESCRIPTOR) if as_rows else None
        self._error = require("google.protobuf.message", extra="protobuf", user="protobuf")

    def deserialize(self, message: bytes) -> Any:
        if message is None:
            return None
        try:
            found = self._class.FromString(message)
        except self._error.DecodeError as error:
            if self._ignore:
                return None
            raise FormatError(
                f"protobuf: the bytes are no {self._class.DESCRIPTOR.full_name!r}: {error}; found "
                f"{shown(message)}"
            ) from error
        return found if self._finish is None else self._finish(found)

    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        try:
            found = list(map(self._class.FromString, messages))
        except (self._error.DecodeError, TypeError):
            return [self.deserialize(message) for message in messages]
        return found if self._finish is None else list(map(self._finish, found))

    def get_produced_type(self) -> TypeInformation | None:
        return self._type

    def __reduce__(self) -> tuple[Any, ...]:
        shipped = described(self._class) if self._as_rows else self._class
        return _input, (shipped, self._as_rows, self._ignore)


class ProtobufSerializationSchema(SerializationSchema):
    """The bytes of messages; with a ``message_class`` also of rows and dicts with its fields."""

    def __init__(self, message_class: Any = None) -> None:
        self._class = (
            None
            if message_class is None
            else _generated("ProtobufSerializationSchema", message_class)
        )
        self._make = (
            None
            if message_class is None
            else message_maker(message_class.DESCRIPTOR, message_class)
        )

    def serialize(self, element: Any) -> bytes:
        written = getattr(element, "SerializeToString", None)
        if written is not None:
            return bytes(written())
        if self._make is None:
            raise FormatError(
                f"protobuf: got {shown(element)}; expected a message, or give the schema its class"
            )
        try:
            return bytes(self._make(element).SerializeToString())
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            name = self._class.DESCRIPTOR.full_name if self._class else ""
            raise FormatError(
                f"protobuf: cannot write {shown(element)} as {name!r}: {error}"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return _output, (None if self._class is None else described(self._class),)


def described(message_class: Any) -> tuple[str, tuple[bytes, ...]]:
    """A class as its name and the files that describe it, each after those that it imports."""
    files: dict[str, bytes] = {}

    def collect(file: Any) -> None:
        for imported in file.dependencies:
            collect(imported)
        files.setdefault(file.name, file.serialized_pb)

    collect(message_class.DESCRIPTOR.file)
    return message_class.DESCRIPTOR.full_name, tuple(files.values())


def class_of(name: str, files: Sequence[bytes]) -> Any:
    """The class that was described, made anew."""
    pools = require("google.protobuf.descriptor_pool", extra="protobuf", user="protobuf")
    classes = require("google.protobuf.message_factory", extra="protobuf", user="protobuf")
    pool = pools.DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file)
    return classes.GetMessageClass(pool.FindMessageTypeByName(name))


def _generated(who: str, message_class: Any) -> Any:
    require("google.protobuf", extra="protobuf", user=who)
    if getattr(message_class, "DESCRIPTOR", None) is None:
        raise TypeError(
            f"{who}: got {message_class!r}; expected a class that protoc generated, such as "
            f"orders_pb2.Order"
        )
    return message_class


def _input(
    shipped: Any,
    as_rows: bool,  # noqa: FBT001  (called by pickle only)
    ignore: bool,  # noqa: FBT001
) -> ProtobufDeserializationSchema:
    made = class_of(*shipped) if as_rows else shipped
    return ProtobufDeserializationSchema(made, as_rows=as_rows, ignore_parse_errors=ignore)


def _output(shipped: tuple[str, tuple[bytes, ...]] | None) -> ProtobufSerializationSchema:
    return ProtobufSerializationSchema(None if shipped is None else class_of(*shipped))
