"""Values of declared types as Flink prints them, whose values are Java objects when they are printed."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeAlias

from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from riverrun.serde.composite_types import OptionalTypeInfo, RowTypeInfo, TupleTypeInfo
from riverrun.serde.time_types import TimestampTypeInfo
from riverrun.serde.type_info import TypeInformation

Text: TypeAlias = Callable[[Any], str]

_PLAIN_FROM: Final = 1e-3
_PLAIN_BELOW: Final = 1e7
_FLOAT_DIGITS: Final = 9
"""So many digits tell any two 32-bit floats apart."""


def text_of(type_info: TypeInformation | None) -> Text:
    """What turns a value of the type into text; without a type Python's own ``str``.

    >>> from riverrun.serde.types import Types
    >>> text_of(Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]))(("a", 1e10, True))
    '(a,1.0E10,true)'
    """
    if type_info is None:
        return str
    text = _text_of(type_info)
    return lambda value: "null" if value is None else text(value)


def _text_of(type_info: TypeInformation) -> Text:  # noqa: PLR0911  (one for each kind of type)
    match type_info:
        case TupleTypeInfo():
            return _sequence([text_of(each) for each in type_info.get_field_types()], "(", ",", ")")
        case RowTypeInfo():
            return _row([text_of(each) for each in type_info.get_field_types()])
        case (
            ListTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo() | PrimitiveArrayTypeInfo()
        ):
            element = text_of(type_info.element_type)
            return lambda value: "[" + ", ".join(map(element, value)) + "]"
        case MapTypeInfo(key_type, value_type):
            key, item = text_of(key_type), text_of(value_type)
            return lambda value: (
                "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in value.items()) + "}"
            )
        case OptionalTypeInfo():
            return text_of(type_info.type_info)
        case BasicTypeInfo():
            return _BASIC.get(type_info.basic_type, str)
        case TimestampTypeInfo():
            return _timestamp
    return str


def _sequence(parts: list[Text], start: str, between: str, end: str) -> Text:
    return lambda value: (
        start + between.join(text(item) for text, item in zip(parts, value, strict=True)) + end
    )


def _row(parts: list[Text]) -> Text:
    inside = _sequence(parts, "[", ", ", "]")
    return lambda row: f"{row.get_row_kind()}{inside(list(row))}"


def _boolean(value: bool) -> str:  # noqa: FBT001  (a value to print)
    return "true" if value else "false"


def _double(value: float) -> str:
    return _java_float(value, repr(value))


def _float(value: float) -> str:
    if not math.isfinite(value):
        return _java_float(value, "")
    (exact,) = struct.unpack("f", struct.pack("f", value))
    for digits in range(1, _FLOAT_DIGITS + 1):
        shortest = f"{exact:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(shortest)))[0] == exact:
            return _java_float(exact, repr(float(shortest)))
    return _java_float(exact, repr(exact))


def _java_float(value: float, text: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return text if "e" not in text else f"{value:f}".rstrip("0")
    digits, exponent = _scientific(text)
    return f"{digits}E{exponent}"


def _scientific(text: str) -> tuple[str, int]:
    sign = "-" if text.startswith("-") else ""
    mantissa, _, power = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) + len(whole) - 1
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    exponent -= leading
    digits = digits.lstrip("0").rstrip("0") or "0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}", exponent


def _timestamp(value: datetime) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


_BASIC: Final = {
    BasicType.BOOLEAN: _boolean,
    BasicType.DOUBLE: _double,
    BasicType.FLOAT: _float,
}
