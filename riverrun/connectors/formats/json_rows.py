"""JSON objects as rows of a declared type, by PyFlink's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.connectors.formats.declared_type import declared_row_type
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.connectors.formats.json_input import assembler, object_shape, shape_of
from riverrun.connectors.formats.json_leniently import LenientReader
from riverrun.connectors.formats.json_output import output_of
from riverrun.connectors.formats.json_schema import row_type_of_json_schema
from riverrun.connectors.formats.times import TimestampFormat
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

_REFUSED = (msgspec.DecodeError, ValueError, OverflowError, TypeError)


class JsonRowDeserializationSchema(DeserializationSchema):
    """Rows from JSON objects; made with ``builder``.

    A field that is not there is None unless ``fail_on_missing_field`` was called; members that are no
    fields are passed over. With ``ignore_parse_errors`` a field that cannot be read is None, and a
    message that is no JSON object gives no record.

    >>> from riverrun.serde.types import Types
    >>> schema = JsonRowDeserializationSchema.builder().type_info(
    ...     Types.ROW_NAMED(["id", "price"], [Types.LONG(), Types.BIG_DEC()])
    ... ).build()
    >>> schema.deserialize(b'{"id": 7, "price": 1.10, "more": true}')
    Row(id=7, price=Decimal('1.10'))
    """

    def __init__(
        self,
        type_info: RowTypeInfo,
        *,
        fail_on_missing_field: bool = False,
        ignore_parse_errors: bool = False,
    ) -> None:
        self._type = type_info
        self._all_fields = fail_on_missing_field
        self._ignore = ignore_parse_errors
        self._compile()

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """A builder that knows nothing yet."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Any:
        if message is None:
            return None
        if self._decode is not None:
            try:
                return self._assemble([self._decode(message)])[0]
            except _REFUSED:
                return self._leniently(message)
        return self._leniently(message)

    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        if self._decode is not None:
            try:
                return self._assemble(list(map(self._decode, messages)))
            except _REFUSED:
                pass  # one of them is not as it should be: each by itself
        return [self.deserialize(message) for message in messages]

    def get_produced_type(self) -> TypeInformation:
        return self._type

    def _leniently(self, message: bytes) -> Any:
        try:
            return self._reader.read(message)
        except FormatError:
            if self._ignore:
                return None
            raise

    def _compile(self) -> None:
        self._reader = LenientReader(self._type, all_fields=self._all_fields, ignore=self._ignore)
        shape = object_shape(self._type, self._all_fields)
        self._decode = None if shape is None else msgspec.json.Decoder(shape.annotation).decode
        inner = [shape_of(each, all_fields=self._all_fields) for each in self._type.field_types]
        self._assemble = assembler(
            self._type, [None if each is None else each.finish for each in inner]
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _row_input, (self._type, self._all_fields, self._ignore)

    class Builder:
        """What PyFlink's builder takes."""

        def __init__(self) -> None:
            self._type: RowTypeInfo | None = None
            self._all_fields = False
            self._ignore = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """The type of the rows; their field names are the names of the members."""
            self._type = declared_row_type("json row deserialization", type_info)
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """The type of the rows, as a JSON schema describes the objects."""
            if json_schema is None:
                raise TypeError("json row deserialization: the JSON schema is None; expected a str")
            self._type = row_type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """A field that is not there is an error, instead of None."""
            self._all_fields = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """What cannot be read is None, instead of an error."""
            self._ignore = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema.

            Raises:
                ValueError: there is no type, or the two ways to treat what is missing contradict.
            """
            if self._type is None:
                raise ValueError(
                    "json row deserialization: there is no type; call type_info or json_schema before"
                )
            if self._all_fields and self._ignore:
                raise ValueError(
                    "json row deserialization: fail_on_missing_field and ignore_parse_errors were both "
                    "called; expected one of them"
                )
            return JsonRowDeserializationSchema(
                self._type, fail_on_missing_field=self._all_fields, ignore_parse_errors=self._ignore
            )


class JsonRowSerializationSchema(SerializationSchema):
    """JSON objects from rows; made with ``builder``.

    >>> from datetime import datetime
    >>> from riverrun.serde.row import Row
    >>> from riverrun.serde.types import Types
    >>> schema = JsonRowSerializationSchema.builder().with_type_info(
    ...     Types.ROW_NAMED(["id", "at"], [Types.LONG(), Types.SQL_TIMESTAMP()])
    ... ).build()
    >>> schema.serialize(Row(7, datetime(2024, 2, 29)))
    b'{"id":7,"at":"2024-02-29T00:00:00"}'
    """

    def __init__(
        self,
        type_info: RowTypeInfo,
        *,
        timestamp_format: TimestampFormat = TimestampFormat.ISO_8601,
    ) -> None:
        self._type = type_info
        self._style = timestamp_format
        convert = output_of(type_info, timestamp_format)
        assert convert is not None  # noqa: S101  (rows are always converted)
        self._convert = convert
        self._encode = msgspec.json.Encoder(decimal_format="number").encode

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder that knows nothing yet."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: Any) -> bytes:
        try:
            return self._encode(self._convert(element))
        except FormatError:
            raise
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FormatError(
                f"json: cannot write {shown(element)} as {self._type!r}: {error}"
            ) from error

    def serialize_run(self, elements: Sequence[Any]) -> list[bytes]:
        try:
            return list(map(self._encode, map(self._convert, elements)))
        except (TypeError, ValueError, AttributeError, OverflowError):
            return [self.serialize(element) for element in elements]

    def __reduce__(self) -> tuple[Any, ...]:
        return _row_output, (self._type, self._style)

    class Builder:
        """What PyFlink's builder takes, and how timestamps are written."""

        def __init__(self) -> None:
            self._type: RowTypeInfo | None = None
            self._style = TimestampFormat.ISO_8601

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """The type of the rows; their field names become the names of the members."""
            self._type = declared_row_type("json row serialization", type_info)
            return self

        def with_timestamp_format(
            self, timestamp_format: TimestampFormat
        ) -> JsonRowSerializationSchema.Builder:
            """How timestamps are written; ISO 8601 unless said otherwise."""
            self._style = TimestampFormat(timestamp_format)
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema; ValueError if there is no type."""
            if self._type is None:
                raise ValueError(
                    "json row serialization: there is no type; call with_type_info before"
                )
            return JsonRowSerializationSchema(self._type, timestamp_format=self._style)


def _row_input(
    type_info: RowTypeInfo,
    all_fields: bool,  # noqa: FBT001  (called by pickle only)
    ignore: bool,  # noqa: FBT001
) -> JsonRowDeserializationSchema:
    return JsonRowDeserializationSchema(
        type_info, fail_on_missing_field=all_fields, ignore_parse_errors=ignore
    )


def _row_output(type_info: RowTypeInfo, style: TimestampFormat) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema(type_info, timestamp_format=style)
