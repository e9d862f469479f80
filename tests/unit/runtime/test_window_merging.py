"""Windows that become one: where contents stay, what triggers keep, and what is left of the parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.functions import AggregateFunction
from riverrun.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
)
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.triggers import EventTimeTrigger
from riverrun.api.window_assigner import MergingWindowAssigner
from riverrun.api.window_assigners import EventTimeSessionWindows
from riverrun.api.windows import TimeWindow
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.operators.merging_windows import merge_by, merge_times
from riverrun.runtime.operators.window_sessions import sessions_of
from riverrun.testing.harness import OperatorHarness
from tests.oracles.window_scripts import OwnSessions, Show

BACKENDS = pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])


class Total(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + value]

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0]]


SUM = ReducingStateDescriptor("sum", lambda one, two: one + two)
SEEN = ListStateDescriptor("seen")
TOTAL = AggregatingStateDescriptor("total", Total())


class Remembering(EventTimeTrigger[Any]):
    """Keeps state of all kinds that can be merged, and fires when the sum is large."""

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        total, seen, aggregated = self.states(ctx)
        total.add(element[1][0])
        seen.add(element[1][0])
        aggregated.add(element[1][0])
        assert total.get() == sum(seen.get()) == aggregated.get()
        if (total.get() or 0) >= 10:
            return TriggerResult.FIRE
        return super().on_element(element, timestamp, window, ctx)

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        for descriptor in (SUM, SEEN, TOTAL):
            ctx.merge_partitioned_state(descriptor)
        super().on_merge(window, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        for state in self.states(ctx):
            state.clear()
        super().clear(window, ctx)

    def states(self, ctx: Trigger.TriggerContext) -> tuple[Any, Any, Any]:
        total, seen, aggregated = map(ctx.get_partitioned_state, (SUM, SEEN, TOTAL))
        assert isinstance(total, ReducingState)
        assert isinstance(seen, ListState)
        assert isinstance(aggregated, AggregatingState)
        return total, seen, aggregated


@BACKENDS
def test_the_state_of_triggers_merges_with_their_windows(backend: str) -> None:
    def build(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda value: value[0]).window(OwnSessions(10))
        return windowed.trigger(Remembering()).process(Show())

    with OperatorHarness(build, backend=backend) as harness:
        harness.push(("a", (3,)), 0)
        harness.push(("a", (4,)), 15)
        harness.push(("a", (2,)), 40)
        snapshot = harness.snapshot()
    with OperatorHarness(build, backend=backend, restore=snapshot) as harness:
        assert harness.output() == []
        harness.push(("a", (3,)), 8)
        assert harness.output() == [("a", (0, 25), (3, 4, 3))]
        harness.end_input()

        assert harness.output() == [("a", (0, 25), (3, 4, 3)), ("a", (40, 50), (2,))]
        for state in ("sum", "seen", "total"):
            assert harness.keys(f"_window.trigger.{state}") == []


@BACKENDS
def test_contents_stay_where_they_are_while_a_session_grows(backend: str) -> None:
    def build(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda value: value[0])
        return windowed.window(EventTimeSessionWindows.with_gap(10)).process(Show())

    with OperatorHarness(build, backend=backend) as harness:
        for time in (20, 25, 12, 33):
            harness.push(("a", (time,)), time)

        assert harness.keys("_window.contents") == [("a", (20, 30))]
        assert harness.metrics()["numRecordsIn"] == 4
        harness.end_input()
        assert harness.output() == [("a", (12, 43), (20, 25, 12, 33))]


def test_a_record_whose_window_is_there_already_changes_nothing_else() -> None:
    def build(stream: DataStream) -> DataStream:
        sessions = EventTimeSessionWindows.with_dynamic_gap(lambda value: value[2])
        return stream.key_by(lambda value: value[0]).window(sessions).process(Show())

    with OperatorHarness(build) as harness:
        harness.push(("a", (1,), 10), 0)
        harness.push(("a", (2,), 10), 5)
        harness.push(("a", (3,), 15), 0)
        harness.end_input()

        assert harness.output() == [("a", (0, 15), (1, 2, 3))]


class Touching(EventTimeSessionWindows[Any]):
    """Counts how often it is asked."""

    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


SPANS = st.tuples(st.integers(0, 60), st.integers(1, 12)).map(lambda span: (span[0], sum(span)))


@given(st.lists(SPANS, max_size=8), SPANS)
def test_sessions_merge_as_their_assigner_says(
    spans: list[tuple[int, int]], new: tuple[int, int]
) -> None:
    known = _apart(spans)
    wanted = merge_by(Touching(5))(new, known)
    found = merge_times(new, known)

    if new in known:  # the set does not ask then
        return
    assert [(result, sorted(parts)) for result, parts in found] == [
        (result, sorted(parts)) for result, parts in wanted
    ]


@given(st.lists(SPANS, min_size=1, max_size=10))
def test_records_that_come_together_make_the_sessions_that_they_make_one_by_one(
    spans: list[tuple[int, int]],
) -> None:
    items = [(start, end, number) for number, (start, end) in enumerate(spans)]
    found = list(sessions_of(items))

    assert [window for window, _ in found] == _apart(spans)
    assert sorted(number for _, numbers in found for number in numbers) == list(range(len(spans)))
    for (start, end), numbers in found:
        assert numbers == sorted(numbers)
        assert all(start <= spans[number][0] and spans[number][1] <= end for number in numbers)


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans with those joined that touch."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
