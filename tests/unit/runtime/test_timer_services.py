"""Timers of one operator: set for the current key, fired as the clocks move."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.timer_service import TimeDomain
from riverrun.core.clock import ManualClock
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.timer_services import KeyedTimers, NoKeyForTimer
from riverrun.state.backend import NO_KEY, BackendSettings, KeyedStateBackend
from riverrun.state.backends import create_backend

EVENT, PROCESSING = TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME
Fired = list[tuple[int, Any, Any, TimeDomain]]


class Bench:
    """Timers of a backend in memory, and what they fired."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(1000)
        self.backend: KeyedStateBackend = create_backend(
            "hashmap",
            BackendSettings(
                operator="timers",
                operator_id="ab" * 16,
                subtask=0,
                first_group=0,
                last_group=15,
                max_parallelism=16,
                clock=self.clock,
                folder=folder,
            ),
        )
        self.timers = KeyedTimers(self.clock, self.backend, "test")
        self.fired: Fired = []
        self.then: Callable[[int, Any], None] = lambda _time, _namespace: None

    def fire(self, time: int, key: Any, namespace: Any, domain: TimeDomain) -> None:
        assert self.backend.key == key
        self.fired.append((time, key, namespace, domain))
        self.then(time, namespace)

    def advance(self, watermark: int) -> Fired:
        self.fired = []
        self.timers.advance(watermark, self.fire)
        return self.fired

    def run_due(self, now: int) -> Fired:
        self.fired = []
        self.timers.run_due(now, self.fire)
        return self.fired


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_event_timers_fire_in_time_order_once_the_watermark_is_there(bench: Bench) -> None:
    for key, time in (("b", 30), ("a", 10), ("c", 20), ("a", 40)):
        bench.backend.key = key
        bench.timers.register_event_time_timer(time)
    assert bench.advance(9) == []
    assert bench.advance(30) == [
        (10, "a", None, EVENT),
        (20, "c", None, EVENT),
        (30, "b", None, EVENT),
    ]
    assert bench.advance(MAX_WATERMARK) == [(40, "a", None, EVENT)]
    assert bench.advance(MAX_WATERMARK) == []


def test_a_timer_fires_once_however_often_it_was_set(bench: Bench) -> None:
    bench.backend.key = "a"
    for _ in range(3):
        bench.timers.register_event_time_timer(10)
        bench.timers.register_event(10, "window")
    assert sorted(bench.advance(10), key=repr) == [
        (10, "a", "window", EVENT),
        (10, "a", None, EVENT),
    ]


def test_no_key_is_current_when_all_have_fired(bench: Bench) -> None:
    bench.backend.key = "a"
    bench.timers.register_event_time_timer(10)
    bench.advance(10)
    assert bench.backend.key is NO_KEY


def test_a_timer_set_while_firing_for_a_time_that_has_come_fires_too(bench: Bench) -> None:
    def chain(time: int, _namespace: Any) -> None:
        if time < 50:
            bench.timers.register_event_time_timer(time + 10)

    bench.then = chain
    bench.backend.key = "a"
    bench.timers.register_event_time_timer(10)
    assert [time for time, *_ in bench.advance(35)] == [10, 20, 30]
    assert [time for time, *_ in bench.advance(100)] == [40, 50]


def test_a_timer_for_a_time_already_passed_fires_at_the_next_watermark(bench: Bench) -> None:
    bench.advance(100)
    bench.backend.key = "a"
    bench.timers.register_event_time_timer(50)
    assert bench.fired == []
    assert bench.advance(101) == [(50, "a", None, EVENT)]


def test_functions_that_fire_see_the_new_watermark(bench: Bench) -> None:
    seen = []
    bench.then = lambda _time, _namespace: seen.append(bench.timers.current_watermark())
    assert bench.timers.current_watermark() == MIN_TIMESTAMP
    bench.backend.key = "a"
    bench.timers.register_event_time_timer(10)
    bench.advance(77)
    assert seen == [77]


def test_wall_clock_timers_fire_when_their_millisecond_is_over(bench: Bench) -> None:
    assert bench.timers.due_at() is None
    bench.backend.key = "a"
    bench.timers.register_processing_time_timer(1500)
    bench.timers.register_processing(1400, "window")
    assert bench.timers.due_at() == 1401
    assert bench.run_due(1400) == []
    assert bench.run_due(1401) == [(1400, "a", "window", PROCESSING)]
    assert bench.timers.due_at() == 1501
    assert bench.run_due(5000) == [(1500, "a", None, PROCESSING)]
    assert bench.timers.due_at() is None


def test_the_two_clocks_have_nothing_to_do_with_each_other(bench: Bench) -> None:
    bench.backend.key = "a"
    bench.timers.register_event_time_timer(10)
    bench.timers.register_processing_time_timer(10)
    bench.timers.delete_event_time_timer(10)
    assert bench.advance(MAX_WATERMARK) == []
    assert bench.run_due(1000) == [(10, "a", None, PROCESSING)]
    assert bench.timers.current_processing_time() == 1000


def test_deleted_timers_do_not_fire(bench: Bench) -> None:
    bench.backend.key = "a"
    bench.timers.register_event_time_timer(10)
    bench.timers.register_event(10, "window")
    bench.timers.register_processing_time_timer(10)
    bench.timers.register_processing(10, "window")
    bench.backend.key = "b"
    bench.timers.delete_event_time_timer(10)
    bench.backend.key = "a"
    bench.timers.delete_event(10, "window")
    bench.timers.delete_processing_time_timer(10)
    assert bench.advance(10) == [(10, "a", None, EVENT)]
    assert bench.run_due(11) == [(10, "a", "window", PROCESSING)]
    bench.backend.key = "a"
    bench.timers.register_processing(10, "window")
    bench.timers.delete_processing(10, "window")
    assert bench.run_due(11) == []


def test_a_timer_of_the_same_time_can_still_be_deleted_by_one_before_it(bench: Bench) -> None:
    bench.backend.key = "a"
    bench.timers.register_event(10, "first")
    bench.timers.register_event(10, "second")
    bench.timers.register_event(10, "third")

    def delete(_time: int, namespace: Any) -> None:
        if namespace == "first":
            bench.timers.delete_event(10, "second")

    bench.then = delete
    assert [namespace for _, _, namespace, _ in bench.advance(10)] == ["first", "third"]


def test_a_timer_needs_a_key(bench: Bench) -> None:
    timers = bench.timers
    for use in (
        timers.register_event_time_timer,
        timers.register_processing_time_timer,
        timers.delete_event_time_timer,
        timers.delete_processing_time_timer,
    ):
        with pytest.raises(NoKeyForTimer, match="timer for 5: there is no current key"):
            use(5)
    for use_in in (
        timers.register_event,
        timers.register_processing,
        timers.delete_event,
        timers.delete_processing,
    ):
        with pytest.raises(NoKeyForTimer, match="timer for 5: there is no current key"):
            use_in(5, "window")
