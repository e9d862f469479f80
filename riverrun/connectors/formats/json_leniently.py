"""From JSON to values field by field: what Flink's format takes beside the proper form, and what is wrong.

A number may be written as text and text as a number; with ``ignore`` a field that cannot be read is None.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.connectors.formats.json_input import (
    INTEGERS,
    LISTS,
    LOCAL_TIMES,
    OBJECTS,
    TEXT_TIMES,
    ObjectType,
    single,
)
from riverrun.connectors.formats.times import instant_of
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import MapTypeInfo, PrimitiveArrayTypeInfo
from riverrun.serde.columns import plain_type
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.row import Row
from riverrun.serde.time_types import LocalTimeTypeInfo
from riverrun.serde.type_info import TypeInformation

_parse: Final = msgspec.json.Decoder(float_hook=Decimal).decode


class LenientReader:
    """Reads JSON as values of a type, one field after the other.

    Args:
        type_info: the declared type.
        all_fields: whether a field that is not there is an error; otherwise it is None.
        ignore: whether a field that cannot be read is None, and not an error.
    """

    def __init__(self, type_info: TypeInformation, *, all_fields: bool, ignore: bool) -> None:
        self._type = type_info
        self._all_fields = all_fields
        self._ignore = ignore
        self._containers: tuple[tuple[Any, Callable[[Any, Any, str], Any]], ...] = (
            (OBJECTS, self._object),
            (LISTS, self._list),
            (MapTypeInfo, self._map),
            (TupleTypeInfo, self._tuple),
        )

    def read(self, message: bytes) -> Any:
        """The value; FormatError says which field is not what it should be."""
        try:
            parsed = _parse(message)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise FormatError(
                f"json: the message is not JSON: {error}; found {shown(message)}"
            ) from error
        return self._value(self._type, parsed, "")

    def _value(self, type_info: TypeInformation, found: Any, path: str) -> Any:
        if found is None:
            return None
        kind = plain_type(type_info)
        try:
            return self._convert(kind, found, path)
        except FormatError:
            if self._ignore and path:
                return None
            raise
        except (ValueError, TypeError, InvalidOperation, OverflowError) as error:
            if self._ignore and path:
                return None
            raise FormatError(
                f"json: {_where(path)} is {shown(_plain(found))}; expected {_EXPECTED.get(type(kind), '')}"
                f"{kind!r}"
            ) from error

    def _convert(self, kind: TypeInformation, found: Any, path: str) -> Any:
        if isinstance(kind, BasicTypeInfo):
            return basic_value(kind.basic_type, found)
        for classes, convert in self._containers:
            if isinstance(kind, classes):
                return convert(kind, found, path)
        parse = (
            LOCAL_TIMES[kind.time_type]
            if isinstance(kind, LocalTimeTypeInfo)
            else TEXT_TIMES.get(type(kind))
        )
        return _plain(found) if parse is None else parse(_expect(str, found))

    def _list(self, kind: Any, found: Any, path: str) -> Any:
        if isinstance(kind, PrimitiveArrayTypeInfo) and kind.is_bytes:
            return _base64(found)
        return [
            self._value(kind.element_type, each, f"{path}[{place}]")
            for place, each in enumerate(_expect(list, found))
        ]

    def _map(self, kind: MapTypeInfo, found: Any, path: str) -> Any:
        return {
            self._value(kind.key_type_info, key, f"{path}.{key}"): self._value(
                kind.value_type_info, each, f"{path}.{key}"
            )
            for key, each in _expect(dict, found).items()
        }

    def _tuple(self, kind: TupleTypeInfo, found: Any, path: str) -> Any:
        parts = zip(kind.field_types, _expect(list, found), strict=True)
        return tuple(
            self._value(part, each, f"{path}[{place}]") for place, (part, each) in enumerate(parts)
        )

    def _object(self, kind: ObjectType, found: Any, path: str) -> Any:
        members: Mapping[str, Any] = _expect(dict, found)
        values = []
        for name, type_info in zip(kind.get_field_names(), kind.get_field_types(), strict=True):
            inner = f"{path}.{name}" if path else name
            if name not in members and self._all_fields:
                raise FormatError(
                    f"json: there is no {_where(inner)}; expected {plain_type(type_info)!r}, found the "
                    f"fields {sorted(members)}"
                )
            values.append(self._value(type_info, members.get(name), inner))
        if not isinstance(kind, RowTypeInfo):
            return kind.cls(*values)
        row = Row(*values)
        row.set_field_names(tuple(kind.get_field_names()))
        return row


def basic_value(basic: BasicType, found: Any) -> Any:
    """The value of a basic type from text, a number or a truth value.

    >>> basic_value(BasicType.INT, " 12 "), basic_value(BasicType.STRING, 3)
    (12, '3')
    """
    return _BASIC[basic](found)


def text_of(found: Any) -> str:
    """What was found as text; containers as JSON."""
    if isinstance(found, str):
        return found
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, list | dict):
        return msgspec.json.encode(_plain(found)).decode()
    return str(found)


def _whole(bits: int | None) -> Callable[[Any], int]:
    def convert(found: Any) -> int:
        # Python reads 1_000 as a number, nobody else does.
        if isinstance(found, bool | float | Decimal | list | dict) or "_" in str(found):
            raise TypeError(found)
        number = int(found)
        if bits is not None and not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            raise OverflowError(number)
        return number

    return convert


def _float(found: Any) -> float:
    if isinstance(found, bool | list | dict) or "_" in str(found):
        raise TypeError(found)
    return float(found)


def _char(found: Any) -> str:
    text = text_of(found)
    if len(text) != 1:
        raise ValueError(text)
    return text


def _boolean(found: Any) -> bool:
    if isinstance(found, bool):
        return found
    if isinstance(found, list | dict):
        raise TypeError(found)
    return text_of(found).strip().lower() == "true"


def _decimal(found: Any) -> Decimal:
    if isinstance(found, bool | list | dict) or "_" in str(found):
        raise TypeError(found)
    return Decimal(found.strip() if isinstance(found, str) else found)


def _base64(found: Any) -> bytes:
    try:
        return b64decode(_expect(str, found), validate=True)
    except binascii.Error as error:
        raise ValueError(found) from error


def _expect(kind: type, found: Any) -> Any:
    if not isinstance(found, kind):
        raise TypeError(found)
    return found


def _plain(found: Any) -> Any:
    """As if numbers had been read as floats from the start."""
    if isinstance(found, Decimal):
        return float(found)
    if isinstance(found, list):
        return [_plain(each) for each in found]
    if isinstance(found, dict):
        return {key: _plain(each) for key, each in found.items()}
    return found


def _where(path: str) -> str:
    return f"field {path!r}" if path else "the message"


_EXPECTED: Final[Mapping[type, str]] = {
    RowTypeInfo: "an object for ",
    DataclassTypeInfo: "an object for ",
    NamedTupleTypeInfo: "an object for ",
    MapTypeInfo: "an object for ",
    TupleTypeInfo: "an array for ",
    **dict.fromkeys(LISTS, "an array for "),
}
_BASIC: Final[Mapping[BasicType, Callable[[Any], Any]]] = {
    BasicType.STRING: text_of,
    BasicType.CHAR: _char,
    BasicType.BOOLEAN: _boolean,
    BasicType.FLOAT: lambda found: single(_float(found)),
    BasicType.DOUBLE: _float,
    BasicType.BIG_INT: _whole(None),
    BasicType.BIG_DEC: _decimal,
    BasicType.INSTANT: lambda found: instant_of(_expect(str, found)),
    **{basic: _whole(bits) for basic, bits in INTEGERS.items()},
}
