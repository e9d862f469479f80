"""What a record costs with more of something: all sizes are measured, and the records are what they claim."""

import pytest

from benchmarks.growth import (
    KEYS,
    OPERATORS,
    Point,
    Sizes,
    chain_lengths,
    growth,
    numbers_of_keys,
)
from benchmarks.many_keys import Visits

TINY = Sizes(1, (), (10, 100), (1, 3), visits=2_048, rounds=1)


def test_each_number_of_keys_and_of_operators_has_a_cost_beside_a_bare_loop() -> None:
    for axis, points, sizes in (
        (KEYS, numbers_of_keys(TINY), TINY.keys),
        (OPERATORS, chain_lengths(TINY), TINY.operators),
    ):
        assert [(point.axis, point.size) for point in points] == [(axis, size) for size in sizes]
        assert all(point.nanoseconds > 0 and point.bare for point in points)


def test_keys_grow_beside_the_bare_loop_and_operators_by_themselves() -> None:
    costs = ((1, 100.0, 50.0), (10, 150.0, 75.0))

    assert growth([Point(KEYS, *cost) for cost in costs]) == 1.0
    assert growth([Point(OPERATORS, *cost) for cost in costs]) == 1.5


def test_all_keys_are_written_before_any_is_visited_and_visits_are_spread() -> None:
    visits = Visits(1_000)

    filled = [visits.map(index) for index in range(1_000)]
    visited = [visits.map(index) for index in range(1_000, 21_000)]

    assert [key for key, _ in filled] == list(range(1_000))
    assert all(number < 0 for _, number in filled)
    assert [number for _, number in visited] == list(range(20_000))
    tenths = [sum(key // 100 == tenth for key, _ in visited) for tenth in range(10)]
    assert tenths == pytest.approx([2_000] * 10, rel=0.1)
