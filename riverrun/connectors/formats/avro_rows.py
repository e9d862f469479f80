"""Avro records as messages: rows or dicts, in the schema that both sides know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.connectors.base.extras import require
from riverrun.connectors.formats.avro_schema import (
    AvroSchema,
    GenericRecordAvroTypeInfo,
    row_type_of_avro,
)
from riverrun.connectors.formats.avro_values import records_from, rows_from
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.core.errors import ProgramError
from riverrun.serde.type_info import TypeInformation

__all__ = [
    "AvroDeserializationSchema",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSerializationSchema",
]


class AvroDeserializationSchema(DeserializationSchema):
    """Records from messages that hold one Avro record each, without a header.

    Args:
        schema: the schema of the records as they come out.
        writer_schema: the schema that they were written with, if it is another one.
        as_rows: whether they come out as rows, and not as dicts.
    """

    def __init__(
        self, schema: AvroSchema, *, writer_schema: AvroSchema | None = None, as_rows: bool = False
    ) -> None:
        self._schema = schema
        self._writer = writer_schema
        self._as_rows = as_rows
        self._row_type = row_type_of_avro(schema) if as_rows else None
        self._finish = None if self._row_type is None else rows_from(self._row_type)
        self._read = reader_for(writer_schema or schema, None if writer_schema is None else schema)

    @staticmethod
    def for_generic(
        schema: AvroSchema, writer_schema: AvroSchema | None = None
    ) -> AvroDeserializationSchema:
        """Records as dicts."""
        return AvroDeserializationSchema(schema, writer_schema=writer_schema)

    def deserialize(self, message: bytes) -> Any:
        if message is None:
            return None
        record = self._read(message)
        return record if self._finish is None else self._finish([record])[0]

    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        if None in messages:
            return [self.deserialize(message) for message in messages]
        records = list(map(self._read, messages))
        return records if self._finish is None else list(self._finish(records))

    def get_produced_type(self) -> TypeInformation:
        return self._row_type or GenericRecordAvroTypeInfo(self._schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return _input, (type(self), self._schema, self._writer, self._as_rows)


class AvroSerializationSchema(SerializationSchema):
    """Messages that hold one Avro record each, without a header; takes dicts, rows and tuples."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._write = writer_for(schema)

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroSerializationSchema:
        """Records from dicts (or rows)."""
        return AvroSerializationSchema(schema)

    def serialize(self, element: Any) -> bytes:
        return self._write(element)

    def serialize_run(self, elements: Sequence[Any]) -> list[bytes]:
        return list(map(self._write, elements))

    def __reduce__(self) -> tuple[Any, ...]:
        return _output, (type(self), self._schema)


class AvroRowDeserializationSchema(AvroDeserializationSchema):
    """Rows from messages that hold one Avro record each.

    >>> schema = '{"type": "record", "name": "A", "fields": [{"name": "id", "type": "long"}]}'
    >>> AvroRowDeserializationSchema(avro_schema_string=schema).deserialize(bytes([14]))
    Row(id=7)
    """

    def __init__(self, record_class: Any = None, avro_schema_string: str | None = None) -> None:
        schema = _schema("avro row deserialization", record_class, avro_schema_string)
        super().__init__(schema, as_rows=True)


class AvroRowSerializationSchema(AvroSerializationSchema):
    """Messages that hold one Avro record each, from rows."""

    def __init__(self, record_class: Any = None, avro_schema_string: str | None = None) -> None:
        super().__init__(_schema("avro row serialization", record_class, avro_schema_string))


def reader_for(writer: AvroSchema, reader: AvroSchema | None) -> Callable[[bytes], Any]:
    """What reads a message written with ``writer`` as ``reader`` says; FormatError if it is none."""
    read = require("fastavro", extra="avro", user="Avro").schemaless_reader
    written, wanted = writer.parsed, None if reader is None else reader.parsed

    def record(message: bytes) -> Any:
        stream = BytesIO(message)
        try:
            found = read(stream, written, wanted)
        except Exception as error:
            # fastavro lets any kind of error out for bytes that are no record.
            raise FormatError(
                f"avro: the message is no record of {writer.full_name!r}: {error!r}; found "
                f"{shown(message)}"
            ) from error
        if stream.tell() != len(message):
            raise FormatError(
                f"avro: a record of {writer.full_name!r} ends after {stream.tell()} of {len(message)} "
                f"bytes; was it written with another schema?"
            )
        return found

    return record


def writer_for(schema: AvroSchema, prefix: bytes = b"") -> Callable[[Any], bytes]:
    """What writes a record, after ``prefix``; FormatError if it is none of the schema."""
    write = require("fastavro", extra="avro", user="Avro").schemaless_writer
    parsed = schema.parsed
    record_of = _record_maker(schema)

    def message(value: Any) -> bytes:
        stream = BytesIO()
        stream.write(prefix)
        try:
            write(stream, parsed, record_of(value))
        except Exception as error:
            # fastavro lets any kind of error out for values that do not fit.
            raise FormatError(
                f"avro: cannot write {shown(value)} as {schema.full_name!r}: {error!r}"
            ) from error
        return stream.getvalue()

    return message


def _record_maker(schema: AvroSchema) -> Callable[[Any], Any]:
    try:
        return records_from(row_type_of_avro(schema))
    except ProgramError:
        return lambda value: value  # no rows can be of this schema, so these are dicts


def _schema(who: str, record_class: Any, text: str | None) -> AvroSchema:
    if text is not None:
        return AvroSchema.parse_string(text)
    declared = getattr(record_class, "avro_schema", None)
    if declared is None:
        raise TypeError(
            f"{who}: the record class is {record_class!r}; expected a class with an attribute "
            f"avro_schema, or avro_schema_string"
        )
    return declared if isinstance(declared, AvroSchema) else AvroSchema.parse_string(declared)


def _input(
    cls: type[AvroDeserializationSchema],
    schema: AvroSchema,
    writer: AvroSchema | None,
    as_rows: bool,  # noqa: FBT001  (called by pickle only)
) -> AvroDeserializationSchema:
    made = cls.__new__(cls)
    AvroDeserializationSchema.__init__(made, schema, writer_schema=writer, as_rows=as_rows)
    return made


def _output(cls: type[AvroSerializationSchema], schema: AvroSchema) -> AvroSerializationSchema:
    made = cls.__new__(cls)
    AvroSerializationSchema.__init__(made, schema)
    return made
