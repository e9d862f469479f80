"""sum, min, max, min_by, max_by over every kind of record."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.aggregations import Aggregation, aggregation
from riverrun.serde.row import Row


class Point(NamedTuple):
    name: str
    x: int


@dataclass(frozen=True)
class Order:
    name: str
    amount: int


def run(kind: Aggregation, position: int | str, *records: Any) -> Any:
    function = pickle.loads(pickle.dumps(aggregation(kind, position)))
    return reduce(function.reduce, records)


@pytest.mark.parametrize(
    ("position", "records", "expected"),
    [
        (0, (1, 2, 3), 6),
        (1, (("a", 1, "x"), ("a", 2, "y")), ("a", 3, "x")),
        (-1, (("a", 1), ("a", 2)), ("a", 3)),
        (1, (["a", 1], ["a", 2]), ["a", 3]),
        (1, (Row("a", 1), Row("a", 2)), Row("a", 3)),
        ("n", (Row(k="a", n=1), Row(k="a", n=2)), Row(k="a", n=3)),
        (1, (Point("a", 1), Point("b", 2)), Point("a", 3)),
        ("x", (Point("a", 1), Point("b", 2)), Point("a", 3)),
        (1, (Order("a", 1), Order("b", 2)), Order("a", 3)),
        ("amount", (Order("a", 1), Order("b", 2)), Order("a", 3)),
    ],
)
def test_a_sum_replaces_the_field_in_the_first_record(
    position: int | str, records: tuple[Any, ...], expected: Any
) -> None:
    first = repr(records[0])

    result = run(Aggregation.SUM, position, *records)

    assert result == expected
    assert type(result) is type(expected)
    assert repr(records[0]) == first


def test_min_and_max_keep_the_other_fields_of_the_first_record() -> None:
    records = (("a", 2, "x"), ("a", 1, "y"), ("a", 3, "z"))

    assert run(Aggregation.MIN, 1, *records) == ("a", 1, "x")
    assert run(Aggregation.MAX, 1, *records) == ("a", 3, "x")


def test_min_by_and_max_by_give_the_whole_record_and_the_first_of_several() -> None:
    records = (("a", 2, "x"), ("a", 1, "y"), ("a", 3, "z"), ("a", 1, "later"), ("a", 3, "later"))

    assert run(Aggregation.MIN_BY, 1, *records) == ("a", 1, "y")
    assert run(Aggregation.MAX_BY, 1, *records) == ("a", 3, "z")


@given(st.lists(st.tuples(st.text(), st.integers()), min_size=1))
def test_aggregations_agree_with_pythons_own(records: list[tuple[str, int]]) -> None:
    assert run(Aggregation.SUM, 1, *records)[1] == sum(n for _, n in records)
    assert run(Aggregation.MAX, 1, *records)[1] == max(n for _, n in records)
    assert run(Aggregation.MIN_BY, 1, *records) == min(records, key=lambda record: record[1])
    assert run(Aggregation.MAX_BY, 1, *records) == max(records, key=lambda record: record[1])


def test_one_function_serves_records_of_several_kinds() -> None:
    function = aggregation(Aggregation.SUM, 1)

    assert function.reduce(("a", 1), ("a", 1)) == ("a", 2)
    assert function.reduce(Order("a", 1), Order("a", 1)) == Order("a", 2)
    assert function.reduce(("a", 1), ("a", 1)) == ("a", 2)


@pytest.mark.parametrize(
    ("position", "record"),
    [
        (1, 5),
        ("x", 5),
        (2, ("a", 1)),
        ("x", ("a", 1)),
        ("y", Point("a", 1)),
        (2, Order("a", 1)),
        ("price", Order("a", 1)),
    ],
)
def test_a_field_that_is_not_there_is_named(position: int | str, record: Any) -> None:
    with pytest.raises(TypeError, match=f"field {position!r} of"):
        run(Aggregation.SUM, position, record, record)
