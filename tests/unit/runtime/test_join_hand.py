"""The records of an interval join that are at hand: what is found, what goes, what is given away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.elements import MAX_WATERMARK
from riverrun.runtime.operators.join_entries import as_list
from riverrun.runtime.operators.join_hand import JoinHand

records = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), max_size=20)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("hold"), records),
        st.tuples(st.just("drop"), st.integers(-1, 8)),
        st.tuples(st.just("take"), st.integers(0, 12)),
    ),
    max_size=12,
)


@given(steps, st.integers(1, 9), st.integers(0, 40), st.integers(0, 40))
def test_what_is_at_hand_is_what_came_and_neither_went_nor_was_given_away(
    sequence: list[tuple[str, Any]], width: int, first: int, last: int
) -> None:
    hand = JoinHand(width)
    model: list[tuple[str, int, int]] = []
    number = 0
    for what, given_to_it in sequence:
        if what == "hold":
            fresh = [(key, time, number + n) for n, (key, time) in enumerate(given_to_it)]
            number += len(fresh)
            model += fresh
            keys, times, values = zip(*fresh, strict=True) if fresh else ((), (), ())
            hand.hold(keys, values, times)
        elif what == "drop":
            hand.drop(given_to_it)
            model = [record for record in model if record[1] // hand.width > given_to_it]
        else:
            pairs = {(time // hand.width, key) for key, time, _ in model}
            taken = [
                (bucket, key, as_list(held))
                for bucket, part in hand.take(given_to_it)
                for key, held in part.items()
            ]
            wide = hand.width // width
            whole = {(bucket // wide, key) for bucket, key, _ in taken}
            assert len(whole) == max(0, len(pairs) - given_to_it)
            for bucket, key, held in taken:
                own = [r for r in model if (r[1] // width, r[0]) == (bucket, key)]
                assert held == sorted([(time, n) for _, time, n in own])
                model = [record for record in model if record not in own]
            assert not whole & {(time // hand.width, key) for key, time, _ in model}
            left = {time // hand.width for _, time, _ in model}
            assert all(bucket >= max(left, default=bucket) for bucket, _ in whole)

        assert all(hand.buckets.values())
        assert hand.count >= len({(time // hand.width, key) for key, time, _ in model})
        for key in "ab":
            expected = [(t, n) for k, t, n in model if k == key and first <= t <= last]
            assert hand.between(key, first, last) == sorted(expected)


@pytest.mark.parametrize("width", [1, 1 << 40])
def test_all_go_at_the_end_of_time(width: int) -> None:
    hand = JoinHand(width)
    hand.hold("abc", "xyz", [-(1 << 63), 0, MAX_WATERMARK])

    hand.drop(MAX_WATERMARK)

    assert (hand.buckets, hand.count) == ({}, 0)
