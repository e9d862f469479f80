"""Arrow arrays of made-up values: from what a field may hold, and the draws of its values."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from riverrun.connectors.generated.draws import Draws, Longs
from riverrun.connectors.generated.fields import (
    FLOATS,
    INTEGERS,
    LISTS,
    TEXTS,
    RandomField,
    SequenceField,
    basic_type,
)
from riverrun.serde.arrow_columns import big_decimal_column, big_int_column
from riverrun.serde.basic_types import BasicType
from riverrun.serde.collection_types import MapTypeInfo, PrimitiveArrayTypeInfo
from riverrun.serde.columns import layout_of, plain_type
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.time_types import DateTypeInfo, LocalTimeTypeInfo, TimeTypeInfo
from riverrun.serde.type_info import TypeInformation

MakeArray: TypeAlias = Callable[[Draws], pa.Array]

_DEFAULT_LENGTH: Final = 100
_DEFAULT_ELEMENTS: Final = 3
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_DAY_US: Final = 86_400_000_000
# Which of the random numbers of a value are for what.
_NULL, _LENGTH, _VALUE = 0, 1, 2


def random_maker(field: RandomField) -> MakeArray:
    """What makes arrays of the field's values, in the form that columns of its type have."""
    make = _plain_maker(field)
    rate = field.null_rate
    if not rate:
        return make

    def with_nulls(draws: Draws) -> pa.Array:
        array = make(draws)
        nulls = pa.array(draws.fractions(_NULL) < rate)
        return pc.if_else(nulls, pa.scalar(None, array.type), array)

    return with_nulls


def sequence_array(field: SequenceField, indices: Longs) -> pa.Array:
    """The numbers of a sequence in the records with these indices."""
    numbers = indices + np.int64(field.start)
    kind = basic_type(field.type_info)
    if kind is BasicType.BIG_INT:
        return big_int_column().to_array(numbers.tolist())
    if kind is BasicType.BIG_DEC:
        return big_decimal_column().to_array([Decimal(each) for each in numbers.tolist()])
    return pa.array(numbers).cast(_arrow_type(field.type_info))


def _plain_maker(field: RandomField) -> MakeArray:
    plain = plain_type(field.type_info)
    kind = basic_type(plain)
    if kind is not None:
        return _basic_maker(field, kind)
    if isinstance(plain, PrimitiveArrayTypeInfo) and plain.is_bytes:
        return _texts(field, pa.binary(), _bytes)
    if isinstance(plain, LISTS):
        return _lists(field)
    if isinstance(plain, MapTypeInfo):
        return _maps(field)
    parts = field.parts()
    return _structs(plain, parts) if parts else _times(field, plain)


def _basic_maker(field: RandomField, kind: BasicType) -> MakeArray:
    if kind in FLOATS:
        return _floats(field)
    if kind in INTEGERS or kind is BasicType.BIG_DEC:
        return _numbers(field, kind)
    if kind in TEXTS:
        return _texts(field, pa.string(), _letters, length=1 if kind is BasicType.CHAR else None)
    if kind is BasicType.BOOLEAN:
        return lambda draws: pa.array((draws.bits(_VALUE) & np.uint64(1)).astype(np.bool_))
    return _instants(field)


def _numbers(field: RandomField, kind: BasicType) -> MakeArray:
    low, high = field.range()
    if kind is BasicType.BIG_DEC:
        first, last = int(Decimal(low).scaleb(field.scale)), int(Decimal(high).scaleb(field.scale))
        decimals, shift = big_decimal_column(), -field.scale
        return lambda draws: decimals.to_array(
            [Decimal(n).scaleb(shift) for n in draws.between(_VALUE, first, last).tolist()]
        )
    first, last = int(low), int(high)
    if kind is BasicType.BIG_INT:
        big = big_int_column()
        return lambda draws: big.to_array(draws.between(_VALUE, first, last).tolist())
    arrow_type = _arrow_type(field.type_info)
    return lambda draws: pa.array(draws.between(_VALUE, first, last)).cast(arrow_type)


def _floats(field: RandomField) -> MakeArray:
    low, high = map(float, field.range())

    def make(draws: Draws) -> pa.Array:
        fractions = draws.fractions(_VALUE)
        # Not low + fraction * span: the span of all doubles is no double.
        return pa.array(low * (1.0 - fractions) + high * fractions)

    return make


def _texts(
    field: RandomField,
    arrow_type: pa.DataType,
    characters: Callable[[Draws, int], Any],
    length: int | None = None,
) -> MakeArray:
    longest = length or (_DEFAULT_LENGTH if field.length is None else field.length)
    varies = field.var_len and longest > 1

    def make(draws: Draws) -> pa.Array:
        size = len(draws.ids)
        matrix = characters(draws, longest)[:, :longest]
        sizes = _sizes(draws, longest, varies=varies)
        if varies:
            matrix = matrix[np.arange(longest) < sizes[:, None]]
        offsets = np.zeros(size + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        data = pa.py_buffer(np.ascontiguousarray(matrix).tobytes())
        return pa.Array.from_buffers(arrow_type, size, [None, pa.py_buffer(offsets), data])

    return make


def _letters(draws: Draws, length: int) -> Any:
    data = _bytes(draws, (length + 1) // 2)
    return np.stack([_HEX[data >> 4], _HEX[data & 15]], axis=-1).reshape(len(data), -1)


def _bytes(draws: Draws, length: int) -> Any:
    words = draws.words((length + 7) // 8)
    return words.astype("<u8").view(np.uint8).reshape(len(words), -1)


def _sizes(draws: Draws, longest: int, *, varies: bool) -> Longs:
    if varies:
        return draws.between(_LENGTH, 1, longest)
    return np.full(len(draws.ids), longest, np.int64)


def _lists(field: RandomField) -> MakeArray:
    (element,) = map(random_maker, field.parts())
    arrow_type = _arrow_type(field.type_info)
    longest = _DEFAULT_ELEMENTS if field.length is None else field.length
    varies = field.var_len and longest > 1

    def make(draws: Draws) -> pa.Array:
        sizes = _sizes(draws, longest, varies=varies)
        return _list_array(arrow_type, sizes, element(draws.elements(sizes)))

    return make


def _maps(field: RandomField) -> MakeArray:
    key, value = map(random_maker, field.parts())
    arrow_type = _arrow_type(field.type_info)
    longest = _DEFAULT_ELEMENTS if field.length is None else field.length
    varies = field.var_len and longest > 1

    def make(draws: Draws) -> pa.Array:
        sizes = _sizes(draws, longest, varies=varies)
        pairs = draws.elements(sizes)
        arrays = [key(pairs.part(0)), value(pairs.part(1))]
        flat = pa.StructArray.from_arrays(arrays, fields=list(arrow_type.value_type))
        return _list_array(arrow_type, sizes, flat)

    return make


def _list_array(arrow_type: pa.DataType, sizes: Longs, flat: pa.Array) -> pa.Array:
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), flat, type=arrow_type)


def _structs(type_info: TypeInformation, parts: list[RandomField]) -> MakeArray:
    makers = [random_maker(part) for part in parts]
    layout = layout_of(type_info)
    assert layout is not None  # noqa: S101  (asked when the field was described)
    fields = list(layout.schema)
    has_kind = isinstance(type_info, RowTypeInfo)

    def make(draws: Draws) -> pa.Array:
        arrays = [maker(draws.part(place)) for place, maker in enumerate(makers)]
        if has_kind:
            arrays.append(pa.array(np.zeros(len(draws.ids), np.int8)))
        return pa.StructArray.from_arrays(arrays, fields=fields)

    return make


def _times(field: RandomField, plain: TypeInformation) -> MakeArray:
    past = field.max_past_us()
    kind = plain.time_type if isinstance(plain, LocalTimeTypeInfo) else None
    of_day = isinstance(plain, TimeTypeInfo) or kind is LocalTimeTypeInfo.TimeType.LOCAL_TIME
    days = isinstance(plain, DateTypeInfo) or kind is LocalTimeTypeInfo.TimeType.LOCAL_DATE

    def make(draws: Draws) -> pa.Array:
        if of_day:
            return pa.array(draws.between(_VALUE, 0, _DAY_US - 1)).cast(pa.time64("us"))
        times = draws.times_us - draws.between(_VALUE, 0, past)
        if days:
            return pa.array((times // _DAY_US).astype(np.int32)).cast(pa.date32())
        return pa.array(times).cast(pa.timestamp("us"))

    return make


def _instants(field: RandomField) -> MakeArray:
    past = field.max_past_us()
    arrow_type = _arrow_type(field.type_info)

    def make(draws: Draws) -> pa.Array:
        times = draws.times_us - draws.between(_VALUE, 0, past)
        seconds, rest = np.divmod(times, 1_000_000)
        nanos = (rest * 1000).astype(np.int32)
        return pa.StructArray.from_arrays(
            [pa.array(seconds), pa.array(nanos)], fields=list(arrow_type)
        )

    return make


def _arrow_type(type_info: TypeInformation) -> Any:
    layout = layout_of(type_info)
    assert layout is not None  # noqa: S101  (asked when the field was described)
    return layout.columns[0].arrow_type
