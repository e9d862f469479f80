"""Ranges: parts that are next to each other and leave nothing out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.jdbc.ranges import JdbcNumericBetweenParametersProvider, inner_borders

WHOLE = st.integers(-(10**6), 10**6)


@given(WHOLE, st.integers(0, 10**6), st.integers(1, 20))
def test_pairs_cover_all_numbers_once(low: int, length: int, parts: int) -> None:
    provider = JdbcNumericBetweenParametersProvider(low, low + length).of_batch_num(parts)

    pairs = provider.get_parameter_values()

    assert pairs[0][0] == low
    assert pairs[-1][1] == low + length
    assert all(first <= last for first, last in pairs)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(pairs))
    assert len(pairs) == min(parts, length + 1)


@given(WHOLE, st.integers(0, 1000), st.integers(1, 300))
def test_pairs_of_a_size_are_not_larger(low: int, length: int, size: int) -> None:
    provider = JdbcNumericBetweenParametersProvider(low, low + length).of_batch_size(size)

    assert all(last - first < size for first, last in provider.get_parameter_values())


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0.5, 10.25),
        (date(2026, 1, 1), date(2026, 12, 31)),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
    ],
)
def test_times_and_fractions_have_parts_too(low: float, high: float) -> None:
    borders = inner_borders(low, high, 4)

    assert len(borders) == 3
    assert sorted([low, *borders, high]) == [low, *borders, high]


@pytest.mark.parametrize("make", [lambda p: p.of_batch_num(0), lambda p: p.of_batch_size(0)])
def test_no_parts_at_all_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match="expected 1 or more"):
        make(JdbcNumericBetweenParametersProvider(0, 1))
    with pytest.raises(ValueError, match="not above"):
        JdbcNumericBetweenParametersProvider(1, 0)
