"""Lines of CSV as rows of a declared type, by PyFlink's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.connectors.formats.csv_dialect import CsvDialect, together
from riverrun.connectors.formats.csv_input import CsvRows
from riverrun.connectors.formats.csv_output import CsvLines
from riverrun.connectors.formats.declared_type import declared_row_type
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]


class CsvRowDeserializationSchema(DeserializationSchema):
    """Rows from lines of CSV, one line a message; made with ``CsvRowDeserializationSchema.Builder``.

    >>> from riverrun.serde.types import Types
    >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b'7,"Ann, B."')
    Row(id=7, name='Ann, B.')
    """

    def __init__(
        self, type_info: RowTypeInfo, dialect: CsvDialect, *, ignore_parse_errors: bool = False
    ) -> None:
        self._type = type_info
        self._dialect = dialect
        self._ignore = ignore_parse_errors
        self._rows = CsvRows(type_info, dialect, ignore=ignore_parse_errors)

    def deserialize(self, message: bytes) -> Any:
        if message is None:
            return None
        try:
            line = _text(message)
            if not line or self._dialect.is_comment(line):
                return None
            return self._rows.row(self._dialect.fields(line))
        except FormatError:
            if self._ignore:
                return None
            raise

    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        try:
            lines = [message.decode() for message in messages]
        except (UnicodeDecodeError, AttributeError):
            lines = []
        # An empty line is no record, which only the slow way knows.
        if lines and all(lines):
            fields = together(self._dialect, lines)
            rows = None if fields is None else self._rows.rows(fields)
            if rows is not None:
                return list(rows)
        return [self.deserialize(message) for message in messages]

    def get_produced_type(self) -> TypeInformation:
        return self._type

    def __reduce__(self) -> tuple[Any, ...]:
        return _row_input, (self._type, self._dialect, self._ignore)

    class Builder:
        """What PyFlink's builder takes."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = declared_row_type("csv row deserialization", type_info)
            self._dialect = CsvDialect()
            self._ignore = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """The character between fields; a comma unless set."""
            return _with(self, delimiter=delimiter)

        def set_allow_comments(
            self,
            allow_comments: bool,  # noqa: FBT001
        ) -> CsvRowDeserializationSchema.Builder:
            """Whether lines that begin with # are no records."""
            return _with(self, comments=allow_comments)

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """What stands between the elements of an array; a semicolon unless set."""
            return _with(self, array_delimiter=_given("array element delimiter", delimiter))

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """The character around fields; double quotes unless set."""
            return _with(self, quote=c)

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """The character before one that is meant as it stands; none unless set."""
            return _with(self, escape=c)

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """The text that means None; none unless set."""
            return _with(self, null=_given("null literal", null_literal))

        def set_ignore_parse_errors(
            self,
            ignore_parse_errors: bool,  # noqa: FBT001
        ) -> CsvRowDeserializationSchema.Builder:
            """Whether a field that cannot be read is None, instead of an error."""
            self._ignore = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(
                self._type, self._dialect, ignore_parse_errors=self._ignore
            )


class CsvRowSerializationSchema(SerializationSchema):
    r"""Lines of CSV from rows; made with ``CsvRowSerializationSchema.Builder``.

    >>> from riverrun.serde.row import Row
    >>> from riverrun.serde.types import Types
    >>> row_type = Types.ROW([Types.LONG(), Types.STRING()])
    >>> CsvRowSerializationSchema.Builder(row_type).build().serialize(Row(7, "Ann, B."))
    b'7,"Ann, B."\n'
    """

    def __init__(self, type_info: RowTypeInfo, dialect: CsvDialect) -> None:
        self._type = type_info
        self._dialect = dialect
        self._line = CsvLines(type_info, dialect).line
        self._end = dialect.line_end

    def serialize(self, element: Any) -> bytes:
        return f"{self._line(element)}{self._end}".encode()

    def serialize_run(self, elements: Sequence[Any]) -> list[bytes]:
        line, end = self._line, self._end
        return [f"{line(element)}{end}".encode() for element in elements]

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowSerializationSchema, (self._type, self._dialect)

    class Builder:
        """What PyFlink's builder takes."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = declared_row_type("csv row serialization", type_info)
            self._dialect = CsvDialect()

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The character between fields; a comma unless set."""
            return _with(self, delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            r"""What ends a line: ``\n`` unless set, ``\r``, ``\r\n`` or nothing."""
            return _with(self, line_end=_given("line delimiter", delimiter))

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """What stands between the elements of an array; a semicolon unless set."""
            return _with(self, array_delimiter=_given("array element delimiter", delimiter))

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Write fields as they are, whatever is in them."""
            return _with(self, quote=None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The character around fields; double quotes unless set."""
            return _with(self, quote=c)

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The character before a quote inside of a field; the quote itself unless set."""
            return _with(self, escape=c)

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """What None is written as; the empty text unless set."""
            return _with(self, null=s)

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._type, self._dialect)


B = TypeVar("B", CsvRowDeserializationSchema.Builder, CsvRowSerializationSchema.Builder)


def _with(builder: B, **changes: Any) -> B:
    builder._dialect = replace(builder._dialect, **changes)  # noqa: SLF001  (of this module)
    return builder


def _given(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"csv: the {what} is {value!r}; expected a str")
    return value


def _text(message: bytes) -> str:
    try:
        return message.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"csv: the line is not UTF-8: {error}; found {shown(message)}") from error


def _row_input(
    type_info: RowTypeInfo,
    dialect: CsvDialect,
    ignore: bool,  # noqa: FBT001  (called by pickle only)
) -> CsvRowDeserializationSchema:
    return CsvRowDeserializationSchema(type_info, dialect, ignore_parse_errors=ignore)
