"""Bytes of keys such that equal keys have equal bytes, whatever their classes.

A dict finds ``1.0``, ``True`` and ``Decimal(1)`` under the key ``1``, so rows must too; pickle would give
each of them another row. The bytes therefore say what the key equals, not always what it is: `encode`
tells whether `decode` gives the very key back, and who needs the rest keeps the key itself elsewhere.

Each item is one tag byte and its content, and shows its own end:

    N none      I integer         F float             D decimal    Q fraction   S str    B bytes
    T tuple     d date            t naive datetime    z instant    m time       M time with an offset
    e timedelta U UUID            f frozenset         R row        C dataclass  E enum member
    P pickle of anything else
"""

from __future__ import annotations

import dataclasses
import io
import pickle
import struct
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from fractions import Fraction
from numbers import Integral, Rational, Real
from operator import attrgetter
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np

from riverrun.serde.row import Row, sorted_by_name

__all__ = ["decode", "encode", "put_length", "take_length"]

Put: TypeAlias = Callable[[bytearray, Any], bool]
"""Appends an item; True when `decode` gives the same key back, not just an equal one."""

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose
_PICKLE_PROTOCOL: Final = 4
"""Fixed: another protocol would give the same key other bytes."""
_ONE_BYTE: Final = 0x80
_STR_HEADS: Final = [b"S" + bytes((size,)) for size in range(_ONE_BYTE)]
_INT_HEADS: Final = [b"I" + bytes((size,)) for size in range(_ONE_BYTE)]
_LARGEST_DECIMAL: Final = 4000
"""Digits above which a whole Decimal is not taken for an integer: its size is not bounded by its text."""


def encode(key: Any) -> tuple[bytes, bool]:
    """The bytes of ``key``, and whether `decode` gives ``key`` itself back.

    >>> encode(1)[0] == encode(1.0)[0] == encode(Decimal("1.00"))[0]
    True
    >>> encode(1)[1], encode(1.0)[1]
    (True, False)
    """
    cls = type(key)
    if cls is str:
        data = key.encode("utf-8", "surrogatepass")
        if len(data) < _ONE_BYTE:
            return _STR_HEADS[len(data)] + data, True
    elif cls is int:
        size = key.bit_length() // 8 + 1
        if size < _ONE_BYTE:
            return _INT_HEADS[size] + key.to_bytes(size, "big", signed=True), True
    out = bytearray()
    exact = _put(out, key)
    return bytes(out), exact


def decode(data: bytes) -> Any:
    """The key of bytes that `encode` called exact.

    >>> decode(encode(("a", 7, None))[0])
    ('a', 7, None)
    """
    return _take(data, 0)[0]


def put_length(out: bytearray, length: int) -> None:
    """Append a length: seven bits a byte, the lowest first."""
    while length >= _ONE_BYTE:
        out.append(length & 0x7F | _ONE_BYTE)
        length >>= 7
    out.append(length)


def take_length(data: bytes, at: int) -> tuple[int, int]:
    """The length at ``at``, and where it ends."""
    byte = data[at]
    if byte < _ONE_BYTE:
        return byte, at + 1
    length, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        length |= (byte & 0x7F) << shift
        if byte < _ONE_BYTE:
            return length, at + 1
        shift += 7


def _put(out: bytearray, key: Any) -> bool:
    put = _PUTS.get(type(key))
    return put(out, key) if put is not None else _put_other(out, key)


def _put_bytes(out: bytearray, tag: bytes, data: bytes) -> None:
    out += tag
    put_length(out, len(data))
    out += data


def _put_none(out: bytearray, _key: None) -> bool:
    out += b"N"
    return True


def _put_int(out: bytearray, key: int) -> bool:
    _put_bytes(out, b"I", key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True))
    return True


def _put_str(out: bytearray, key: str) -> bool:
    _put_bytes(out, b"S", key.encode("utf-8", "surrogatepass"))
    return True


def _put_raw(out: bytearray, key: bytes) -> bool:
    _put_bytes(out, b"B", key)
    return True


def _put_float(out: bytearray, key: float) -> bool:
    if key.is_integer():
        _put_int(out, int(key))
        return False
    out += b"F"
    out += struct.pack(">d", key if key == key else float("nan"))  # noqa: PLR0124 - one nan for all
    return True


def _put_decimal(out: bytearray, key: Decimal) -> bool:
    if not key.is_finite():
        _put_float(out, float("nan") if key.is_nan() else float(key))
    elif abs(key.adjusted()) < _LARGEST_DECIMAL:
        _put_rational(out, Fraction(key))
    else:
        sign, digits, exponent = key.as_tuple()
        kept = "".join(map(str, digits)).rstrip("0")
        _put_bytes(out, b"D", f"{sign}:{kept}:{int(exponent) + len(digits) - len(kept)}".encode())
    return False


def _put_rational(out: bytearray, key: Rational) -> bool:
    numerator, denominator = int(key.numerator), int(key.denominator)
    if denominator == 1:
        _put_int(out, numerator)
        return False
    try:
        near = numerator / denominator
    except OverflowError:
        near = float("inf")
    if key == near:
        _put_float(out, near)
    else:
        out += b"Q"
        _put_int(out, numerator)
        _put_int(out, denominator)
    return False


def _put_items(out: bytearray, tag: bytes, items: Iterable[tuple[bytes, bool]]) -> bool:
    encoded = list(items)
    out += tag
    put_length(out, len(encoded))
    for data, _ in encoded:
        out += data
    return all(exact for _, exact in encoded)


def _put_tuple(out: bytearray, key: tuple[Any, ...]) -> bool:
    return _put_items(out, b"T", map(encode, key))


def _put_frozenset(out: bytearray, key: frozenset[Any]) -> bool:
    return _put_items(out, b"f", sorted(map(encode, key)))


def _put_date(out: bytearray, key: date) -> bool:
    out += b"d" + struct.pack(">i", key.toordinal())
    return True


def _put_datetime(out: bytearray, key: datetime) -> bool:
    offset = key.utcoffset()
    naive = key.replace(tzinfo=None, fold=0)
    micros = (naive - _EPOCH - (offset or timedelta())) // _MICROSECOND
    out += (b"t" if offset is None else b"z") + struct.pack(">q", micros)
    return key.tzinfo is None and key.fold == 0


def _put_time(out: bytearray, key: time) -> bool:
    offset = key.utcoffset()
    passed = timedelta(0, key.second, key.microsecond, 0, key.minute, key.hour)
    micros = (passed - (offset or timedelta())) // _MICROSECOND
    out += (b"m" if offset is None else b"M") + struct.pack(">q", micros)
    return key.tzinfo is None and key.fold == 0


def _put_timedelta(out: bytearray, key: timedelta) -> bool:
    out += b"e"
    return _put_int(out, key // _MICROSECOND)


def _put_uuid(out: bytearray, key: UUID) -> bool:
    out += b"U" + key.bytes
    return True


def _put_row(out: bytearray, key: Row) -> bool:
    names, values = sorted_by_name(key)
    _put_items(out, b"R", map(encode, [key.get_row_kind().value, names, *values]))
    return False


def _put_pickle(out: bytearray, key: Any) -> bool:
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, _PICKLE_PROTOCOL)
    # Without the memo: else the bytes would depend on which parts are one object.
    pickler.fast = True
    pickler.dump(key)
    data = buffer.getvalue()
    _put_bytes(out, b"P", data)
    # A class of the started script has no such name in another process.
    return b"__main__" not in data


def _put_enum(out: bytearray, key: Enum) -> bool:
    cls = type(key)
    name = key.value if isinstance(key, Flag) else key.name
    _put_items(out, b"E", [encode(f"{cls.__module__}:{cls.__qualname__}"), encode(name)])
    return False


_PUTS: Final[dict[type[Any], Put]] = {
    str: _put_str,
    int: _put_int,
    type(None): _put_none,
    bytes: _put_raw,
    float: _put_float,
    tuple: _put_tuple,
    datetime: _put_datetime,
    date: _put_date,
    time: _put_time,
    timedelta: _put_timedelta,
    Decimal: _put_decimal,
    UUID: _put_uuid,
    Row: _put_row,
    frozenset: _put_frozenset,
}
_BASES: Final[tuple[tuple[type[Any], Put, Callable[[Any], Any] | None], ...]] = (
    (str, _put_str, str.__str__),
    (Integral, _put_int, int),
    (np.bool_, _put_int, int),
    (bytes, _put_raw, bytes),
    (float, _put_float, float),
    (tuple, _put_tuple, tuple),
    (datetime, _put_datetime, None),
    (date, _put_date, None),
    (time, _put_time, None),
    (timedelta, _put_timedelta, None),
    (Decimal, _put_decimal, None),
    (UUID, _put_uuid, None),
    (Row, _put_row, None),
    (frozenset, _put_frozenset, frozenset),
    (Enum, _put_enum, None),
    (Rational, _put_rational, None),
    (Real, _put_float, float),
)
"""For subclasses, in this order: they equal a value of the base, and are hashed like it."""


def _put_other(out: bytearray, key: Any) -> bool:
    """Append a key of a class that was not met before; how is kept, since a job has few classes."""
    put = _put_of(type(key))
    _PUTS[type(key)] = put
    return put(out, key)


def _put_of(cls: type[Any]) -> Put:
    for base, put, plain in _BASES:
        if issubclass(cls, base):
            return _inexact(put, plain)
    params = getattr(cls, "__dataclass_params__", None)
    if params is not None and params.eq:
        return _dataclass_put(cls)
    return _put_pickle


def _inexact(put: Put, plain: Callable[[Any], Any] | None) -> Put:
    def put_plain(out: bytearray, key: Any) -> bool:
        put(out, key if plain is None else plain(key))
        return False

    return put_plain


def _dataclass_put(cls: type[Any]) -> Put:
    name = f"{cls.__module__}:{cls.__qualname__}"
    getters = [attrgetter(field.name) for field in dataclasses.fields(cls) if field.compare]

    def put(out: bytearray, key: Any) -> bool:
        _put_items(out, b"C", [encode(name), *(encode(get(key)) for get in getters)])
        return False

    return put


def _take(data: bytes, at: int) -> tuple[Any, int]:
    tag, at = data[at], at + 1
    if tag in _TAKE_SIZED:
        length, at = take_length(data, at)
        return _TAKE_SIZED[tag](data[at : at + length]), at + length
    if tag in _TAKE_FIXED:
        size, take = _TAKE_FIXED[tag]
        return take(data[at : at + size]), at + size
    if tag in b"Tf":
        length, at = take_length(data, at)
        items = []
        for _ in range(length):
            item, at = _take(data, at)
            items.append(item)
        return (tuple(items) if tag in b"T" else frozenset(items)), at
    if tag in b"e":
        micros, at = _take(data, at)
        return timedelta(microseconds=micros), at
    raise ValueError(f"canonical key: the tag before byte {at} is {tag}, which no exact key has")


def _time_of(data: bytes) -> time:
    passed: int = struct.unpack(">q", data)[0]
    return (_EPOCH + passed * _MICROSECOND).time()


_TAKE_SIZED: Final[dict[int, Callable[[bytes], Any]]] = {
    ord("I"): lambda data: int.from_bytes(data, "big", signed=True),
    ord("S"): lambda data: data.decode("utf-8", "surrogatepass"),
    ord("B"): bytes,
    ord("P"): pickle.loads,
}
_TAKE_FIXED: Final[dict[int, tuple[int, Callable[[bytes], Any]]]] = {
    ord("N"): (0, lambda _: None),
    ord("F"): (8, lambda data: struct.unpack(">d", data)[0]),
    ord("d"): (4, lambda data: date.fromordinal(struct.unpack(">i", data)[0])),
    ord("t"): (8, lambda data: _EPOCH + struct.unpack(">q", data)[0] * _MICROSECOND),
    ord("m"): (8, _time_of),
    ord("U"): (16, lambda data: UUID(bytes=data)),
}
