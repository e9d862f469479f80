"""Avro messages with Confluent's header: a zero, the id of the writer's schema in four bytes, the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.connectors.formats.avro_rows import reader_for, writer_for
from riverrun.connectors.formats.avro_schema import (
    AvroSchema,
    GenericRecordAvroTypeInfo,
    row_type_of_avro,
)
from riverrun.connectors.formats.avro_values import rows_from
from riverrun.connectors.formats.confluent_registry import ConfluentRegistry, RegistryError
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.serde.type_info import TypeInformation

__all__ = [
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
]

_HEADER: Final = 5


class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema):
    """Records from messages with Confluent's header, in one schema whichever they were written with.

    Args:
        schema: the schema of the records as they come out.
        registry: where the schemas of the writers are.
        as_rows: whether records come out as rows, and not as dicts.
    """

    def __init__(
        self, schema: AvroSchema, registry: ConfluentRegistry, *, as_rows: bool = False
    ) -> None:
        self._schema = schema
        self._registry = registry
        self._as_rows = as_rows
        self._row_type = row_type_of_avro(schema) if as_rows else None
        self._finish = None if self._row_type is None else rows_from(self._row_type)
        self._readers: dict[bytes, Callable[[bytes], Any]] = {}

    @staticmethod
    def for_generic(
        schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Records as dicts."""
        registry = ConfluentRegistry(url, registry_configs)
        return ConfluentRegistryAvroDeserializationSchema(schema, registry)

    @staticmethod
    def for_row(
        schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Records as rows."""
        registry = ConfluentRegistry(url, registry_configs)
        return ConfluentRegistryAvroDeserializationSchema(schema, registry, as_rows=True)

    def open(self) -> None:
        self._registry.check()

    def deserialize(self, message: bytes) -> Any:
        if message is None:
            return None
        record = self._record(message)
        return record if self._finish is None else self._finish([record])[0]

    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        if None in messages:
            return [self.deserialize(message) for message in messages]
        records = list(map(self._record, messages))
        return records if self._finish is None else list(self._finish(records))

    def get_produced_type(self) -> TypeInformation:
        return self._row_type or GenericRecordAvroTypeInfo(self._schema)

    def _record(self, message: bytes) -> Any:
        header = message[:_HEADER]
        read = self._readers.get(header)
        if read is None:
            read = self._readers[header] = self._reader(header)
        return read(message[_HEADER:])

    def _reader(self, header: bytes) -> Callable[[bytes], Any]:
        if len(header) < _HEADER or header[0] != 0:
            raise FormatError(
                f"confluent avro: the message begins with {shown(header)}; expected a zero and the four "
                f"bytes of a schema id: was it written without a schema registry?"
            )
        schema_id = int.from_bytes(header[1:], "big")
        try:
            text = self._registry.schema(schema_id)
        except RegistryError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            raise FormatError(
                f"confluent avro: the message has the schema id {schema_id}, which the registry does not "
                f"know ({error})"
            ) from error
        written = AvroSchema.parse_string(text)
        return reader_for(written, None if written == self._schema else self._schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return _input, (self._schema, self._registry, self._as_rows)


class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Messages with Confluent's header; the schema is registered under ``subject`` before the first.

    Args:
        subject: the name in the registry, usually ``<topic>-value``.
        schema: the schema of the records; dicts, rows and tuples of it are taken.
        registry: where to register it.
    """

    def __init__(self, subject: str, schema: AvroSchema, registry: ConfluentRegistry) -> None:
        self._subject = subject
        self._schema = schema
        self._registry = registry
        self._write: Callable[[Any], bytes] | None = None

    @staticmethod
    def for_generic(
        subject: str,
        schema: AvroSchema,
        url: str,
        registry_configs: Mapping[str, str] | None = None,
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Records from dicts (or rows)."""
        registry = ConfluentRegistry(url, registry_configs)
        return ConfluentRegistryAvroSerializationSchema(subject, schema, registry)

    def open(self) -> None:
        self._writer()

    def serialize(self, element: Any) -> bytes:
        return self._writer()(element)

    def serialize_run(self, elements: Sequence[Any]) -> list[bytes]:
        return list(map(self._writer(), elements))

    def _writer(self) -> Callable[[Any], bytes]:
        if self._write is None:
            schema_id = self._registry.register(self._subject, str(self._schema))
            self._write = writer_for(self._schema, b"\0" + schema_id.to_bytes(4, "big"))
        return self._write

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfluentRegistryAvroSerializationSchema, (
            self._subject,
            self._schema,
            self._registry,
        )


def _input(
    schema: AvroSchema,
    registry: ConfluentRegistry,
    as_rows: bool,  # noqa: FBT001  (called by pickle only)
) -> ConfluentRegistryAvroDeserializationSchema:
    return ConfluentRegistryAvroDeserializationSchema(schema, registry, as_rows=as_rows)
