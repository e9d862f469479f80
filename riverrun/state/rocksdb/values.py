"""Single values as bytes, by their declared type.

A typed value is MessagePack of its plain form, in which every part stands at the place that its type
gives it: no names, no classes.

========================================  ============================================================
type                                      plain form
========================================  ============================================================
text, numbers, booleans, bytes            themselves
BIG_DEC                                   its text
INSTANT                                   [seconds, nanoseconds]
dates, times, timestamps                  days, microseconds of the day, microseconds since 1970
arrays, lists                             an array
maps                                      [keys, values]
tuples, named tuples, plain dataclasses   an array of the fields
rows                                      an array of the kind and the fields
========================================  ============================================================

Values without a type, of a type that has no plain form, and values that the plain form would not give
back (a datetime with a zone, a subclass of a dataclass, an integer of more than 64 bits) are pickled.
A pickle begins with 0x80, which no plain form does.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from riverrun.serde.arrow_columns import Inexact
from riverrun.serde.arrow_fields import (
    DataclassFields,
    Fields,
    NamedTupleFields,
    RowFields,
    TupleFields,
    is_plain_dataclass,
)
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.check import checker_for
from riverrun.serde.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.instant import Instant
from riverrun.serde.pickled_runs import PickleRunCodec, pickled
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.type_info import TypeInformation

__all__ = ["ValueCodec"]

Convert: TypeAlias = Callable[[Any], Any]

_PICKLE_MARK: Final = 0x80
_ONE_VALUE: Final = 0x91
"""What an array of one value begins with in MessagePack."""
_first: Final = itemgetter(0)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - wall time without a zone is what is meant
_MICROSECOND: Final = timedelta(microseconds=1)
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode
# Raised on the way to the plain form by values that have none, right or wrong.
_NO_PLAIN_FORM: Final = (
    Inexact,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
)


class Plain(NamedTuple):
    """The way to the plain form and back."""

    down: Convert
    up: Convert
    down_each: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    """The same for many values, where that is faster than one by one; and ``up_each``."""
    up_each: Callable[[Sequence[Any]], Sequence[Any]] | None = None


class ValueCodec:
    """Encodes and decodes values of one type, or of any if it is None."""

    def __init__(self, type_info: TypeInformation | None) -> None:
        plain = None if type_info is None else _plain(type_info)
        self._plain = plain
        self._untyped = PickleRunCodec(type_info)
        self._coerce = _same if type_info is None else type_info.coerce
        self._check = None if type_info is None else checker_for(type_info)

    @property
    def keeps_plain(self) -> bool:
        """Whether the plain form of a value is the value itself."""
        return self._plain is _SAME

    def check_all(self, values: Sequence[Any]) -> None:
        """Raise TypeMismatch unless all values are of the type."""
        if self._check is not None:
            self._check(values)

    def check(self, value: Any) -> None:
        """Raise TypeMismatch unless the value is of the type."""
        if self._check is not None:
            self._check([value])

    def encode(self, value: Any) -> bytes:
        """The bytes of one value.

        Raises:
            TypeMismatch: the value is not of the type.
            UnpicklableValue: it would have to be pickled, and cannot.
        """
        return self.encode_all([value])

    def encode_each(self, values: Sequence[Any]) -> list[bytes]:
        """The bytes of each of many values."""
        if self._check is not None:
            self._check(values)
        if self._plain is None:
            return [self._untyped.encode([value]) for value in values]
        try:
            return [_encode((plain,)) for plain in _down_each(self._plain, values)]
        except _NO_PLAIN_FORM:
            return [self._encode_checked([value]) for value in values]

    def encode_all(self, values: list[Any]) -> bytes:
        """The bytes of several values, to be decoded together."""
        if self._check is not None:
            self._check(values)
        return self._encode_checked(values)

    def decode(self, data: bytes) -> Any:
        """The value of ``encode``."""
        return self.decode_all(data)[0]

    def decode_all(self, data: bytes) -> list[Any]:
        """The values of ``encode_all``."""
        if data[0] == _PICKLE_MARK:
            values: list[Any] = pickle.loads(data)
            return values
        if self._plain is None:
            raise ValueError("the bytes are not a pickle, but no type is known for them")
        return list(map(self._plain.up, _decode(data)))

    def decode_each(self, data: Sequence[bytes]) -> Sequence[Any]:
        """The values of ``encode_each``, or of ``encode`` for each of them."""
        if self._plain is None or set(map(_first, data)) != {_ONE_VALUE}:
            return list(map(self.decode, data))
        # All of them as one array: a call for each would cost more than the decoding.
        found = _decode(b"\xdd%b%b" % (len(data).to_bytes(4, "big"), b"".join(data)))
        return _up_each(self._plain, [value for (value,) in found])

    def _encode_checked(self, values: list[Any]) -> bytes:
        if self._plain is None:
            return self._untyped.encode(values)
        down = self._plain.down
        try:
            return _encode([down(value) for value in values])
        except _NO_PLAIN_FORM:
            return pickled(list(map(self._coerce, values)))


def _plain(type_info: TypeInformation) -> Plain | None:
    """The plain form of a type, or None where it or a part of it has none."""
    for cls, build in _BUILDERS.items():
        if isinstance(type_info, cls):
            return build(type_info)
    return None


def _down_each(plain: Plain, values: Sequence[Any]) -> Sequence[Any]:
    if plain is _SAME:
        return values
    return list(map(plain.down, values)) if plain.down_each is None else plain.down_each(values)


def _up_each(plain: Plain, found: Sequence[Any]) -> Sequence[Any]:
    if plain is _SAME:
        return found
    return list(map(plain.up, found)) if plain.up_each is None else plain.up_each(found)


def _same(value: Any) -> Any:
    return value


_SAME: Final = Plain(_same, _same)


def _or_none(down: Convert, up: Convert) -> Plain:
    return Plain(
        lambda value: None if value is None else down(value),
        lambda found: None if found is None else up(found),
        _each_or_none(down),
        _each_or_none(up),
    )


def _each_or_none(convert: Convert) -> Callable[[Sequence[Any]], Sequence[Any]]:
    if convert is _same:
        return _same
    return lambda values: [None if value is None else convert(value) for value in values]


def _basic(type_info: BasicTypeInfo) -> Plain:
    return _BASIC.get(type_info.basic_type, _SAME)


def _inner(type_info: OptionalTypeInfo | ExternalTypeInfo) -> Plain | None:
    return _plain(type_info.type_info)


def _array(type_info: PrimitiveArrayTypeInfo) -> Plain | None:
    return _or_none(bytes, _same) if type_info.is_bytes else _list(type_info)


def _list(type_info: Any) -> Plain | None:
    element = _plain(type_info.element_type)
    if element is None:
        return None
    if element is _SAME:
        return _or_none(list, _same)
    down, up = element.down, element.up
    return _or_none(lambda values: list(map(down, values)), lambda found: list(map(up, found)))


def _map(type_info: MapTypeInfo) -> Plain | None:
    key, value = _plain(type_info.key_type_info), _plain(type_info.value_type_info)
    if key is None or value is None:
        return None
    return _or_none(
        lambda pairs: [list(map(key.down, pairs)), list(map(value.down, pairs.values()))],
        lambda found: dict(zip(map(key.up, found[0]), map(value.up, found[1]), strict=True)),
    )


def _fields(type_info: Any) -> Plain | None:
    fields = _fields_of(type_info)
    types = [_plain(part) for part in type_info.get_field_types()]
    if fields is None or not types:
        return None
    parts = [part for part in types if part is not None]
    if len(parts) < len(types):
        return None
    if isinstance(type_info, RowTypeInfo):
        parts.append(_SAME)
    downs, ups = [part.down for part in parts], [part.up for part in parts]

    def down(value: Any) -> list[Any]:
        split = fields.split([value])
        return [to(column[0]) for to, column in zip(downs, split, strict=True)]

    def up(found: Sequence[Any]) -> Any:
        columns = [[back(item)] for back, item in zip(ups, found, strict=True)]
        return fields.join(columns)[0]

    one = _or_none(down, up)

    def down_each(values: Sequence[Any]) -> Sequence[Any]:
        if not values or NoneType in set(map(type, values)):
            return list(map(one.down, values))
        split = fields.split(values)
        columns = (_down_each(part, column) for part, column in zip(parts, split, strict=True))
        return list(zip(*columns, strict=True))

    def up_each(found: Sequence[Any]) -> Sequence[Any]:
        if not found or NoneType in set(map(type, found)):
            return list(map(one.up, found))
        split = zip(parts, zip(*found, strict=True), strict=True)
        return fields.join([list(_up_each(part, column)) for part, column in split])

    return Plain(one.down, one.up, down_each, up_each)


def _fields_of(type_info: TypeInformation) -> Fields | None:
    match type_info:
        case TupleTypeInfo():
            return TupleFields(len(type_info.field_types))
        case NamedTupleTypeInfo(cls):
            return NamedTupleFields(cls, len(type_info.field_types))
        case DataclassTypeInfo(cls) if is_plain_dataclass(cls):
            return DataclassFields(cls)
        case RowTypeInfo(_, names):
            return RowFields(None if names is None else tuple(names), len(type_info.field_types))
    return None


def _exactly(cls: type[Any], down: Convert) -> Convert:
    def exact(value: Any) -> Any:
        if type(value) is not cls or getattr(value, "tzinfo", None) or getattr(value, "fold", 0):
            raise ValueError("more than the plain form tells")
        return down(value)

    return exact


_DATE: Final = _or_none(_exactly(date, date.toordinal), date.fromordinal)
_TIME: Final = _or_none(
    _exactly(time, lambda value: (datetime.combine(_EPOCH, value) - _EPOCH) // _MICROSECOND),
    lambda found: (_EPOCH + found * _MICROSECOND).time(),
)
_TIMESTAMP: Final = _or_none(
    _exactly(datetime, lambda value: (value - _EPOCH) // _MICROSECOND),
    lambda found: _EPOCH + found * _MICROSECOND,
)
_LOCAL_TIMES: Final[Mapping[LocalTimeTypeInfo.TimeType, Plain]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: _DATE,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: _TIME,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _TIMESTAMP,
}
_BASIC: Final[Mapping[BasicType, Plain]] = {
    BasicType.FLOAT: _or_none(float, _same),
    BasicType.DOUBLE: _or_none(float, _same),
    BasicType.BIG_DEC: _or_none(str, Decimal),
    BasicType.INSTANT: _or_none(
        lambda value: (value.seconds, value.nanos), lambda found: Instant(*found)
    ),
}
_BUILDERS: Final[Mapping[type[TypeInformation], Callable[[Any], Plain | None]]] = {
    BasicTypeInfo: _basic,
    TupleTypeInfo: _fields,
    RowTypeInfo: _fields,
    NamedTupleTypeInfo: _fields,
    DataclassTypeInfo: _fields,
    ListTypeInfo: _list,
    BasicArrayTypeInfo: _list,
    ObjectArrayTypeInfo: _list,
    PrimitiveArrayTypeInfo: _array,
    MapTypeInfo: _map,
    OptionalTypeInfo: _inner,
    ExternalTypeInfo: _inner,
    DateTypeInfo: lambda _type_info: _DATE,
    TimeTypeInfo: lambda _type_info: _TIME,
    TimestampTypeInfo: lambda _type_info: _TIMESTAMP,
    LocalTimeTypeInfo: lambda type_info: _LOCAL_TIMES[type_info.time_type],
}
