"""The stable hash of one key, and its specification.

The specification. All arithmetic is on unsigned 64-bit integers, modulo 2**64. ``mix`` is the
finaliser of splitmix64::

    mix(x):  x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9
             x ^= x >> 27;  x *= 0x94D049BB133111EB
             x ^= x >> 31

``leaf(kind, x) = mix(x + kind * 0x9E3779B97F4A7C15)`` gives a value ``x`` of a kind its hash, where a
negative x is taken in two's complement, and ``fold(kind, hashes)`` gives a sequence its hash::

    h = leaf(kind, number of hashes);  for each: h = mix((h ^ hash) + 0x9E3779B97F4A7C15)

=========  ====  =======================================================================================
key        kind  hash
=========  ====  =======================================================================================
None        1    leaf(1, 0)
nan         2    leaf(2, 0), for every nan, of Decimal too
number      3    leaf(3, r), for int, bool, float, Decimal, Fraction. With P = 2**61 - 1 and the number
                 equal to p/q in lowest terms, q > 0: r = |p| * (q ** -1 mod P) mod P, negated when
                 p < 0; r = -2 where this gives -1; r = 314159 when P divides q; r = +-314159 for the
                 infinities. (This is the hash of numbers that Python documents.)
str         4    leaf(4, crc32(utf-8) + length in bytes * 2**32); lone surrogates as if encodable
bytes       5    leaf(5, crc32 + length * 2**32), for bytes, bytearray and memoryview
tuple       6    fold(6, hashes of the items); a named tuple is a tuple
date        7    leaf(7, days, 0001-01-01 being 1)
datetime    8    leaf(8, microseconds since 0001-01-01T00:00:00), no zone
datetime    9    leaf(9, the same, minus the UTC offset at fold 0), with a zone
time       10    leaf(10, microseconds since midnight), no zone
time       11    leaf(11, the same, minus the UTC offset), with a zone
timedelta  12    leaf(12, microseconds)
UUID       13    fold(13, [upper 64 bits, lower 64 bits])
Enum       14    fold(14, [hash of the qualified class name, hash of the member's name]); of the value
                 instead of the name for Flag
frozenset  15    leaf(15, sum of mix(h) over the hashes h of the elements)
dataclass  16    fold(16, [hash of the qualified class name, hashes of the fields that are compared])
Row        17    fold(17, [number of the kind, hash of the tuple of the names in order or of None,
                 hashes of the values]); a row with names is first sorted by name
=========  ====  =======================================================================================

Equal keys have equal hashes: 1 == 1.0 == True, 0.5 == Decimal("0.5"), an IntEnum member equals its
number and a StrEnum member its text. The values must never change: state is stored by them.
"""

import dataclasses
import sys
import zlib
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from fractions import Fraction
from numbers import Integral, Rational, Real
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import numpy as np

from riverrun.core.short_repr import short_repr
from riverrun.serde.row import Row, sorted_by_name

__all__ = ["KeyHashError", "key_group", "stable_hash"]

MASK: Final = 2**64 - 1
GOLDEN: Final = 0x9E3779B97F4A7C15
FIRST: Final = 0xBF58476D1CE4E5B9
SECOND: Final = 0x94D049BB133111EB
PRIME: Final = 2**61 - 1
INFINITY: Final = 314159

NONE, NAN, NUMBER, STR, BYTES, TUPLE, DATE, DATETIME, ZONED_DATETIME = range(1, 10)
TIME, ZONED_TIME, TIMEDELTA, UUID_KIND, ENUM, SET, DATACLASS, ROW = range(10, 18)

_MICROSECOND: Final = timedelta(microseconds=1)


class KeyHashError(TypeError):
    """A key is of a class that has no stable hash.

    Attributes:
        type_name: The class of the key, or of the part of it that has no hash.
        value_repr: The key or that part.
    """

    def __init__(self, type_name: str, value_repr: str) -> None:
        super().__init__(type_name, value_repr)
        self.type_name = type_name
        self.value_repr = value_repr

    def __str__(self) -> str:
        return (
            f"{self.value_repr} of class {self.type_name} cannot be a key; a key is None, a bool, "
            f"int, float, Decimal, Fraction, str, bytes, date, time, datetime, timedelta, UUID, an "
            f"Enum member, or a tuple, named tuple, Row, frozenset or frozen dataclass of these"
        )


def stable_hash(key: Any) -> int:
    """The hash of a key, from 0 to 2**64 - 1, the same in every process, release and platform.

    Raises `KeyHashError` for a key that has none.

    >>> stable_hash(1) == stable_hash(1.0) == stable_hash(Decimal(1))
    True
    """
    hasher = _HASHERS.get(type(key))
    if hasher is None:
        hasher = _hasher_of(key)
    return hasher(key)


def key_group(key: Any, max_parallelism: int) -> int:
    """The key group that a key belongs to, from 0 to ``max_parallelism - 1``."""
    return stable_hash(key) % max_parallelism


def mix(x: int) -> int:
    """The finaliser of splitmix64."""
    x = (x ^ (x >> 30)) * FIRST & MASK
    x = (x ^ (x >> 27)) * SECOND & MASK
    return x ^ (x >> 31)


def leaf(kind: int, value: int) -> int:
    """The hash of a value of a kind."""
    return mix((value + kind * GOLDEN) & MASK)


def fold(kind: int, hashes: list[int]) -> int:
    """The hash of a sequence of a kind from the hashes of its items."""
    folded = leaf(kind, len(hashes))
    for item in hashes:
        folded = mix(((folded ^ item) + GOLDEN) & MASK)
    return folded


NONE_HASH: Final = leaf(NONE, 0)
NAN_HASH: Final = leaf(NAN, 0)


def _hash_none(_key: None) -> int:
    return NONE_HASH


def _hash_int(key: int) -> int:
    return leaf(NUMBER, _residue_of_int(key))


def _hash_float(key: float) -> int:
    return NAN_HASH if key != key else leaf(NUMBER, _residue_of_float(key))  # noqa: PLR0124 - nan


def _hash_decimal(key: Decimal) -> int:
    return NAN_HASH if key.is_nan() else leaf(NUMBER, _residue_of_decimal(key))


def _hash_rational(key: Rational) -> int:
    return leaf(NUMBER, _residue(int(key.numerator), int(key.denominator)))


def _residue(numerator: int, denominator: int) -> int:
    inverse = denominator % PRIME
    residue = abs(numerator) * pow(inverse, -1, PRIME) % PRIME if inverse else INFINITY
    residue = residue if numerator >= 0 else -residue
    return -2 if residue == -1 else residue


def _portable_residue_of_float(key: float) -> int:
    if key in (float("inf"), float("-inf")):
        return INFINITY if key > 0 else -INFINITY
    return _residue(*key.as_integer_ratio())


def _portable_residue_of_decimal(key: Decimal) -> int:
    if key.is_infinite():
        return INFINITY if key > 0 else -INFINITY
    sign, digits, exponent = key.as_tuple()
    # The power of ten is reduced on the way: an exponent may be a thousand million.
    power = pow(10, int(exponent), PRIME)
    residue = int("".join(map(str, digits))) * power % PRIME
    residue = -residue if sign else residue
    return -2 if residue == -1 else residue


# The unbound methods, because a subclass may hash itself otherwise.
_PYTHON_HASHES_ALIKE: Final = sys.hash_info.modulus == PRIME and sys.hash_info.inf == INFINITY
_residue_of_int: Callable[[int], int]
_residue_of_float: Callable[[float], int]
_residue_of_decimal: Callable[[Decimal], int]
if _PYTHON_HASHES_ALIKE:
    _residue_of_int = int.__hash__
    _residue_of_float = float.__hash__
    _residue_of_decimal = Decimal.__hash__
else:
    _residue_of_int = lambda key: _residue(key, 1)  # noqa: E731
    _residue_of_float = _portable_residue_of_float
    _residue_of_decimal = _portable_residue_of_decimal


def _hash_real(key: Real) -> int:
    as_float = float(key)
    if as_float != key and as_float == as_float:  # noqa: PLR0124 - nan
        return _refuse(key)
    return _hash_float(as_float)


def _hash_str(key: str) -> int:
    try:
        data = key.encode()
    except UnicodeEncodeError:
        data = key.encode("utf-8", "surrogatepass")
    return leaf(STR, zlib.crc32(data) + (len(data) << 32))


def _hash_bytes(key: bytes | bytearray | memoryview) -> int:
    data = bytes(key)
    return leaf(BYTES, zlib.crc32(data) + (len(data) << 32))


def _hash_tuple(key: tuple[Any, ...]) -> int:
    return fold(TUPLE, list(map(stable_hash, key)))


def _hash_date(key: date) -> int:
    return leaf(DATE, key.toordinal())


def _hash_datetime(key: datetime) -> int:
    key = key.replace(fold=0)
    offset = key.utcoffset()
    local = timedelta(key.toordinal() - 1, key.second, key.microsecond, 0, key.minute, key.hour)
    if offset is None:
        return leaf(DATETIME, local // _MICROSECOND)
    return leaf(ZONED_DATETIME, (local - offset) // _MICROSECOND)


def _hash_time(key: time) -> int:
    key = key.replace(fold=0)
    offset = key.utcoffset()
    local = timedelta(0, key.second, key.microsecond, 0, key.minute, key.hour)
    if offset is None:
        return leaf(TIME, local // _MICROSECOND)
    return leaf(ZONED_TIME, (local - offset) // _MICROSECOND)


def _hash_timedelta(key: timedelta) -> int:
    return leaf(TIMEDELTA, key // _MICROSECOND)


def _hash_uuid(key: UUID) -> int:
    return fold(UUID_KIND, [key.int >> 64, key.int & MASK])


def _hash_enum(key: Enum) -> int:
    own = key.value if isinstance(key, Flag) else key.name
    return fold(ENUM, [_hash_str(type(key).__qualname__), stable_hash(own)])


def _hash_frozenset(key: Iterable[Any]) -> int:
    return leaf(SET, sum(mix(stable_hash(item)) for item in key))


def _hash_row(key: Row) -> int:
    names, values = sorted_by_name(key)
    hashes = [key.get_row_kind().value, stable_hash(names), *map(stable_hash, values)]
    return fold(ROW, hashes)


def _dataclass_hasher(cls: type[Any]) -> Callable[[Any], int]:
    name = _hash_str(cls.__qualname__)
    getters = [attrgetter(field.name) for field in dataclasses.fields(cls) if field.compare]
    return lambda key: fold(DATACLASS, [name, *(stable_hash(get(key)) for get in getters)])


def _refuse(key: Any) -> int:
    raise KeyHashError(type(key).__qualname__, short_repr(key))


# By class, and for subclasses in this order: the first that fits. Enum comes after the classes that
# its members may also be, because such a member equals a plain value.
_HASHERS: dict[type[Any], Callable[[Any], int]] = {
    type(None): _hash_none,
    str: _hash_str,
    int: _hash_int,
    bool: _hash_int,
    float: _hash_float,
    tuple: _hash_tuple,
    bytes: _hash_bytes,
    bytearray: _hash_bytes,
    memoryview: _hash_bytes,
    datetime: _hash_datetime,
    date: _hash_date,
    time: _hash_time,
    timedelta: _hash_timedelta,
    Decimal: _hash_decimal,
    UUID: _hash_uuid,
    Row: _hash_row,
    frozenset: _hash_frozenset,
    Enum: _hash_enum,
    Fraction: _hash_rational,
    np.bool_: lambda key: _hash_int(bool(key)),
    Integral: lambda key: _hash_int(int(key)),
    Rational: _hash_rational,
    Real: _hash_real,
}
_BASES: Final = tuple(_HASHERS.items())


def _hasher_of(key: Any) -> Callable[[Any], int]:
    """The hasher of a class that was not met before; kept, since a job has few classes of keys."""
    cls = type(key)
    hasher = next((found for base, found in _BASES if isinstance(key, base)), None)
    if hasher is None:
        params = getattr(cls, "__dataclass_params__", None)
        if params is None or not params.eq or cls.__hash__ is None:
            return _refuse
        hasher = _dataclass_hasher(cls)
    _HASHERS[cls] = hasher
    return hasher
