"""Segments of an arena: what is taken never overlaps, and what is given back is used again."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from riverrun.spark.worker.segments import PAGE, Segment, Segments

END = 40 * PAGE
STEPS = st.lists(st.one_of(st.integers(1, 12 * PAGE), st.none()), max_size=60)


@given(STEPS, st.randoms())
def test_what_is_taken_never_overlaps_and_stays_inside(
    steps: list[int | None], chance: Random
) -> None:
    segments = Segments(END)
    held: list[Segment] = []
    for size in steps:
        if size is not None:
            segment = segments.take(size, target=chance.randrange(3))
            if segment is not None:
                assert segment.size == size
                held.append(segment)
        elif held:
            segments.give_back([held.pop(chance.randrange(len(held))).number])

        for target in range(3):
            theirs = sum(each.size for each in held if each.target == target)
            assert segments.held_by(target) == theirs
        held.sort()
        assert segments.taken == tuple(held)
        assert len({each.number for each in held}) == len(held)
        assert all(each.offset % PAGE == 0 and each.offset >= PAGE for each in held)
        assert all(each.offset + each.size <= END for each in held)
        assert all(one.offset + one.size <= other.offset for one, other in pairwise(held))


@given(st.lists(st.integers(1, 5 * PAGE), min_size=1, max_size=30))
def test_new_bytes_are_touched_only_right_after_old_ones(sizes: list[int]) -> None:
    segments = Segments(END)
    touched = PAGE
    for number, size in enumerate(sizes):
        segment = segments.take(size)
        if segment is None:
            continue
        assert segment.offset <= -(-touched // PAGE) * PAGE
        touched = max(touched, segment.offset + size)
        if number % 3:
            segments.give_back([segment.number])


def test_frames_that_are_given_back_at_once_lie_in_the_same_bytes() -> None:
    segments = Segments(END)
    places = set()
    for _ in range(100):
        segment = segments.take(3 * PAGE)
        assert segment is not None
        places.add(segment.offset)
        segments.give_back([segment.number])

    assert places == {PAGE}


def test_without_room_there_is_no_segment() -> None:
    segments = Segments(END)

    assert segments.take(END - PAGE) is not None
    assert segments.take(1) is None
