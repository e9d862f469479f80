import pickle
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple

import pytest

from riverrun.serde.check import TypeMismatch, checker_for
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row
from riverrun.serde.types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    TypeInformation,
    Types,
)


@dataclass
class Order:
    customer: str
    amount: int


@dataclass
class RushOrder(Order):
    hours: int = 1


class Point(NamedTuple):
    x: float
    y: float


class Level(IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


class Loud:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


ORDER = DataclassTypeInfo(Order, [Types.STRING(), Types.INT()])
POINT = NamedTupleTypeInfo(Point, [Types.DOUBLE(), Types.DOUBLE()])
NAMED = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
PAIR = Types.TUPLE([Types.INT(), Types.STRING()])
LOCAL_TIME = LocalTimeTypeInfo.TimeType.LOCAL_TIME
NAIVE = datetime(2024, 1, 2, 3)  # noqa: DTZ001 - a value without a zone is what is tested


@pytest.mark.parametrize(
    ("type_info", "values"),
    [
        (Types.BYTE(), [-128, 127, None]),
        (Types.SHORT(), [-(2**15), 2**15 - 1]),
        (Types.INT(), [-(2**31), 2**31 - 1, Level.LOW]),
        (Types.LONG(), [-(2**63), 2**63 - 1, None, 0]),
        (Types.BIG_INT(), [10**100, -(10**100), None]),
        (Types.FLOAT(), [1.5, 1, None, float("nan")]),
        (Types.DOUBLE(), [1e308, 2**70, float("inf")]),
        (Types.BOOLEAN(), [True, False, None]),
        (Types.STRING(), ["", "é", "\ud800", Name("n"), None]),
        (Types.CHAR(), ["a", "é", None]),
        (Types.BIG_DEC(), [Decimal("1.50"), None]),
        (Types.INSTANT(), [Instant(1, 2), None]),
        (Types.SQL_DATE(), [date(2024, 1, 1), None]),
        (Types.SQL_TIME(), [time(1), None]),
        (Types.SQL_TIMESTAMP(), [NAIVE, None]),
        (LocalTimeTypeInfo(LOCAL_TIME), [time(1), None]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"", bytearray(b"a"), None]),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [[], [1, 2]]),
        (Types.BASIC_ARRAY(Types.STRING()), [["a", None]]),
        (Types.OBJECT_ARRAY(PAIR), [[(1, "a"), None]]),
        (Types.LIST(Types.LIST(Types.INT())), [[], [[], None, [1, None]]]),
        (Types.MAP(Types.STRING(), Types.INT()), [{}, {"a": 1, None: None}]),
        (PAIR, [(1, "a"), (None, None)]),
        (Types.TUPLE([]), [(), ()]),
        (Types.TUPLE([PAIR, PAIR]), [((1, "a"), None)]),
        (Types.TUPLE([Types.INT()] * 6), [(1, 2, 3, 4, 5, 6)]),
        (Types.TUPLE([Types.DOUBLE(), Types.DOUBLE()]), [Point(1, 2), (1.0, 2.0)]),
        (POINT, [Point(1, 2)]),
        (ORDER, [Order("a", 1), RushOrder("b", 2), Order("c", None)]),  # type: ignore[arg-type]
        (Types.ROW([Types.INT()]), [Row(1), Row(None), Row(x=1)]),
        (NAMED, [Row(1, "x"), Row(a=1, b="x"), Row(b="x", a=1)]),
        (OptionalTypeInfo(ORDER), [None, Order("a", 1)]),
        (ExternalTypeInfo(Types.INT()), [1, None]),
        (Types.PICKLED_BYTE_ARRAY(), [frozenset(), None]),
    ],
    ids=repr,
)
def test_values_of_the_type_pass(type_info: TypeInformation, values: list[Any]) -> None:
    check = checker_for(type_info)

    check(values)
    check(values * 3)
    for value in values:
        check([value])
    check([])


LISTS = Types.LIST(Types.TUPLE([Types.INT(), Types.MAP(Types.STRING(), Types.DOUBLE())]))


@pytest.mark.parametrize(
    ("type_info", "value", "path"),
    [
        (Types.BYTE(), 128, ""),
        (Types.SHORT(), -(2**15) - 1, ""),
        (Types.INT(), 2**31, ""),
        (Types.LONG(), 2**63, ""),
        (Types.LONG(), True, ""),
        (Types.LONG(), 1.0, ""),
        (Types.LONG(), "1", ""),
        (Types.BIG_INT(), False, ""),
        (Types.DOUBLE(), 10**400, ""),
        (Types.DOUBLE(), True, ""),
        (Types.DOUBLE(), Decimal(1), ""),
        (Types.BOOLEAN(), 1, ""),
        (Types.STRING(), b"bytes", ""),
        (Types.CHAR(), "ab", ""),
        (Types.CHAR(), "", ""),
        (Types.BIG_DEC(), 1, ""),
        (Types.SQL_DATE(), NAIVE, ""),
        (Types.SQL_TIMESTAMP(), date(2024, 1, 1), ""),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "text", ""),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [1, None], "[1]"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), None, ""),
        (PAIR, (1, 2), "[1]"),
        (PAIR, (1,), ""),
        (PAIR, (1, "a", "b"), ""),
        (PAIR, [1, "a"], ""),
        (PAIR, "ab", ""),
        (PAIR, None, ""),
        (Types.LIST(Types.INT()), None, ""),
        (Types.LIST(Types.INT()), (1, 2), ""),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, 2: 3}, ".keys()[1]"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": "x"}, "['b']"),
        (LISTS, [(1, {}), None, (2, {"k": 1, "l": "x"})], "[2][1]['l']"),
        (POINT, Point("x", 1.0), ".x"),  # type: ignore[arg-type]
        (POINT, (1.0, 2.0), ""),
        (ORDER, Order("a", "b"), ".amount"),  # type: ignore[arg-type]
        (ORDER, {"customer": "a"}, ""),
        (NAMED, Row(1, 2), ".b"),
        (NAMED, Row(a=1, c="x"), ""),
        (NAMED, Row(1), ""),
        (NAMED, (1, "x"), ""),
        (Types.ROW([Types.INT()]), Row("x"), "[0]"),
        (OptionalTypeInfo(ORDER), "x", ""),
        (ExternalTypeInfo(Types.INT()), "x", ""),
        (Types.TUPLE([ORDER]), (Order(1, 1),), "[0].customer"),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_another_value_is_named_with_its_place(
    type_info: TypeInformation, value: Any, path: str
) -> None:
    with pytest.raises(TypeMismatch) as caught:
        checker_for(type_info)([value])

    assert (caught.value.path, caught.value.index) == (path, 0)


def test_the_index_is_that_of_the_record_in_the_run() -> None:
    nested = Types.TUPLE([Types.LIST(PAIR)])
    values: list[Any] = [([],), (None,), ([(1, "a"), None],), ([None, (2, "b"), ("x", "c")],)]

    with pytest.raises(TypeMismatch) as caught:
        checker_for(nested)(values)

    assert (caught.value.index, caught.value.path) == (3, "[0][2][0]")


def test_the_message_says_what_was_expected_where_and_what_was_found() -> None:
    with pytest.raises(TypeMismatch) as caught:
        checker_for(PAIR)([(1, "a"), (2, 3)])

    assert str(caught.value) == (
        "expected a str (Types.STRING()) at [1], found 3 of class int in record 1 of the run; "
        "return a value of the declared type or declare another type"
    )


def test_a_long_value_is_shortened_and_a_failing_repr_does_not_hide_the_error() -> None:
    with pytest.raises(TypeMismatch) as caught:
        checker_for(Types.INT())(["x" * 10_000])
    assert len(str(caught.value)) < 500

    with pytest.raises(TypeMismatch, match="class Loud whose repr fails"):
        checker_for(Types.INT())([Loud()])


def test_a_mismatch_survives_pickle() -> None:
    error = TypeMismatch("a str", "3 of class int", "[1]", 7)

    copied = pickle.loads(pickle.dumps(error))

    assert str(copied) == str(error)
    assert (copied.expected, copied.value_repr, copied.path, copied.index) == (
        "a str",
        "3 of class int",
        "[1]",
        7,
    )


def test_a_type_of_someone_elses_is_refused() -> None:
    class Strange(TypeInformation):
        pass

    with pytest.raises(TypeError, match="not a type that riverrun knows"):
        checker_for(Strange())
