"""Random types, values of them, and types that these can become."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row
from riverrun.serde.types import (
    BasicArrayTypeInfo,
    DataclassTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    NamedTupleTypeInfo,
    ObjectArrayTypeInfo,
    OptionalTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)


@dataclass
class Pair:
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Point:
    x: Any
    y: Any


class Named(NamedTuple):
    first: Any
    second: Any


BASIC: Final[list[TypeInformation]] = [
    Types.INSTANT() if basic is BasicType.INSTANT else BasicTypeInfo(basic) for basic in BasicType
]
TIMES: Final[list[TypeInformation]] = [
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    *map(LocalTimeTypeInfo, LocalTimeTypeInfo.TimeType),
]
PRIMITIVE: Final = [Types.BYTE(), Types.INT(), Types.DOUBLE(), Types.BOOLEAN()]
KEYS: Final = [Types.STRING(), Types.INT(), Types.BYTE(), Types.CHAR()]
NAMES: Final = ["a", "b", "c", "d"]


def _composite(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    fields = st.lists(inner, min_size=1, max_size=3)
    two = st.lists(inner, min_size=2, max_size=2)
    return st.one_of(
        st.builds(Types.TUPLE, fields),
        st.builds(Types.ROW, fields),
        fields.flatmap(
            lambda types: st.permutations(NAMES).map(
                lambda names: Types.ROW_NAMED(names[: len(types)], types)
            )
        ),
        st.builds(Types.LIST, inner),
        st.builds(Types.OBJECT_ARRAY, inner),
        st.builds(Types.MAP, st.sampled_from(KEYS), inner),
        st.builds(OptionalTypeInfo, inner),
        st.builds(ExternalTypeInfo, inner),
        two.map(lambda types: DataclassTypeInfo(Pair, types)),
        two.map(lambda types: DataclassTypeInfo(Point, types)),
        two.map(lambda types: NamedTupleTypeInfo(Named, types)),
    )


def types() -> st.SearchStrategy[TypeInformation]:
    """Any type."""
    leaves = st.one_of(
        st.sampled_from([*BASIC, *TIMES, Types.PICKLED_BYTE_ARRAY()]),
        st.sampled_from(PRIMITIVE).map(Types.PRIMITIVE_ARRAY),
        st.sampled_from(PRIMITIVE).map(Types.BASIC_ARRAY),
    )
    return st.recursive(leaves, _composite, max_leaves=6)


_BASIC_VALUES: Final[dict[BasicType, st.SearchStrategy[Any]]] = {
    BasicType.STRING: st.text(max_size=3),
    BasicType.BOOLEAN: st.booleans(),
    BasicType.BYTE: st.integers(-128, 127),
    BasicType.SHORT: st.integers(-(2**15), 2**15 - 1),
    BasicType.INT: st.integers(-(2**31), 2**31 - 1),
    BasicType.LONG: st.integers(-(2**63), 2**63 - 1),
    BasicType.FLOAT: st.floats(allow_nan=False),
    BasicType.DOUBLE: st.floats(allow_nan=False),
    BasicType.CHAR: st.text(min_size=1, max_size=1),
    BasicType.BIG_INT: st.integers(),
    BasicType.BIG_DEC: st.just(Decimal("1.50")),
    BasicType.INSTANT: st.just(Instant(1, 2)),
}


def values_of(type_info: TypeInformation) -> st.SearchStrategy[Any]:
    """Values of a type, not None themselves unless the type is optional."""
    for cls, build in _VALUES.items():
        if isinstance(type_info, cls):
            return build(type_info)
    raise AssertionError(type_info)


def _parts(type_info: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(st.none() | values_of(field) for field in type_info.field_types))


def _rows(type_info: RowTypeInfo) -> st.SearchStrategy[Any]:
    def row(values: tuple[Any, ...]) -> Row:
        made = Row(*values)
        made.set_field_names(type_info.field_names)
        return made

    return _parts(type_info).map(row)


def _lists(type_info: Any) -> st.SearchStrategy[Any]:
    return st.lists(st.none() | values_of(type_info.element_type), max_size=2)


def _arrays(type_info: PrimitiveArrayTypeInfo) -> st.SearchStrategy[Any]:
    if type_info.is_bytes:
        return st.binary(max_size=3)
    return st.lists(values_of(type_info.element_type), max_size=2)


def _local(type_info: LocalTimeTypeInfo) -> st.SearchStrategy[Any]:
    match type_info.time_type:
        case LocalTimeTypeInfo.TimeType.LOCAL_DATE:
            return st.just(date(2024, 2, 29))
        case LocalTimeTypeInfo.TimeType.LOCAL_TIME:
            return st.just(time(1, 2))
        case _:
            return st.just(datetime(2024, 2, 29, 1, 2))  # noqa: DTZ001


_VALUES: Final[dict[type[TypeInformation], Callable[[Any], st.SearchStrategy[Any]]]] = {
    BasicTypeInfo: lambda found: _BASIC_VALUES[found.basic_type],
    PickledBytesTypeInfo: lambda _found: st.none() | st.integers() | st.text(max_size=2),
    DateTypeInfo: lambda _found: st.just(date(2024, 2, 29)),
    TimeTypeInfo: lambda _found: st.just(time(1, 2)),
    TimestampTypeInfo: lambda _found: st.just(datetime(2024, 2, 29, 1, 2)),  # noqa: DTZ001
    LocalTimeTypeInfo: _local,
    PrimitiveArrayTypeInfo: _arrays,
    BasicArrayTypeInfo: _lists,
    ObjectArrayTypeInfo: _lists,
    ListTypeInfo: _lists,
    MapTypeInfo: lambda found: st.dictionaries(
        values_of(found.key_type_info), st.none() | values_of(found.value_type_info), max_size=2
    ),
    TupleTypeInfo: _parts,
    RowTypeInfo: _rows,
    NamedTupleTypeInfo: lambda found: _parts(found).map(found.cls._make),
    DataclassTypeInfo: lambda found: _parts(found).map(lambda parts: found.cls(*parts)),
    OptionalTypeInfo: lambda found: st.none() | values_of(found.type_info),
    ExternalTypeInfo: lambda found: values_of(found.type_info),
}


_WIDER: Final = {
    BasicType.BYTE: [BasicType.SHORT, BasicType.LONG, BasicType.FLOAT],
    BasicType.SHORT: [BasicType.INT, BasicType.DOUBLE],
    BasicType.INT: [BasicType.LONG, BasicType.BIG_INT, BasicType.DOUBLE],
    BasicType.LONG: [BasicType.BIG_INT],
    BasicType.FLOAT: [BasicType.DOUBLE],
    BasicType.CHAR: [BasicType.STRING],
}


def later(  # noqa: PLR0911 - a table of cases
    type_info: TypeInformation,
) -> st.SearchStrategy[TypeInformation]:
    """Types that values of a type can become."""
    same = st.just(type_info)
    match type_info:
        case BasicTypeInfo(basic) if basic in _WIDER:
            wider = st.sampled_from(_WIDER[basic]).map(BasicTypeInfo)
            return st.one_of(same, wider, wider.map(OptionalTypeInfo))
        case ListTypeInfo(element) | ObjectArrayTypeInfo(element):
            return later(element).map(Types.LIST)
        case MapTypeInfo(key, value):
            return st.builds(Types.MAP, later(key), later(value))
        case TupleTypeInfo(fields):
            return st.tuples(*map(later, fields)).map(Types.TUPLE)
        case RowTypeInfo(fields, None):
            added = st.lists(st.sampled_from(BASIC), max_size=1)
            return st.builds(
                lambda kept, more: Types.ROW([*kept, *more]), st.tuples(*map(later, fields)), added
            )
        case RowTypeInfo(fields, names):
            return st.tuples(*map(later, fields)).flatmap(lambda kept: _named_rows(names, kept))
        case OptionalTypeInfo(inner):
            return later(inner).map(OptionalTypeInfo)
        case NamedTupleTypeInfo(cls, fields) | DataclassTypeInfo(cls, fields):
            make = type(type_info)
            return st.tuples(*map(later, fields)).map(lambda kept: make(cls, kept))
        case _:
            return same | st.just(Types.PICKLED_BYTE_ARRAY())


def _named_rows(names: Any, kept: Any) -> st.SearchStrategy[TypeInformation]:
    pairs = [*zip(names, kept, strict=True), ("new", Types.STRING())]
    return (
        st.permutations(pairs)
        .map(lambda order: order[: max(2, len(order) - 1)])
        .map(lambda order: Types.ROW_NAMED([n for n, _ in order], [t for _, t in order]))
    )
