"""From rows to lines of CSV, quoted where Flink's writer quotes."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from riverrun.connectors.formats.csv_dialect import CsvDialect
from riverrun.connectors.formats.csv_input import parser_of
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.connectors.formats.json_input import LISTS
from riverrun.connectors.formats.json_output import time_output
from riverrun.connectors.formats.times import TimestampFormat, instant_text, timestamp_text
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import PrimitiveArrayTypeInfo
from riverrun.serde.columns import plain_type
from riverrun.serde.composite_types import RowTypeInfo, TupleTypeInfo
from riverrun.serde.row import Row
from riverrun.serde.time_types import TimestampTypeInfo
from riverrun.serde.type_info import TypeInformation

Text = Callable[[Any], str]
_QUOTED_FROM: Final = 25
"""Longer texts are quoted unseen, as Flink's writer does."""


class CsvLines:
    """Makes lines of rows of a type, without the end of the line."""

    def __init__(self, type_info: RowTypeInfo, dialect: CsvDialect) -> None:
        self._names = type_info.get_field_names()
        self._type = type_info
        self._delimiter = dialect.delimiter
        null = dialect.null or ""
        quote = _quoter(dialect)
        self._texts = [
            _or_null(_field_text(plain_type(each), dialect, name, quote), null)
            for name, each in zip(self._names, type_info.field_types, strict=True)
        ]

    def line(self, value: Any) -> str:
        """The line of one row, tuple, list or dict; FormatError if it has other fields."""
        try:
            found = self._values(value)
            return self._delimiter.join(
                [text(each) for text, each in zip(self._texts, found, strict=True)]
            )
        except FormatError:
            raise
        except (ValueError, TypeError, AttributeError) as error:
            raise FormatError(
                f"csv: cannot write {shown(value)} as {self._type!r}: {error}"
            ) from error

    def _values(self, value: Any) -> Sequence[Any]:
        if isinstance(value, Row):
            return value.get_fields_by_names(self._names)
        if isinstance(value, dict):
            return [value[name] for name in self._names]
        if isinstance(value, tuple | list):
            return value
        return [getattr(value, name) for name in self._names]


def text_of(kind: TypeInformation, dialect: CsvDialect, name: str) -> Text:
    """What makes text of a value of the type, unquoted; ProgramError if there is no such form."""
    kind = plain_type(kind)
    parser_of(kind, dialect, name)  # what cannot be read is not written
    if isinstance(kind, BasicTypeInfo):
        return _BASIC.get(kind.basic_type, str)
    if isinstance(kind, TimestampTypeInfo):
        return _sql_timestamp
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.is_bytes:
        return lambda value: b64encode(value).decode()
    null, between = dialect.null or "", dialect.array_delimiter
    if isinstance(kind, LISTS):
        element = _or_null(text_of(kind.element_type, dialect, name), null)
        return lambda values: between.join(map(element, values))
    if isinstance(kind, RowTypeInfo | TupleTypeInfo):
        parts = [_or_null(text_of(each, dialect, name), null) for each in kind.field_types]
        return lambda values: between.join(
            [part(value) for part, value in zip(parts, values, strict=True)]
        )
    times = time_output(kind, TimestampFormat.SQL)
    assert times is not None  # noqa: S101  (the parser knows no other types)
    return times


def _field_text(kind: TypeInformation, dialect: CsvDialect, name: str, quote: Text) -> Text:
    text = text_of(kind, dialect, name)
    if isinstance(kind, BasicTypeInfo) and kind.basic_type in _NUMBERS:
        return text
    return lambda value: quote(text(value))


def _quoter(dialect: CsvDialect) -> Text:
    """What quotes a text that would be read as something else, or might be."""
    quote, escape = dialect.quote, dialect.escape
    if quote is None:
        return lambda text: text
    highest = max(dialect.delimiter, quote, escape or "", *dialect.line_end, "\r", "\n")
    unsafe = re.compile(f"[\\x00-{re.escape(highest)}]").search
    stand_in = quote * 2 if escape is None else escape + quote

    def quoted(text: str) -> str:
        if len(text) < _QUOTED_FROM and unsafe(text) is None:
            return text
        if escape is not None:
            text = text.replace(escape, escape * 2)
        return f"{quote}{text.replace(quote, stand_in)}{quote}"

    return quoted


def _or_null(text: Text, null: str) -> Text:
    return lambda value: null if value is None else text(value)


def _sql_timestamp(value: datetime) -> str:
    found = timestamp_text(value, TimestampFormat.SQL)
    return found if "." in found or found.endswith("Z") else f"{found}.0"


def _boolean(value: Any) -> str:
    return "true" if value else "false"


_BASIC: Final[dict[BasicType, Text]] = {
    BasicType.BOOLEAN: _boolean,
    BasicType.INSTANT: lambda value: instant_text(value, TimestampFormat.SQL),
}
_NUMBERS: Final = frozenset(BasicType) - {BasicType.STRING, BasicType.CHAR, BasicType.INSTANT}
