"""Sessions that are held at hand: what the state says of them, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.functions import AggregateFunction
from riverrun.api.triggers import EventTimeTrigger
from riverrun.api.window_assigners import EventTimeSessionWindows
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.operators import folded_sessions
from riverrun.testing.harness import OperatorHarness

BACKENDS = pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
GAP = 10


class Seen(AggregateFunction):
    """The values in the order in which they came, in a list that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: tuple[str, int], accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class AnotherTrigger(EventTimeTrigger[Any]):
    """Says what its parent says; only operators for any trigger take it."""


def sessions(stream: DataStream) -> DataStream:
    windows = EventTimeSessionWindows.with_gap(GAP)
    return stream.key_by(lambda value: value[0]).window(windows).aggregate(Seen())


def sessions_of_another_trigger(stream: DataStream) -> DataStream:
    windows = stream.key_by(lambda value: value[0]).window(EventTimeSessionWindows.with_gap(GAP))
    return windows.trigger(AnotherTrigger()).aggregate(Seen())


@BACKENDS
@pytest.mark.parametrize("after", [sessions, sessions_of_another_trigger])
def test_a_snapshot_of_a_session_that_grew_is_whole_for_any_operator(
    backend: str, after: Callable[[DataStream], DataStream]
) -> None:
    with OperatorHarness(sessions, backend=backend) as harness:
        for number, time in enumerate((20, 25, 12)):
            harness.push(("a", number), time)
        snapshot = harness.snapshot()
        harness.push(("a", 3), 33)
    with OperatorHarness(after, backend=backend, restore=snapshot) as harness:
        harness.watermark(33)
        assert harness.output() == []
        harness.watermark(34)
        assert harness.records() == [((0, 1, 2), 34)]
        assert harness.keys("_window.contents") == []


@BACKENDS
def test_what_comes_after_a_snapshot_is_in_the_next_one(backend: str) -> None:
    with OperatorHarness(sessions, backend=backend) as harness:
        harness.push(("a", 0), 0)
        harness.snapshot()
        harness.push(("a", 1), 5)
        harness.push(("b", 2), 5)
        second = harness.snapshot()
        harness.push(("a", 3), 6)
    with OperatorHarness(sessions, backend=backend, restore=second) as harness:
        harness.end_input()
        assert sorted(harness.output()) == [(0, 1), (2,)]


def test_sessions_that_are_too_many_to_be_at_hand_give_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folded_sessions, "_MOST", 2)
    with OperatorHarness(sessions) as harness:
        for time in (0, 5, 10):
            for key in "abcd":
                harness.push((key, time), time)
        assert len(harness.keys("_window.contents")) == 4
        harness.end_input()
        assert harness.records() == [((0, 5, 10), 19)] * 4


def test_a_second_session_and_one_that_joins_both_are_one_session() -> None:
    with OperatorHarness(sessions) as harness:
        for number, time in enumerate((0, 20, 10)):
            harness.push(("a", number), time)
        harness.push(("a", 3), 29)
        harness.watermark(37)
        assert harness.output() == []
        harness.watermark(38)
        assert harness.records() == [((0, 1, 2, 3), 38)]


def test_a_record_that_is_late_leaves_the_session_at_hand_as_it_is() -> None:
    with OperatorHarness(sessions) as harness:
        harness.push(("a", 0), 50)
        harness.watermark(40)
        harness.push(("a", 1), 25)
        harness.push(("a", 2), 55)
        harness.end_input()
        assert harness.output() == [(0, 2)]
        assert harness.metrics()["numLateRecordsDropped"] == 1
