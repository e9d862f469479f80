"""Checking a run of values against the declared type, at a few nanoseconds a value.

The fast path never looks at one value alone: it collects the set of the classes in a column and
compares it with the classes that are right for sure. Only a column that fails this is walked value
by value, to accept subclasses or to name the value that does not fit. Tuples, rows and dataclasses
are checked field by field over the whole run.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

from riverrun.core.short_repr import short_repr
from riverrun.serde.basic_types import BasicType, BasicTypeInfo, PickledBytesTypeInfo
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
from riverrun.serde.row import Row, values_of
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.transpose import columns_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["TypeMismatch", "checker_for", "takes_none"]


class TypeMismatch(TypeError):  # noqa: N818 - the name says what happened
    """A value is not of the declared type.

    Attributes:
        expected: What the declared type takes at this place.
        value_repr: The value found there, and its class.
        path: Where in the record, such as ``[1].name``; empty for the record itself.
        index: Which record of the run.
    """

    def __init__(self, expected: str, value_repr: str, path: str, index: int) -> None:
        super().__init__(expected, value_repr, path, index)
        self.expected = expected
        self.value_repr = value_repr
        self.path = path
        self.index = index

    def __str__(self) -> str:
        place = f"at {self.path}" if self.path else "as the value"
        return (
            f"expected {self.expected} {place}, found {self.value_repr} in record {self.index} of "
            f"the run; return a value of the declared type or declare another type"
        )


class _Fault(NamedTuple):
    """The first value of a column that does not fit, and where it is."""

    record: int
    path: str
    expected: str
    value: Any


_Finder: TypeAlias = Callable[[Sequence[Any]], _Fault | None]


def checker_for(type_info: TypeInformation) -> Callable[[Sequence[Any]], None]:
    """A function that raises `TypeMismatch` unless each value of a run is of the type.

    A field or element may be None, and so may a basic value of its own. Subclasses are accepted,
    but a bool is no int, a datetime no date, and an int must fit the bits of its type. An int is
    accepted as a float.
    """
    find = _finder(type_info, none=takes_none(type_info))

    def check(values: Sequence[Any]) -> None:
        fault = find(values)
        if fault is not None:
            raise TypeMismatch(
                fault.expected,
                f"{short_repr(fault.value)} of class {type(fault.value).__qualname__}",
                fault.path,
                fault.record,
            )

    return check


def takes_none(type_info: TypeInformation) -> bool:
    """Whether a record of the type may be None as a whole."""
    if isinstance(type_info, ExternalTypeInfo):
        return takes_none(type_info.type_info)
    basic = (BasicTypeInfo, DateTypeInfo, TimeTypeInfo, TimestampTypeInfo, LocalTimeTypeInfo)
    return isinstance(type_info, (*basic, OptionalTypeInfo)) or (
        isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
    )


def _finder(type_info: TypeInformation, *, none: bool) -> _Finder:
    """What finds the first value that is not of the type; None counts as right if ``none``."""
    for cls, build in _BUILDERS.items():
        if isinstance(type_info, cls):
            return build(type_info, none=none)
    raise TypeError(f"{type_info!r} is not a type that riverrun knows; use one of the Types class")


def _pickled_finder(_type_info: PickledBytesTypeInfo, *, none: bool) -> _Finder:  # noqa: ARG001
    return lambda _values: None


def _optional_finder(type_info: OptionalTypeInfo, *, none: bool) -> _Finder:  # noqa: ARG001
    return _finder(type_info.type_info, none=True)


def _external_finder(type_info: ExternalTypeInfo, *, none: bool) -> _Finder:
    return _finder(type_info.type_info, none=none)


def _time_finder(type_info: TypeInformation, *, none: bool) -> _Finder:
    cls = _time_class(type_info)
    refused = datetime if cls is date else None
    return _class_finder(f"a {cls.__name__} ({type_info!r})", (cls,), refused=refused, none=none)


def _time_class(type_info: TypeInformation) -> type[date | time]:
    match type_info:
        case DateTypeInfo() | LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE):
            return date
        case TimeTypeInfo() | LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME):
            return time
    return datetime


_INTEGERS = {
    BasicType.BYTE: ("b", 8),
    BasicType.SHORT: ("h", 16),
    BasicType.INT: ("i", 32),
    BasicType.LONG: ("q", 64),
}
_CLASSES: dict[BasicType, tuple[str, type]] = {
    BasicType.STRING: ("a str", str),
    BasicType.BOOLEAN: ("a bool", bool),
    BasicType.BIG_INT: ("an int", int),
    BasicType.BIG_DEC: ("a Decimal", Decimal),
    BasicType.INSTANT: ("an Instant", Instant),
}


def _basic_finder(type_info: BasicTypeInfo, *, none: bool) -> _Finder:
    basic = type_info.basic_type
    name = f"(Types.{basic.name}())"
    if basic in _INTEGERS:
        code, bits = _INTEGERS[basic]
        limit = 1 << (bits - 1)

        def fits(value: Any) -> bool:
            is_int = isinstance(value, int) and not isinstance(value, bool)
            return is_int and -limit <= value < limit

        return _packed_finder(f"an int of {bits} bits {name}", {int}, code, fits, none=none)
    if basic in (BasicType.FLOAT, BasicType.DOUBLE):
        return _packed_finder(f"a float {name}", {float, int}, "d", _fits_float, none=none)
    if basic is BasicType.CHAR:
        return _char_finder(f"a str of one character {name}", none=none)
    words, cls = _CLASSES[basic]
    refused = bool if basic is BasicType.BIG_INT else None
    return _class_finder(f"{words} {name}", (cls,), refused=refused, none=none)


def _fits_float(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (float, int)):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _walk(
    values: Sequence[Any], expected: str, fits: Callable[[Any], bool], *, none: bool
) -> _Fault | None:
    for index, value in enumerate(values):
        if not ((none and value is None) or fits(value)):
            return _Fault(index, "", expected, value)
    return None


def _class_finder(
    expected: str, classes: tuple[type, ...], *, refused: type | None = None, none: bool
) -> _Finder:
    right = {*classes, NoneType} if none else set(classes)

    def fits(value: Any) -> bool:
        return isinstance(value, classes) and not (refused and isinstance(value, refused))

    def find(values: Sequence[Any]) -> _Fault | None:
        if set(map(type, values)) <= right:
            return None
        return _walk(values, expected, fits, none=none)

    return find


def _packed_finder(
    expected: str, classes: set[type], code: str, fits: Callable[[Any], bool], *, none: bool
) -> _Finder:
    with_none = classes | {NoneType}

    def find(values: Sequence[Any]) -> _Fault | None:
        found = set(map(type, values))
        numbers = values
        if none and NoneType in found and found <= with_none:
            numbers = [value for value in values if value is not None]
            found.discard(NoneType)
        if found <= classes:
            # struct checks the range of a whole column three times as fast as min() and max().
            try:
                struct.pack(f"{len(numbers)}{code}", *numbers)
            except (struct.error, OverflowError):
                pass
            else:
                return None
        return _walk(values, expected, fits, none=none)

    return find


def _char_finder(expected: str, *, none: bool) -> _Finder:
    def fits(value: Any) -> bool:
        return isinstance(value, str) and len(value) == 1

    def find(values: Sequence[Any]) -> _Fault | None:
        if set(map(type, values)) == {str} and set(map(len, values)) == {1}:
            return None
        return _walk(values, expected, fits, none=none)

    return find


def _container_finder(
    type_info: TypeInformation, cls: type, find_inside: _Finder, *, none: bool
) -> _Finder:
    """Finds a value that is no ``cls``, then what is wrong inside those that are not None."""
    expected = f"a {cls.__qualname__} ({type_info!r})"

    def fits(value: Any) -> bool:
        return isinstance(value, cls)

    def find(values: Sequence[Any]) -> _Fault | None:
        found = set(map(type, values))
        if found == {cls}:
            return find_inside(values)
        fault = _walk(values, expected, fits, none=none)
        if fault is not None or NoneType not in found:
            return fault or find_inside(values)
        present = [index for index, value in enumerate(values) if value is not None]
        fault = find_inside([values[index] for index in present])
        return fault and fault._replace(record=present[fault.record])

    return find


def _array_finder(type_info: PrimitiveArrayTypeInfo, *, none: bool) -> _Finder:
    if type_info.is_bytes:
        return _class_finder(f"bytes ({type_info!r})", (bytes, bytearray), none=none)
    return _sequence_finder(type_info, _finder(type_info.element_type, none=False), none=none)


def _list_finder(
    type_info: ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo, *, none: bool
) -> _Finder:
    return _sequence_finder(type_info, _finder(type_info.element_type, none=True), none=none)


def _sequence_finder(type_info: TypeInformation, find_element: _Finder, *, none: bool) -> _Finder:
    def find_inside(values: Sequence[Any]) -> _Fault | None:
        fault = find_element(list(chain.from_iterable(values)))
        if fault is None:
            return None
        record, position = _locate(values, fault.record)
        return fault._replace(record=record, path=f"[{position}]{fault.path}")

    return _container_finder(type_info, list, find_inside, none=none)


def _map_finder(type_info: MapTypeInfo, *, none: bool) -> _Finder:
    find_key = _finder(type_info.key_type_info, none=True)
    find_value = _finder(type_info.value_type_info, none=True)

    def find_inside(values: Sequence[Any]) -> _Fault | None:
        fault = find_key(list(chain.from_iterable(values)))
        if fault is not None:
            record, position = _locate(values, fault.record)
            return fault._replace(record=record, path=f".keys()[{position}]{fault.path}")
        fault = find_value(list(chain.from_iterable(map(dict.values, values))))
        if fault is not None:
            record, position = _locate(values, fault.record)
            key = short_repr(list(values[record])[position])
            return fault._replace(record=record, path=f"[{key}]{fault.path}")
        return None

    return _container_finder(type_info, dict, find_inside, none=none)


def _locate(values: Sequence[Any], flat_index: int) -> tuple[int, int]:
    """Which container an element of the flattened containers is in, and where."""
    for index, value in enumerate(values):
        if flat_index < len(value):
            return index, flat_index
        flat_index -= len(value)
    raise IndexError(flat_index)


_Fields: TypeAlias = RowTypeInfo | TupleTypeInfo | NamedTupleTypeInfo | DataclassTypeInfo


def _fields_finder(type_info: _Fields, *, none: bool) -> _Finder:
    finders = [_finder(field, none=True) for field in type_info.field_types]
    cls, labels, columns = _fields_of(type_info)

    def find_inside(values: Sequence[Any]) -> _Fault | None:
        try:
            split = columns(values)
        except (ValueError, AttributeError):
            return find_misshapen(values)
        for label, find, column in zip(labels, finders, split, strict=True):
            fault = find(column)
            if fault is not None:
                return fault._replace(path=label + fault.path)
        return None

    def find_misshapen(values: Sequence[Any]) -> _Fault | None:
        for record, value in enumerate(values):
            try:
                columns([value])
            except (ValueError, AttributeError):
                return _Fault(record, "", f"the fields of {type_info!r}", value)
        return None

    return _container_finder(type_info, cls, find_inside, none=none)


_Columns: TypeAlias = Callable[[Sequence[Any]], list[Sequence[Any]]]


def _fields_of(type_info: _Fields) -> tuple[type, list[str], _Columns]:
    """The class of the values, the label of each field in a path, and how to get the columns."""
    arity = len(type_info.field_types)
    by_position = [f"[{position}]" for position in range(arity)]
    if isinstance(type_info, TupleTypeInfo):
        return tuple, by_position, lambda values: columns_of(values, arity)
    if isinstance(type_info, RowTypeInfo) and type_info.field_names is None:
        return Row, by_position, lambda rows: columns_of([list(row) for row in rows], arity)
    names = tuple(type_info.get_field_names())
    labels = [f".{name}" for name in names]
    if isinstance(type_info, RowTypeInfo):
        return Row, labels, lambda rows: columns_of(values_of(rows, names), arity)
    if isinstance(type_info, NamedTupleTypeInfo):
        return type_info.cls, labels, lambda values: columns_of(values, arity)
    getters = [attrgetter(name) for name in names]
    return type_info.cls, labels, lambda values: [list(map(get, values)) for get in getters]


_BUILDERS: Mapping[type[TypeInformation], Callable[..., _Finder]] = {
    BasicTypeInfo: _basic_finder,
    TupleTypeInfo: _fields_finder,
    RowTypeInfo: _fields_finder,
    NamedTupleTypeInfo: _fields_finder,
    DataclassTypeInfo: _fields_finder,
    ListTypeInfo: _list_finder,
    BasicArrayTypeInfo: _list_finder,
    ObjectArrayTypeInfo: _list_finder,
    PrimitiveArrayTypeInfo: _array_finder,
    MapTypeInfo: _map_finder,
    OptionalTypeInfo: _optional_finder,
    ExternalTypeInfo: _external_finder,
    PickledBytesTypeInfo: _pickled_finder,
    DateTypeInfo: _time_finder,
    TimeTypeInfo: _time_finder,
    TimestampTypeInfo: _time_finder,
    LocalTimeTypeInfo: _time_finder,
}
