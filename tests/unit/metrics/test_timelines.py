"""Series in bounded memory: what was added is found again, the finer the younger it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from riverrun.metrics.timelines import TIERS, Fold, Tier, TimeLine

SMALL = (Tier(1000, 6), Tier(4000, 5), Tier(12000, 10))
"""Tiers like the real ones, which a test fills quickly."""
MONTH_S = 31 * 24 * 3600

values = st.one_of(st.just(math.nan), st.floats(0, 1e6, width=32))
runs = st.lists(st.tuples(st.integers(1, 9), values), min_size=1, max_size=60)
"""Seconds since the sample before, and what was measured."""


def filled(run: Sequence[tuple[int, float]]) -> tuple[TimeLine, dict[int, float]]:
    """A line with a mean and a maximum, and what each second is to hold."""
    line, expected, now = TimeLine([Fold.MEAN, Fold.MAX], SMALL), dict[int, float](), 1000
    for pause, value in run:
        line.add((now + pause) * 1000 + 400, [value, value])
        held = range(now + 1, now + pause + 1) if expected and pause <= 5 else [now + pause]
        expected |= dict.fromkeys(held, value)
        now += pause
    return line, expected


@given(runs, st.integers(1, 20))
@example([(1, 7.0), *[(9, math.nan)] * 20], 1)
def test_rows_are_means_and_maxima_of_what_was_added(
    run: list[tuple[int, float]], points: int
) -> None:
    line, expected = filled(run)
    samples = line.read([0, 1], begin=0, end=10**9, points=points)
    oldest = (max(expected) // 12 - SMALL[2].points) * 12
    expected = {second: value for second, value in expected.items() if second >= oldest}

    assert len(samples.times) <= points + 1
    for time, (mean, largest) in zip(samples.times, samples.rows.tolist(), strict=True):
        seconds = range(time // 1000, (time + samples.step_ms) // 1000)
        known = [expected[s] for s in seconds if not math.isnan(expected.get(s, math.nan))]
        if known:
            assert min(known) * 0.999 <= mean <= max(known) * 1.001
            assert largest == max(known)
        else:
            assert math.isnan(mean)
            assert math.isnan(largest)


def test_what_is_forgotten_takes_no_room_in_an_answer() -> None:
    line, expected = filled([(1, 7.0), *[(9, 1.0)] * 20])
    samples = line.read([0], begin=0, end=10**9, points=100)

    assert samples.times[0] // 1000 == (max(expected) // 12 - SMALL[2].points) * 12
    assert not np.isnan(samples.rows).any()


@given(runs)
def test_the_newest_seconds_are_there_one_by_one(run: list[tuple[int, float]]) -> None:
    line, expected = filled(run)
    newest = max(expected)
    begin = max(min(expected), newest - SMALL[0].points + 1)
    samples = line.read([1], begin=begin * 1000, end=(newest + 1) * 1000, points=100)

    assert samples.step_ms == 1000
    assert samples.times == tuple(second * 1000 for second in range(begin, newest + 1))
    wanted = [[expected.get(second, math.nan)] for second in range(begin, newest + 1)]
    np.testing.assert_array_equal(samples.rows, np.array(wanted, np.float32))


@given(runs)
def test_a_peak_is_never_lost_while_its_tier_reaches_back(run: list[tuple[int, float]]) -> None:
    line, expected = filled(run)
    oldest = (max(expected) // 12 - SMALL[2].points + 1) * 12
    kept = [v for s, v in expected.items() if s >= oldest and not math.isnan(v)]
    rows = line.read([1], begin=oldest * 1000, end=10**9, points=1).rows

    assert max(kept, default=0.0) <= max(
        (v for v in rows[:, 0].tolist() if not math.isnan(v)), default=0.0
    )


@given(runs, st.integers(0, 60), st.integers(1, 60))
def test_a_part_of_the_time_holds_no_more_than_that_part(
    run: list[tuple[int, float]], begin: int, length: int
) -> None:
    line, _ = filled(run)
    first, last = (1000 + begin) * 1000, (1000 + begin + length) * 1000
    samples = line.read([0], begin=first, end=last, points=1000)

    assert all(first - samples.step_ms < time < last for time in samples.times)
    assert all(b - a == samples.step_ms for a, b in pairwise(samples.times))


def test_seconds_without_a_sample_are_missing_unless_the_gap_is_short() -> None:
    line = TimeLine([Fold.MEAN])
    for second, value in ((10, 1.0), (12, 2.0), (30, 3.0)):
        line.add(second * 1000, [value])
    found = line.read([0], begin=0, end=31_000, points=100).rows[:, 0].tolist()

    assert found[:3] == [1.0, 2.0, 2.0]
    assert [value for value in found if not math.isnan(value)] == [1.0, 2.0, 2.0, 3.0]
    assert len(found) == 21


def test_a_clock_that_goes_back_changes_nothing() -> None:
    line = TimeLine([Fold.MEAN])
    line.add(10_000, [1.0])
    line.add(7_000, [9.0])

    assert line.read([0], begin=0, end=20_000, points=100).rows.tolist() == [[1.0]]


def test_nothing_is_found_in_a_new_line_and_outside_of_what_was_added() -> None:
    line = TimeLine([Fold.MEAN])

    assert line.read([0], begin=0, end=10**6, points=10).times == ()
    line.add(10_000, [1.0])
    assert line.read([0], begin=20_000, end=30_000, points=10).times == ()
    assert line.read([0], begin=0, end=5_000, points=10).times == ()


def test_a_month_of_a_job_with_twenty_vertices_stays_below_a_megabyte() -> None:
    width = 11 + 20 * 6
    line = TimeLine([Fold.MEAN] * width)
    # A sample in ten minutes fills all tiers: each keeps its place for the seconds without one.
    for second in range(0, MONTH_S, 600):
        line.add(second * 1000, [1.0] * width)
    samples = line.read([0], begin=0, end=MONTH_S * 1000, points=300)

    assert line.nbytes < 1_000_000
    assert samples.times[0] == 0
    assert 150 < len(samples.times) <= 301
    assert not np.isnan(samples.rows).any()


def test_a_short_run_takes_little_memory() -> None:
    line = TimeLine([Fold.MEAN] * 131)
    for second in range(30):
        line.add(second * 1000, [1.0] * 131)

    assert line.nbytes < 64_000


def test_each_tier_holds_what_is_open_in_the_next() -> None:
    for finer, coarser in pairwise(TIERS):
        assert coarser.step_ms % finer.step_ms == 0
        assert finer.step_ms * finer.points > coarser.step_ms
