"""From the fields of CSV lines to rows of a declared type, a column at a time."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from riverrun.connectors.formats.csv_dialect import CsvDialect
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.connectors.formats.json_input import (
    INTEGERS,
    LISTS,
    LOCAL_TIMES,
    TEXT_TIMES,
    single,
)
from riverrun.connectors.formats.times import instant_of
from riverrun.core.errors import ProgramError
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import PrimitiveArrayTypeInfo
from riverrun.serde.columns import plain_type
from riverrun.serde.composite_types import RowTypeInfo, TupleTypeInfo
from riverrun.serde.row import Row, rows_of
from riverrun.serde.time_types import LocalTimeTypeInfo
from riverrun.serde.type_info import TypeInformation

Parse = Callable[[str], Any]
_REFUSED: Final = (ValueError, TypeError, InvalidOperation, OverflowError)


class CsvRows:
    """Makes rows of a type from the fields of lines.

    Args:
        type_info: the type of the rows.
        dialect: what stands for None, and between the elements of an array.
        ignore: whether a field that cannot be read is None, and not an error.
    """

    def __init__(self, type_info: RowTypeInfo, dialect: CsvDialect, *, ignore: bool) -> None:
        self.names = tuple(type_info.get_field_names())
        self._types = [plain_type(each) for each in type_info.field_types]
        self._null = dialect.null
        self._ignore = ignore
        self._columns = [
            _column_parser(kind, parser_of(kind, dialect, name))
            for name, kind in zip(self.names, self._types, strict=True)
        ]
        self._single = [
            parser_of(kind, dialect, name)
            for name, kind in zip(self.names, self._types, strict=True)
        ]

    def rows(self, lines: Sequence[Sequence[str]]) -> list[Row] | None:
        """The rows of many lines in one go; None if they have to be looked at one by one."""
        if not lines:
            return []
        if set(map(len, lines)) != {len(self.names)}:
            return None
        null, columns = self._null, []
        try:
            for texts, parse in zip(zip(*lines, strict=True), self._columns, strict=True):
                if null is not None and null in texts:
                    return None
                columns.append(parse(texts))
        except _REFUSED:
            return None
        return list(rows_of(self.names, map(list, zip(*columns, strict=True)), bytes(len(lines))))

    def row(self, fields: Sequence[str]) -> Row:
        """The row of one line; FormatError says which field is not what it should be."""
        if len(fields) != len(self.names):
            if not self._ignore:
                raise FormatError(
                    f"csv: the line has {len(fields)} fields; expected {len(self.names)}: "
                    f"{', '.join(self.names)}"
                )
            fields = [*fields, *[""] * len(self.names)][: len(self.names)]
        row = Row(*map(self._value, range(len(fields)), fields))
        row.set_field_names(self.names)
        return row

    def _value(self, place: int, text: str) -> Any:
        if text == self._null:
            return None
        try:
            return self._single[place](text)
        except _REFUSED as error:
            if self._ignore:
                return None
            advice = "" if text else "; if an empty field means None set the null literal to ''"
            raise FormatError(
                f"csv: field {self.names[place]!r} is {shown(text)}; expected {self._types[place]!r}"
                f"{advice}"
            ) from error


def parser_of(kind: TypeInformation, dialect: CsvDialect, name: str) -> Parse:
    """What reads the text of one field; ProgramError if the type has no form in CSV."""
    kind = plain_type(kind)
    if isinstance(kind, BasicTypeInfo):
        return _BASIC[kind.basic_type]
    if isinstance(kind, LocalTimeTypeInfo):
        return LOCAL_TIMES[kind.time_type]
    if type(kind) in TEXT_TIMES:
        return TEXT_TIMES[type(kind)]
    if isinstance(kind, LISTS):
        return _list_parser(kind, dialect, name)
    if isinstance(kind, RowTypeInfo | TupleTypeInfo):
        return _fields_parser(kind, dialect, name)
    raise ProgramError(
        f"csv: field {name!r} has the type {kind!r}, which has no form in CSV; expected basic types, "
        f"times, bytes, and arrays or rows of these"
    )


def _list_parser(kind: Any, dialect: CsvDialect, name: str) -> Parse:
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.is_bytes:
        return _base64
    element, between, null = (
        parser_of(kind.element_type, dialect, name),
        dialect.array_delimiter,
        dialect.null,
    )

    def parse(text: str) -> list[Any]:
        if not text:
            return []
        return [None if part == null else element(part) for part in text.split(between)]

    return parse


def _fields_parser(kind: RowTypeInfo | TupleTypeInfo, dialect: CsvDialect, name: str) -> Parse:
    parsers = [parser_of(each, dialect, name) for each in kind.field_types]
    between, null = dialect.array_delimiter, dialect.null
    names = tuple(kind.get_field_names()) if isinstance(kind, RowTypeInfo) else None

    def parse(text: str) -> Any:
        parts = zip(parsers, text.split(between), strict=True)
        values = [None if part == null else one(part) for one, part in parts]
        if names is None:
            return tuple(values)
        row = Row(*values)
        row.set_field_names(names)
        return row

    return parse


def _column_parser(kind: TypeInformation, parse: Parse) -> Callable[[Sequence[str]], Sequence[Any]]:
    """What reads a whole column; raises if one of the fields has to be looked at by itself."""
    basic = kind.basic_type if isinstance(kind, BasicTypeInfo) else None
    if basic is BasicType.STRING:
        return list
    if basic in INTEGERS:
        return _integers(INTEGERS[basic])
    if basic is BasicType.DOUBLE:
        return _floats
    return lambda texts: list(map(parse, texts))


def _integers(bits: int) -> Callable[[Sequence[str]], list[int]]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def parse(texts: Sequence[str]) -> list[int]:
        _no_underscores("".join(texts))
        found = list(map(int, texts))
        if min(found) < low or max(found) > high:
            raise OverflowError(texts)
        return found

    return parse


def _floats(texts: Sequence[str]) -> list[float]:
    _no_underscores("".join(texts))
    return list(map(float, texts))


def _no_underscores(text: str) -> str:
    """Python reads 1_000 as a number, nobody else does."""
    if "_" in text:
        raise ValueError(text)
    return text


def _whole(bits: int) -> Parse:
    column = _integers(bits)
    return lambda text: column((text,))[0]


def _char(text: str) -> str:
    if len(text) != 1:
        raise ValueError(text)
    return text


def _base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error


_BASIC: Final[dict[BasicType, Parse]] = {
    BasicType.STRING: str,
    BasicType.CHAR: _char,
    BasicType.BOOLEAN: lambda text: text.strip().lower() == "true",
    BasicType.FLOAT: lambda text: single(float(_no_underscores(text))),
    BasicType.DOUBLE: lambda text: float(_no_underscores(text)),
    BasicType.BIG_INT: lambda text: int(_no_underscores(text)),
    BasicType.BIG_DEC: lambda text: Decimal(_no_underscores(text).strip()),
    BasicType.INSTANT: instant_of,
    **{basic: _whole(bits) for basic, bits in INTEGERS.items()},
}
