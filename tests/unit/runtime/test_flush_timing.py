"""When what waits in an edge's buffers leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.runtime.buffers import FlushTiming


def flush_at(timing: FlushTiming, now: float) -> None:
    timing.deadline(now, busy=False)
    timing.flushed()


def test_the_first_record_after_a_pause_leaves_at_once() -> None:
    timing = FlushTiming(10.0, channels=2)
    flush_at(timing, 100.0)

    assert timing.deadline(500.0, busy=False) == 500.0


@pytest.mark.parametrize(
    ("timeout_ms", "channels", "apart_ms"),
    [
        (10.0, 1, 2.0),  # a fifth of the timeout
        (10.0, 2, 3.0),  # one and a half for each channel
        (10.0, 64, 10.0),  # never more than the timeout
        (100.0, 2, 20.0),
        (1.0, 2, 1.0),
        (0.0, 2, 0.0),
    ],
)
def test_flushes_of_an_idle_task_are_so_far_apart(
    timeout_ms: float, channels: int, apart_ms: float
) -> None:
    timing = FlushTiming(timeout_ms, channels)
    flush_at(timing, 100.0)

    assert timing.deadline(100.0, busy=False) == 100.0 + apart_ms


def test_a_busy_task_waits_five_timeouts_from_its_first_record_on() -> None:
    timing = FlushTiming(10.0, channels=2)
    flush_at(timing, 100.0)

    timing.deadline(104.0, busy=True)

    assert timing.deadline(120.0, busy=True) == 154.0


def test_without_a_timeout_only_full_frames_leave() -> None:
    timing = FlushTiming(-1.0, channels=2)

    assert timing.deadline(100.0, busy=False) is None
    assert timing.deadline(100.0, busy=True) is None


@given(
    st.floats(0, 1_000),
    st.integers(1, 1_000),
    st.lists(st.floats(0, 100), min_size=1, max_size=20),
)
def test_no_record_waits_longer_than_the_timeout_in_an_idle_task(
    timeout_ms: float, channels: int, gaps: list[float]
) -> None:
    timing = FlushTiming(timeout_ms, channels)
    now = 0.0
    for gap in gaps:
        now += gap
        due = timing.deadline(now, busy=False)
        assert due is not None
        assert now <= due <= now + timeout_ms
        flush_at(timing, due)
        now = due
