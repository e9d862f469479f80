"""Expressions over columns: the same values for a run of columns and for each of its records."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.columns import Column, ColumnKey, Field, col, column_key, millis_of, times_of
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.errors import ProgramError
from riverrun.serde.columns import layout_of
from riverrun.serde.row import Row
from riverrun.serde.types import Types

PAIR = Types.ROW_NAMED(["a", "b", "t"], [Types.LONG(), Types.DOUBLE(), Types.STRING()])

EXPRESSIONS: list[Callable[[Column, Column], Column]] = [
    lambda a, b: a + b,
    lambda a, b: a - 2 * b,
    lambda a, b: 1 - a,
    lambda a, b: (a < b) & (a != 2),
    lambda a, b: (a <= b) | b.is_null(),
    lambda a, b: ~(a == 1) | (b >= 0.5),
    lambda a, b: (a > b) & a.is_null(),
    lambda a, b: a / 2,
]


@given(
    pairs=st.lists(
        st.tuples(
            st.none() | st.integers(-3, 3),
            st.none() | st.integers(-4, 4).map(lambda half: half / 2),
        ),
        max_size=10,
    ),
    make=st.sampled_from(EXPRESSIONS),
)
@settings(max_examples=100, deadline=None)
def test_an_expression_is_the_same_for_columns_and_for_records(
    pairs: list[tuple[int | None, float | None]], make: Callable[[Column, Column], Column]
) -> None:
    rows = [Row(a=a, b=b, t=None) for a, b in pairs]
    expression = pickle.loads(pickle.dumps(make(col("a"), col("b"))))
    layout = layout_of(PAIR)
    assert layout is not None

    found = expression.of(layout.run_of(rows)).to_pylist()

    assert found == [expression(row) for row in rows]
    assert expression.names() <= {"a", "b"}


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    customer: str
    amount: int


@pytest.mark.parametrize(
    ("column", "record", "expected"),
    [
        (col("f1"), (1, 2), 2),
        (col(0), (1, 2), 1),
        (col("y"), Point(3, 4), 4),
        (col("amount"), Order("a", 5), 5),
        (col(0), Order("a", 5), "a"),
        (col("value"), 7, 7),
        (col("b"), Row(a=1, b=2), 2),
    ],
)
def test_a_column_of_one_record(column: Field, record: Any, expected: Any) -> None:
    assert column(record) == expected


def test_a_record_without_the_column_is_refused() -> None:
    with pytest.raises(TypeError, match=r"col\('z'\).*Order.*amount"):
        col("z")(Order("a", 1))


@pytest.mark.parametrize("name", [True, None, 1.5])
def test_a_column_has_a_name_or_a_position(name: Any) -> None:
    with pytest.raises(TypeError, match="name or the position"):
        col(name)


def test_an_expression_is_not_true_or_false_by_itself() -> None:
    with pytest.raises(TypeError, match="join conditions with &"):
        bool((col("a") > 1) and (col("b") > 1))


def test_keys_know_their_columns() -> None:
    key = ColumnKey((Field("a"), Field("b")))
    assert key.get_key(Row(a=1, b=2)) == (1, 2)
    assert column_key(key.get_key) is key
    assert column_key(col("a")) is not None
    assert column_key(lambda value: value) is None


NOON = datetime(2024, 5, 1, 12, 0, 0, 250_999, tzinfo=UTC)
NOON_MS = 1_714_564_800_250


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([5, 6], pa.int32()), [5, 6]),
        (pa.array([NOON], pa.timestamp("us", "UTC")), [NOON_MS]),
        (pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us")), [NOON_MS]),
        (pa.array([date(1970, 1, 2)]), [86_400_000]),
        (pa.array([NOON.replace(year=1960, tzinfo=None)], pa.timestamp("us")), None),
    ],
)
def test_event_times_of_columns_are_those_of_their_values(
    column: pa.Array, expected: list[int] | None
) -> None:
    found = list(times_of(column))
    assert found == [millis_of(value) for value in column.to_pylist()]
    assert expected is None or found == expected


def test_a_datetime_with_a_zone_is_an_instant() -> None:
    assert millis_of(NOON.astimezone(timezone(timedelta(hours=5)))) == NOON_MS


@pytest.mark.parametrize(
    ("column", "said"), [(pa.array([1, None]), "1 nulls"), (pa.array(["x"]), "whole numbers")]
)
def test_columns_that_are_no_times_are_refused(column: pa.Array, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        times_of(column)


def test_a_column_can_assign_timestamps() -> None:
    for strategy in (
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("at"),
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col("at")),
    ):
        assigner: Any = strategy.timestamp_assigner
        assert assigner(Row(at=7), -1) == 7


def test_an_unknown_column_is_a_mistake_of_the_program() -> None:
    layout = layout_of(PAIR)
    assert layout is not None
    with pytest.raises(ProgramError, match=r"no column 'c'.*\['a', 'b', 't'\]"):
        col("c").of(layout.run_of([]))
