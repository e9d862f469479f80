from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.core.errors import InternalError
from riverrun.graph.connections import consumers_of, producers_of
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from tests.unit.graph.conftest import same

ALL_TO_ALL: list[Partitioning] = [
    Hash(same),
    Rebalance(),
    Shuffle(),
    Broadcast(),
    Global(),
    Custom(lambda _key, consumers: consumers - 1, same),
]
sizes = st.integers(1, 40)


@pytest.mark.parametrize("partitioning", ALL_TO_ALL, ids=lambda p: type(p).__name__)
def test_all_other_partitionings_connect_all_to_all(partitioning: Partitioning) -> None:
    assert consumers_of(partitioning, 1, 2, 3) == (0, 1, 2)
    assert producers_of(partitioning, 2, 2, 3) == (0, 1)


def test_forward_connects_equals() -> None:
    assert [consumers_of(Forward(), i, 3, 3) for i in range(3)] == [(0,), (1,), (2,)]
    assert [producers_of(Forward(), i, 3, 3) for i in range(3)] == [(0,), (1,), (2,)]


def test_forward_between_unequal_numbers_is_our_own_mistake() -> None:
    with pytest.raises(InternalError, match="2 producers and 3 consumers"):
        consumers_of(Forward(), 0, 2, 3)
    with pytest.raises(InternalError, match="2 producers and 3 consumers"):
        producers_of(Forward(), 0, 2, 3)


@pytest.mark.parametrize(
    ("producers", "consumers", "expected"),
    [
        (2, 4, [(0, 1), (2, 3)]),
        (4, 2, [(0,), (0,), (1,), (1,)]),
        (2, 5, [(0, 1, 2), (3, 4)]),
        (3, 2, [(0,), (1,), (1,)]),
        (3, 3, [(0,), (1,), (2,)]),
        (1, 3, [(0, 1, 2)]),
    ],
)
def test_rescale_shares_out_as_flink_does(
    producers: int, consumers: int, expected: list[tuple[int, ...]]
) -> None:
    assert [consumers_of(Rescale(), p, producers, consumers) for p in range(producers)] == expected


@settings(deadline=None)
@given(sizes, sizes, st.sampled_from([Rescale(), Rebalance()]))
def test_both_ends_agree_and_nobody_is_alone(
    producers: int, consumers: int, partitioning: Partitioning
) -> None:
    forth = {
        (p, c)
        for p in range(producers)
        for c in consumers_of(partitioning, p, producers, consumers)
    }
    back = {
        (p, c)
        for c in range(consumers)
        for p in producers_of(partitioning, c, producers, consumers)
    }

    assert forth == back
    assert {p for p, _ in forth} == set(range(producers))
    assert {c for _, c in forth} == set(range(consumers))


@settings(deadline=None)
@given(sizes, sizes)
def test_rescale_gives_contiguous_shares_that_differ_by_one_at_most(
    producers: int, consumers: int
) -> None:
    channels = sum(len(consumers_of(Rescale(), p, producers, consumers)) for p in range(producers))
    shares = (
        [consumers_of(Rescale(), p, producers, consumers) for p in range(producers)]
        if producers <= consumers
        else [producers_of(Rescale(), c, producers, consumers) for c in range(consumers)]
    )

    assert channels == max(producers, consumers)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    for share in shares:
        assert all(after == before + 1 for before, after in pairwise(share))
