"""Whether state that was written as one type can go on as another, and what becomes of its values.

========================================  =================================================
from                                      to
========================================  =================================================
a type                                    the same type
BYTE, SHORT, INT, LONG                    a wider one of these, or BIG_INT
BYTE, SHORT, INT                          FLOAT, DOUBLE
FLOAT                                     DOUBLE
CHAR                                      STRING
a type                                    the same type, optional or external
an array or list                          a list of elements that these can become
a tuple                                   a tuple of as many fields that these can become
a row, or a class with fields             a row; new fields are None, lost ones are dropped
a named tuple or dataclass                the same class (also when it has moved); new fields
                                          have a default or can be None, lost ones are dropped
any type                                  pickled
pickled                                   any type; each value is checked when it is restored
========================================  =================================================

Everything else is refused. Keys of maps must stay equal to what they were.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from riverrun.serde.basic_types import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from riverrun.serde.check import checker_for, takes_none
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
from riverrun.serde.field_migration import (
    FieldsTypeInfo,
    absent_fields,
    label_of,
    maker_of,
    splitter_of,
)
from riverrun.serde.stand_ins import class_name, class_now, without_stand_ins
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.type_json import (
    UnreadableType,
    type_from_json,
    type_to_json,
)

__all__ = [
    "AfterMigration",
    "AsIs",
    "Compatibility",
    "Incompatible",
    "UnreadableType",
    "resolve",
    "type_from_json",
    "type_to_json",
]

Convert: TypeAlias = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class AsIs:
    """Values and their bytes can be used as they are."""


@dataclasses.dataclass(frozen=True, slots=True)
class AfterMigration:
    """Values must be read with the old type and go through ``convert``."""

    convert: Convert
    equal: bool
    """Whether each value equals what becomes of it, as a key must."""


@dataclasses.dataclass(frozen=True, slots=True)
class Incompatible:
    """The old values cannot be values of the new type; ``reason`` names both."""

    reason: str


Compatibility: TypeAlias = AsIs | AfterMigration | Incompatible


def resolve(old: TypeInformation | None, new: TypeInformation | None) -> Compatibility:
    """What to do with values of the type ``old`` where ``new`` is declared now; None means pickled.

    >>> resolve(BasicTypeInfo(BasicType.INT), BasicTypeInfo(BasicType.INT))
    AsIs()
    >>> resolve(BasicTypeInfo(BasicType.INT), BasicTypeInfo(BasicType.LONG)).equal
    True
    >>> resolve(BasicTypeInfo(BasicType.LONG), BasicTypeInfo(BasicType.INT)).reason
    'state of type Types.LONG() cannot become Types.INT(): numbers would not fit'
    """
    before = PickledBytesTypeInfo() if old is None else old
    after = PickledBytesTypeInfo() if new is None else new
    found = _resolve(before, after, none=takes_none(after))
    if isinstance(found, Incompatible):
        return Incompatible(f"state of type {before!r} cannot become {after!r}: {found.reason}")
    return found


def _resolve(  # noqa: PLR0911 - a table of cases
    old: TypeInformation, new: TypeInformation, *, none: bool
) -> Compatibility:
    """The same for a part of a type; ``none``: None is right at this place, whatever the type."""
    if old == new:
        return AsIs()
    if isinstance(old, ExternalTypeInfo):
        return _changed(_resolve(old.type_info, new, none=none))
    if isinstance(new, ExternalTypeInfo):
        return _changed(_resolve(old, new.type_info, none=none))
    if isinstance(new, PickledBytesTypeInfo):
        # Nothing but this process knows a stand-in, so its values must not get into a pickle.
        return _changed(_resolve(old, without_stand_ins(old), none=True))
    if isinstance(old, PickledBytesTypeInfo):
        return AfterMigration(_checked(OptionalTypeInfo(new) if none else new), equal=True)
    if isinstance(old, OptionalTypeInfo):
        if not none and not isinstance(new, OptionalTypeInfo):
            return Incompatible("None was allowed, and is no longer")
        return _changed(_resolve(old.type_info, new, none=none))
    if isinstance(new, OptionalTypeInfo):
        return _changed(_resolve(old, new.type_info, none=True))
    return _resolve_bare(old, new)


def _resolve_bare(old: TypeInformation, new: TypeInformation) -> Compatibility:  # noqa: PLR0911 - a table of cases
    match old, new:
        case BasicTypeInfo(), BasicTypeInfo():
            return _basic(old.basic_type, new.basic_type)
        case MapTypeInfo(), MapTypeInfo():
            return _map(old, new)
        case TupleTypeInfo(), TupleTypeInfo():
            return _tuple(old, new)
        case ((RowTypeInfo() | NamedTupleTypeInfo() | DataclassTypeInfo()), RowTypeInfo()):
            return _row(old, new)
        case NamedTupleTypeInfo(), NamedTupleTypeInfo():
            return _class(old, new)
        case DataclassTypeInfo(), DataclassTypeInfo():
            return _class(old, new)
        case _ if _is_list(old) and _is_list(new):
            return _list(old, new)
        case _ if _time(old) is not None and _time(old) == _time(new):
            return _UNCHANGED
        case _:
            return Incompatible("they have nothing in common")


def _changed(found: Compatibility) -> Compatibility:
    """The values are the same, but the types are not."""
    return _UNCHANGED if isinstance(found, AsIs) else found


def _itself(value: Any) -> Any:
    return value


_UNCHANGED: Final = AfterMigration(_itself, equal=True)


def _checked(new: TypeInformation) -> Convert:
    check = checker_for(new)

    def convert(value: Any) -> Any:
        check((value,))
        return value

    return convert


_WIDER: Final = (
    BasicType.BYTE,
    BasicType.SHORT,
    BasicType.INT,
    BasicType.LONG,
    BasicType.BIG_INT,
)
_FLOATS: Final = (BasicType.FLOAT, BasicType.DOUBLE)
# A double holds every int of 32 bits, and Types.FLOAT() is kept as a double here.
_EXACT_AS_FLOAT: Final = (BasicType.BYTE, BasicType.SHORT, BasicType.INT)


def _basic(old: BasicType, new: BasicType) -> Compatibility:
    if old in _WIDER and new in _WIDER:
        wider = _WIDER.index(old) < _WIDER.index(new)
        return _UNCHANGED if wider else Incompatible("numbers would not fit")
    if new in _FLOATS and old in _EXACT_AS_FLOAT:
        return AfterMigration(_or_none(float), equal=True)
    if (old, new) in {
        (BasicType.FLOAT, BasicType.DOUBLE),
        (BasicType.CHAR, BasicType.STRING),
    }:
        return _UNCHANGED
    if old in (*_WIDER, *_FLOATS) and new in (*_WIDER, *_FLOATS):
        return Incompatible("numbers would not be exact")
    return Incompatible("they have nothing in common")


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _time(type_info: TypeInformation) -> LocalTimeTypeInfo.TimeType | None:
    match type_info:
        case DateTypeInfo():
            return LocalTimeTypeInfo.TimeType.LOCAL_DATE
        case TimeTypeInfo():
            return LocalTimeTypeInfo.TimeType.LOCAL_TIME
        case TimestampTypeInfo():
            return LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME
        case LocalTimeTypeInfo(time_type):
            return time_type
    return None


_Lists: TypeAlias = ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo | PrimitiveArrayTypeInfo


def _is_list(type_info: TypeInformation) -> bool:
    is_bytes = isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
    return isinstance(type_info, _Lists) and not is_bytes


def _list(old: Any, new: Any) -> Compatibility:
    if isinstance(new, PrimitiveArrayTypeInfo) and not isinstance(old, PrimitiveArrayTypeInfo):
        return Incompatible(
            "elements may be None, which an array of a primitive type does not hold"
        )
    element = _resolve(old.element_type, new.element_type, none=True)
    if isinstance(element, Incompatible):
        return Incompatible(f"elements: {element.reason}")
    convert = _converter(element)
    if convert is _itself:
        return _UNCHANGED
    return AfterMigration(
        _or_none(lambda values: [convert(value) for value in values]), _equal(element)
    )


def _map(old: MapTypeInfo, new: MapTypeInfo) -> Compatibility:
    key = _resolve(old.key_type_info, new.key_type_info, none=True)
    value = _resolve(old.value_type_info, new.value_type_info, none=True)
    match key, value:
        case Incompatible(reason), _:
            return Incompatible(f"keys: {reason}")
        case _, Incompatible(reason):
            return Incompatible(f"values: {reason}")
        case AfterMigration(equal=False), _:
            return Incompatible(
                f"keys: {old.key_type_info!r} would not stay equal as {new.key_type_info!r}"
            )
    key_of, value_of = _converter(key), _converter(value)
    if key_of is value_of is _itself:
        return _UNCHANGED
    return AfterMigration(
        _or_none(lambda found: {key_of(k): value_of(v) for k, v in found.items()}), _equal(value)
    )


def _tuple(old: TupleTypeInfo, new: TupleTypeInfo) -> Compatibility:
    if len(old.field_types) != len(new.field_types):
        return Incompatible(
            f"there were {len(old.field_types)} fields and are {len(new.field_types)}, and fields of "
            f"a tuple have no names"
        )
    found = [
        _resolve(before, after, none=True)
        for before, after in zip(old.field_types, new.field_types, strict=True)
    ]
    for position, part in enumerate(found):
        if isinstance(part, Incompatible):
            return Incompatible(f"field {position}: {part.reason}")
    converters = [_converter(part) for part in found]
    if all(convert is _itself for convert in converters):
        return _UNCHANGED

    def convert(value: Any) -> Any:
        return tuple(step(item) for step, item in zip(converters, value, strict=True))

    return AfterMigration(_or_none(convert), equal=all(map(_equal, found)))


def _converter(found: Compatibility) -> Convert:
    return found.convert if isinstance(found, AfterMigration) else _itself


def _equal(found: Compatibility) -> bool:
    return isinstance(found, AsIs) or (isinstance(found, AfterMigration) and found.equal)


def _row(old: FieldsTypeInfo, new: RowTypeInfo) -> Compatibility:
    both = isinstance(old, RowTypeInfo) and (old.field_names is None) == (new.field_names is None)
    return _by_fields(old, new, equal=both)


_Class: TypeAlias = NamedTupleTypeInfo | DataclassTypeInfo


def _class(old: _Class, new: _Class) -> Compatibility:
    same = class_name(old.cls) == class_name(new.cls)
    if not same and class_now(old.cls) is not None:
        return Incompatible(
            f"{class_name(old.cls)} and {class_name(new.cls)} are different classes"
        )
    return _by_fields(old, new, equal=same)


def _by_fields(old: FieldsTypeInfo, new: FieldsTypeInfo, *, equal: bool) -> Compatibility:
    """Field by field; ``equal``: values are if no field is added, lost or changed."""
    make, split = maker_of(new), splitter_of(old)
    if isinstance(make, str):
        return Incompatible(make)
    places = _places(old, new)
    if old.field_types and not any(place is not None for place in places):
        return Incompatible("no field is in both")
    steps: list[Callable[[Sequence[Any]], Any]] = []
    for position, (place, absent) in enumerate(zip(places, absent_fields(new), strict=True)):
        if place is None:
            if absent is None:
                return Incompatible(
                    f"field {label_of(new, position)} is new, has no default and cannot be None"
                )
            steps.append(_filled(absent))
            continue
        found = _resolve(old.field_types[place], new.field_types[position], none=True)
        if isinstance(found, Incompatible):
            return Incompatible(f"field {label_of(new, position)}: {found.reason}")
        equal = equal and _equal(found)
        steps.append(_taken(place, _converter(found)))

    def convert(value: Any) -> Any:
        values = split(value)
        return make(value, [step(values) for step in steps])

    kept = None not in places and len(places) == len(old.field_types)
    return AfterMigration(_or_none(convert), equal and kept)


def _places(old: FieldsTypeInfo, new: FieldsTypeInfo) -> list[int | None]:
    """Where each new field stands in the old type: by name, or by position where a row has no names."""
    count = len(old.field_types)
    unnamed = any(isinstance(one, RowTypeInfo) and one.field_names is None for one in (old, new))
    if unnamed:
        return [at if at < count else None for at in range(len(new.field_types))]
    known = {name: at for at, name in enumerate(old.get_field_names())}
    return [known.get(name) for name in new.get_field_names()]


def _filled(absent: Callable[[], Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda _values: absent()


def _taken(place: int, convert: Convert) -> Callable[[Sequence[Any]], Any]:
    return lambda values: convert(values[place])
