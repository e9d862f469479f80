"""Keys as bytes: equal keys give equal bytes, other keys other bytes, and the bytes give the key back.

What comes back equals the key but may be of another class that is equal to it: 1 for True, a tuple for
a named tuple, a Fraction for a Decimal that is no float. Version 1, all numbers big-endian, ``n`` is
an unsigned 32-bit length or count:

=====  ================================================  =============================================
byte   key                                               followed by
=====  ================================================  =============================================
``N``  None
``i``  a number that is a whole number of 64 bits        8 bytes, signed
``I``  a number that is any other whole number           n, two's complement in n bytes
``f``  any other number that a double holds, infinities  8 bytes
``F``  nan
``q``  any other number                                  numerator and denominator, each a whole number
``s``  str                                               n, utf-8 in n bytes (lone surrogates too)
``b``  bytes                                             n, n bytes
``t``  tuple                                             n, n keys
``d``  date                                              4 bytes: days, 0001-01-01 being 1
``T``  datetime without zone                             8 bytes: microseconds since 0001-01-01
``Z``  datetime with zone                                8 bytes: the same in UTC
``m``  timedelta                                         a whole number: microseconds
``u``  UUID                                              16 bytes
``S``  frozenset                                         n, n keys in the order of their bytes
``e``  Enum member                                       class and name, each a str
``c``  dataclass                                         class (a str), n, n keys: the fields compared
``r``  Row                                               kind, names (None or a tuple), values (a tuple)
``p``  anything else                                     n, a pickle in n bytes
=====  ================================================  =============================================
"""

from __future__ import annotations

import dataclasses
import pickle
import struct
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from importlib import import_module
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, Final, TypeAlias
from uuid import UUID

from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row, RowKind, sorted_by_name

_Decoder: TypeAlias = Callable[[bytes, int], tuple[Any, int]]

_INT: Final = struct.Struct(">cq")
_LENGTH: Final = struct.Struct(">cI")
_DOUBLE: Final = struct.Struct(">cd")
_DAYS: Final = struct.Struct(">ci")
_pack_int: Final = _INT.pack
_pack_length: Final = _LENGTH.pack
_LOW: Final = -(1 << 63)
_HIGH: Final = (1 << 63) - 1
_EPOCH: Final = datetime(1, 1, 1)  # noqa: DTZ001 - wall time without a zone is what is meant
_ZONED_EPOCH: Final = datetime(1, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class KeyClassMissing(ProgramError):  # noqa: N818
    """A key was kept by the name of its class, and there is no such class here."""

    def __init__(self, class_name: str) -> None:
        super().__init__(class_name)
        self.class_name = class_name

    def __str__(self) -> str:
        return (
            f"a key of class {self.class_name!r} was kept in state, but the class is not found in this "
            f"process; define classes of keys in a module that the workers can import"
        )


def encode_key(key: Any) -> bytes:
    """The bytes of a key.

    >>> encode_key(1) == encode_key(True) == encode_key(1.0) != encode_key("1")
    True
    """
    encoder = _ENCODERS.get(type(key))
    return _encode_other(key) if encoder is None else encoder(key)


def decode_key(data: bytes, start: int = 0) -> Any:
    """The key whose bytes begin at ``start``.

    >>> decode_key(encode_key((None, "a", 2.5)))
    (None, 'a', 2.5)
    """
    return _decode(data, start)[0]


def key_end(data: bytes, start: int = 0) -> int:
    """Where the bytes of the key that begins at ``start`` end."""
    return _decode(data, start)[1]


def _decode(data: bytes, start: int) -> tuple[Any, int]:
    decoder = _DECODERS.get(data[start : start + 1])
    if decoder is None:
        raise ValueError(f"bytes of a key begin with {data[start : start + 1]!r}, an unknown mark")
    return decoder(data, start + 1)


def _encode_none(_key: None) -> bytes:
    return b"N"


def _encode_int(key: int) -> bytes:
    if _LOW <= key <= _HIGH:
        return _pack_int(b"i", key)
    size = key.bit_length() // 8 + 1
    return _pack_length(b"I", size) + key.to_bytes(size, "big", signed=True)


def _encode_float(key: float) -> bytes:
    if key.is_integer():
        return _encode_int(int(key))
    return b"F" if key != key else _DOUBLE.pack(b"f", key)  # noqa: PLR0124 - nan


def _encode_decimal(key: Decimal) -> bytes:
    if key.is_finite():
        return _encode_fraction(Fraction(key))
    return b"F" if key.is_nan() else _encode_float(float(key))


def _encode_fraction(key: Fraction) -> bytes:
    if key.denominator == 1:
        return _encode_int(key.numerator)
    try:
        near = float(key)
    except OverflowError:
        near = 0.0
    if near == key:
        return _DOUBLE.pack(b"f", near)
    return b"q" + _encode_int(key.numerator) + _encode_int(key.denominator)


def _encode_str(key: str) -> bytes:
    data = key.encode("utf-8", "surrogatepass")
    return _pack_length(b"s", len(data)) + data


def _encode_bytes(key: bytes) -> bytes:
    return _pack_length(b"b", len(key)) + key


def _encode_tuple(key: tuple[Any, ...]) -> bytes:
    return b"".join([_pack_length(b"t", len(key)), *map(encode_key, key)])


def _encode_date(key: date) -> bytes:
    return _DAYS.pack(b"d", key.toordinal())


def _encode_datetime(key: datetime) -> bytes:
    if key.utcoffset() is None:
        return _pack_int(b"T", (key.replace(tzinfo=None) - _EPOCH) // _MICROSECOND)
    return _pack_int(b"Z", (key.replace(fold=0) - _ZONED_EPOCH) // _MICROSECOND)


def _encode_timedelta(key: timedelta) -> bytes:
    return b"m" + _encode_int(key // _MICROSECOND)


def _encode_uuid(key: UUID) -> bytes:
    return b"u" + key.bytes


def _encode_frozenset(key: frozenset[Any]) -> bytes:
    return b"".join([_pack_length(b"S", len(key)), *sorted(map(encode_key, key))])


def _encode_enum(key: Enum) -> bytes:
    return b"e" + _encode_str(_remember(type(key))) + _encode_str(str(key.name))


def _encode_row(key: Row) -> bytes:
    names, values = sorted_by_name(key)
    parts = [key.get_row_kind().value, None if names is None else tuple(names), tuple(values)]
    return b"r" + b"".join(map(encode_key, parts))


def _encode_dataclass(key: Any) -> bytes:
    fields = [field.name for field in dataclasses.fields(key) if field.compare]
    parts = [encode_key(attrgetter(name)(key)) for name in fields]
    name = _encode_str(_remember(type(key)))
    return b"".join([b"c", name, _pack_length(b"t", len(parts)), *parts])


def _encode_other(key: Any) -> bytes:
    """The bytes of a key whose class is not in the table: a subclass, an own class."""
    for cls, encoder in _BASES:
        if isinstance(key, cls):
            return encoder(key)
    if dataclasses.is_dataclass(key):
        return _encode_dataclass(key)
    data = pickle.dumps(key, 5)
    return _pack_length(b"p", len(data)) + data


def _encode_integral(key: Any) -> bytes:
    return _encode_int(int(key))


def _encode_real(key: Any) -> bytes:
    return _encode_float(float(key))


_ENCODERS: Final[dict[type, Callable[[Any], bytes]]] = {
    type(None): _encode_none,
    str: _encode_str,
    int: _encode_int,
    bool: _encode_int,
    float: _encode_float,
    tuple: _encode_tuple,
    bytes: _encode_bytes,
    datetime: _encode_datetime,
    date: _encode_date,
    timedelta: _encode_timedelta,
    Decimal: _encode_decimal,
    UUID: _encode_uuid,
    Row: _encode_row,
    frozenset: _encode_frozenset,
    Fraction: _encode_fraction,
}
# An Enum member that is also a number or a text equals it, so those classes come first.
_BASES: Final[tuple[tuple[Any, Callable[[Any], bytes]], ...]] = (
    *_ENCODERS.items(),
    (Enum, _encode_enum),
    (Integral, _encode_integral),
    (Real, _encode_real),
)


def _decode_int(data: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(data[at : at + 8], "big", signed=True), at + 8


def _decode_sized(data: bytes, at: int) -> tuple[bytes, int]:
    begin = at + 4
    end = begin + int.from_bytes(data[at:begin], "big")
    return data[begin:end], end


def _decode_big_int(data: bytes, at: int) -> tuple[int, int]:
    found, end = _decode_sized(data, at)
    return int.from_bytes(found, "big", signed=True), end


def _decode_double(data: bytes, at: int) -> tuple[float, int]:
    return struct.unpack_from(">d", data, at)[0], at + 8


def _decode_fraction(data: bytes, at: int) -> tuple[Fraction, int]:
    numerator, at = _decode(data, at)
    denominator, at = _decode(data, at)
    return Fraction(numerator, denominator), at


def _decode_str(data: bytes, at: int) -> tuple[str, int]:
    found, end = _decode_sized(data, at)
    return found.decode("utf-8", "surrogatepass"), end


def _decode_items(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    count, at = int.from_bytes(data[at : at + 4], "big"), at + 4
    found = []
    for _ in range(count):
        item, at = _decode(data, at)
        found.append(item)
    return tuple(found), at


def _decode_frozenset(data: bytes, at: int) -> tuple[frozenset[Any], int]:
    items, at = _decode_items(data, at)
    return frozenset(items), at


def _decode_date(data: bytes, at: int) -> tuple[date, int]:
    return date.fromordinal(int.from_bytes(data[at : at + 4], "big", signed=True)), at + 4


def _decode_datetime(data: bytes, at: int) -> tuple[datetime, int]:
    passed, at = _decode_int(data, at)
    return _EPOCH + passed * _MICROSECOND, at


def _decode_zoned(data: bytes, at: int) -> tuple[datetime, int]:
    passed, at = _decode_int(data, at)
    return _ZONED_EPOCH + passed * _MICROSECOND, at


def _decode_timedelta(data: bytes, at: int) -> tuple[timedelta, int]:
    passed, at = _decode(data, at)
    return passed * _MICROSECOND, at


def _decode_enum(data: bytes, at: int) -> tuple[Enum, int]:
    class_name, at = _decode(data, at)
    name, at = _decode(data, at)
    return _class_named(class_name)[name], at


def _decode_row(data: bytes, at: int) -> tuple[Row, int]:
    kind, at = _decode(data, at)
    names, at = _decode(data, at)
    values, at = _decode(data, at)
    row = Row(*values)
    row.set_field_names(names)
    row.set_row_kind(RowKind(kind))
    return row, at


def _decode_dataclass(data: bytes, at: int) -> tuple[Any, int]:
    class_name, at = _decode(data, at)
    values, at = _decode(data, at)
    cls = _class_named(class_name)
    fields = [field for field in dataclasses.fields(cls) if field.compare]
    given = {field.name: value for field, value in zip(fields, values, strict=True) if field.init}
    return cls(**given), at


def _decode_pickle(data: bytes, at: int) -> tuple[Any, int]:
    found, end = _decode_sized(data, at)
    return pickle.loads(found), end


_DECODERS: Final[dict[bytes, _Decoder]] = {
    b"N": lambda _data, at: (None, at),
    b"i": _decode_int,
    b"I": _decode_big_int,
    b"f": _decode_double,
    b"F": lambda _data, at: (float("nan"), at),
    b"q": _decode_fraction,
    b"s": _decode_str,
    b"b": _decode_sized,
    b"t": _decode_items,
    b"d": _decode_date,
    b"T": _decode_datetime,
    b"Z": _decode_zoned,
    b"m": _decode_timedelta,
    b"u": lambda data, at: (UUID(bytes=data[at : at + 16]), at + 16),
    b"S": _decode_frozenset,
    b"e": _decode_enum,
    b"c": _decode_dataclass,
    b"r": _decode_row,
    b"p": _decode_pickle,
}

# Classes that came by value (those of the started script) cannot be imported by their name.
_SEEN: Final[dict[str, type[Any]]] = {}


def _remember(cls: type[Any]) -> str:
    name = f"{cls.__module__}:{cls.__qualname__}"
    _SEEN[name] = cls
    return name


def _class_named(name: str) -> Any:
    if name in _SEEN:
        return _SEEN[name]
    module, _, qualname = name.partition(":")
    try:
        return attrgetter(qualname)(sys.modules.get(module) or import_module(module))
    except (ImportError, AttributeError):
        raise KeyClassMissing(name) from None
