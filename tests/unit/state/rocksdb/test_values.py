"""Single values as bytes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.serde.check import TypeMismatch
from riverrun.serde.instant import Instant
from riverrun.serde.pickled_runs import UnpicklableValue
from riverrun.serde.row import Row, RowKind
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import DataclassTypeInfo, NamedTupleTypeInfo, OptionalTypeInfo, Types
from riverrun.state.rocksdb.values import ValueCodec
from tests.unit.serde.types_for_tests import types, values_of

PICKLE = 0x80


@dataclasses.dataclass
class Order:
    item: str
    price: float | None


@dataclasses.dataclass
class Special(Order):
    note: str = ""


class Point(NamedTuple):
    x: int
    y: int


ORDER = DataclassTypeInfo(Order, (Types.STRING(), Types.DOUBLE()))
TYPED: list[tuple[TypeInformation, Any]] = [
    (Types.STRING(), "text"),
    (Types.STRING(), None),
    (Types.LONG(), -(2**63)),
    (Types.BOOLEAN(), True),
    (Types.DOUBLE(), 0.1),
    (Types.CHAR(), "x"),
    (Types.BIG_DEC(), Decimal("1.50")),
    (Types.INSTANT(), Instant(5, 7)),
    (Types.SQL_DATE(), dt.date(2026, 2, 28)),
    (Types.SQL_TIME(), dt.time(23, 59, 59, 999_999)),
    (Types.SQL_TIMESTAMP(), dt.datetime(1969, 12, 31, 23, 59, 59, 1)),  # noqa: DTZ001
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2]),
    (Types.LIST(Types.STRING()), ["a", None]),
    (Types.LIST(Types.SQL_DATE()), [dt.date(2026, 1, 1), None]),
    (Types.MAP(Types.STRING(), Types.LIST(Types.LONG())), {"a": [1], "b": None}),
    (Types.MAP(Types.STRING(), Types.LONG()), {}),
    (Types.TUPLE([Types.STRING(), Types.INSTANT()]), ("a", Instant(1))),
    (Types.ROW([Types.LONG(), Types.STRING()]), Row(1, "a")),
    (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), Row(a=1, b=None)),
    (Types.ROW([Types.LONG()]), Row.of_kind(RowKind.DELETE, 1)),
    (ORDER, Order("book", None)),
    (NamedTupleTypeInfo(Point, (Types.LONG(), Types.LONG())), Point(1, 2)),
    (OptionalTypeInfo(ORDER), None),
]


@pytest.mark.parametrize(("type_info", "value"), TYPED, ids=repr)
def test_a_typed_value_comes_back_and_is_not_pickled(
    type_info: TypeInformation, value: Any
) -> None:
    codec = ValueCodec(type_info)

    data = codec.encode(value)

    assert data[0] != PICKLE
    back = codec.decode(data)
    assert back == value
    assert type(back) is type(value)
    assert codec.encode_each([value, value]) == [data, data]
    assert list(codec.decode_each([data, data])) == [value, value]


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.BIG_INT(), 2**80),
        (Types.STRING(), "\ud800"),
        (Types.SQL_TIMESTAMP(), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        (Types.SQL_TIME(), dt.time(1, fold=1)),
        (ORDER, Special("book", 1.0, "signed")),
        (Types.LIST(ORDER), [Special("book", 1.0, "signed")]),
        (Types.PICKLED_BYTE_ARRAY(), {1, 2}),
    ],
    ids=repr,
)
def test_what_the_plain_form_would_not_give_back_is_pickled(
    type_info: TypeInformation, value: Any
) -> None:
    codec = ValueCodec(type_info)

    data = codec.encode(value)

    assert data[0] == PICKLE
    assert codec.decode(data) == value
    assert type(codec.decode(data)) is type(value)
    assert codec.decode(codec.encode_each([value])[0]) == value


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(), st.text(), st.lists(st.floats(allow_nan=False))))
)
def test_untyped_values_come_back_together(values: list[Any]) -> None:
    codec = ValueCodec(None)

    assert codec.decode_all(codec.encode_all(values)) == values


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_many_values_are_encoded_and_decoded_like_each_of_them(data: st.DataObject) -> None:
    type_info = data.draw(types())
    one = values_of(type_info).filter(lambda value: value is not None)
    values = data.draw(st.lists(one, max_size=4))
    codec = ValueCodec(type_info)
    encoded = codec.encode_each(values)
    assert encoded == [codec.encode(value) for value in values]
    assert repr(list(codec.decode_each(encoded))) == repr(list(map(codec.decode, encoded)))


def test_an_int_of_a_float_type_comes_back_as_a_float() -> None:
    codec = ValueCodec(Types.DOUBLE())

    back = codec.decode(codec.encode(3))

    assert (back, type(back)) == (3.0, float)


def test_a_value_of_another_type_is_refused() -> None:
    codec = ValueCodec(Types.LONG())

    for encode in (codec.encode, codec.check, lambda value: codec.encode_each([1, value])):
        with pytest.raises(TypeMismatch):
            encode("one")


def test_a_value_that_cannot_be_pickled_is_refused() -> None:
    with pytest.raises(UnpicklableValue):
        ValueCodec(None).encode(threading.Lock())


def test_bytes_of_a_typed_value_are_refused_where_no_type_is_known() -> None:
    data = ValueCodec(Types.LONG()).encode(1)

    with pytest.raises(ValueError, match="no type is known"):
        ValueCodec(None).decode(data)
