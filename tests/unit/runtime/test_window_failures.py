"""What goes wrong in windows is told with the operator, the record or timer, and what to do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.triggers import CountTrigger, EventTimeTrigger, ProcessingTimeoutTrigger
from riverrun.api.window_assigner import MergingWindowAssigner, WindowAssigner
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.api.windows import TimeWindow
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream
from riverrun.graph.specs import WindowSpec
from riverrun.runtime.failures import OperatorFailed, describe
from riverrun.runtime.operators.window import MissingTimestamp, NoTriggerResult
from riverrun.runtime.operators.window_merging import MergedIntoThePast, MergingWindowOperator
from riverrun.runtime.operators.window_states import NotMergeable, NoWindowState
from riverrun.testing.harness import OperatorHarness

TEN = TumblingEventTimeWindows.of(10)
SESSIONS = EventTimeSessionWindows.with_gap(10)
KINDS = pytest.mark.parametrize("assigner", [TEN, SlidingEventTimeWindows.of(10, 5), SESSIONS])


class Failing(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        raise ValueError("boom")
        yield


class Quiet(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterable[Any]:
        return ()


class AskingForState(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterable[Any]:
        context.window_state().get_state(ValueStateDescriptor("mine"))
        return ()


class FailingTrigger(EventTimeTrigger[Any]):
    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if element[1] == 3:
            raise ValueError("not this one")
        return super().on_element(element, timestamp, window, ctx)


class Speechless(CountTrigger[Any, Any]):
    def on_element(self, *_: Any) -> Any:
        return None


class Forgetful(EventTimeTrigger[Any]):
    """Merges state that cannot be merged."""

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(ValueStateDescriptor("seen"))


class Shrinking(EventTimeSessionWindows[Any]):
    """Makes windows end earlier by merging them, which no assigner may do."""

    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        found = sorted(windows)
        if len(found) > 1:
            callback.merge(found, TimeWindow(found[0].start, found[0].start + 1))


class ShrinkingByClock(ProcessingTimeSessionWindows[Any]):
    merge_windows = Shrinking.merge_windows


def windows_of(
    assigner: WindowAssigner[Any, Any],
    function: ProcessWindowFunction[Any, Any, Any, Any],
    trigger: Trigger[Any, Any] | None = None,
) -> Callable[[DataStream], DataStream]:
    def build(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda value: value[0]).window(assigner)
        if trigger is not None:
            windowed.trigger(trigger)
        return windowed.process(function).name("my windows")

    return build


@KINDS
def test_a_function_that_raises_at_a_timer_is_told_with_key_window_and_time(
    assigner: WindowAssigner[Any, Any],
) -> None:
    with OperatorHarness(windows_of(assigner, Failing())) as harness:
        harness.push(("k", 1), 5)

        with pytest.raises(OperatorFailed) as caught:
            harness.end_input()

    window = TimeWindow(5, 15) if assigner == SESSIONS else TimeWindow(0, 10)
    timer = f"<event-time timer {window.end - 1} of key 'k' and window {window!r}>"
    assert caught.value.operator == "my windows"
    assert caught.value.record == timer
    assert isinstance(caught.value.__cause__, ValueError)
    assert "boom" in describe(caught.value, task="t", subtask=0).message
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@KINDS
def test_a_trigger_that_raises_is_told_with_the_record(assigner: WindowAssigner[Any, Any]) -> None:
    with (
        OperatorHarness(windows_of(assigner, Quiet(), FailingTrigger())) as harness,
        pytest.raises(OperatorFailed, match=r"'my windows' failed at record \('a', 3\)"),
    ):
        harness.push_run([("a", 2), ("a", 3), ("b", 4)], [1, 2, 3])


@KINDS
def test_a_late_firing_that_raises_is_told_with_the_record(
    assigner: WindowAssigner[Any, Any],
) -> None:
    def build(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda value: value[0]).window(assigner).allowed_lateness(100)
        return windowed.process(Failing()).name("my windows")

    with OperatorHarness(build) as harness:
        harness.watermark(50)
        with pytest.raises(OperatorFailed, match=r"'my windows' failed at record \('a', 3\)"):
            harness.push(("a", 3), 2)


def test_a_trigger_that_says_nothing_is_refused() -> None:
    with (
        OperatorHarness(windows_of(TEN, Quiet(), Speechless(1))) as harness,
        pytest.raises(OperatorFailed) as caught,
    ):
        harness.push(("a", 3), 2)

    assert isinstance(caught.value.__cause__, NoTriggerResult)
    assert str(caught.value.__cause__) == (
        "operator 'my windows': the trigger CountTrigger(1) returned None; expected a TriggerResult, "
        "such as TriggerResult.CONTINUE"
    )


@KINDS
def test_records_without_timestamps_are_refused(assigner: WindowAssigner[Any, Any]) -> None:
    with (
        OperatorHarness(windows_of(assigner, Quiet())) as harness,
        pytest.raises(OperatorFailed) as caught,
    ):
        harness.push(("a", 3))

    cause = caught.value.__cause__
    assert isinstance(cause, MissingTimestamp)
    assert str(cause) == (
        f"operator 'my windows': the record ('a', 3) has no timestamp, and {assigner!r} goes by event "
        f"time; call assign_timestamps_and_watermarks(...) before key_by, or use windows of processing "
        f"time"
    )


def test_windows_that_merge_have_no_state_of_their_own() -> None:
    with OperatorHarness(windows_of(SESSIONS, AskingForState())) as harness:
        harness.push(("a", 3), 1)
        with pytest.raises(OperatorFailed) as caught:
            harness.end_input()

    assert isinstance(caught.value.__cause__, NoWindowState)
    assert "per-window state 'mine' is not allowed with windows that merge" in str(
        caught.value.__cause__
    )


def test_state_that_cannot_be_merged_is_refused() -> None:
    with OperatorHarness(windows_of(SESSIONS, Quiet(), Forgetful())) as harness:
        harness.push(("a", 1), 1)
        with pytest.raises(OperatorFailed, match=r"at record \('a', 3\)") as caught:
            harness.push(("a", 3), 3)

    assert isinstance(caught.value.__cause__, NotMergeable)
    assert "use a ReducingState, an AggregatingState or a ListState" in str(caught.value.__cause__)


def test_windows_that_merge_into_the_past_of_the_watermark_are_refused() -> None:
    with OperatorHarness(windows_of(Shrinking(10), Quiet())) as harness:
        harness.push(("a", 1), 1)
        harness.watermark(5)
        with pytest.raises(OperatorFailed) as caught:
            harness.push(("a", 3), 3)

    assert isinstance(caught.value.__cause__, MergedIntoThePast)
    assert "ends before the current watermark 5" in str(caught.value.__cause__)


def test_windows_that_merge_into_the_past_of_the_clock_are_refused() -> None:
    with OperatorHarness(windows_of(ShrinkingByClock(10), Quiet()), start=100) as harness:
        harness.push(("a", 1))
        harness.advance_clock(5)
        with pytest.raises(OperatorFailed) as caught:
            harness.push(("a", 3))

    assert "ends before the current processing time 105" in str(caught.value.__cause__)


def test_a_trigger_that_cannot_merge_is_refused() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger(1), 5)
    with pytest.raises(ProgramError, match="use a trigger whose can_merge"):
        MergingWindowOperator(WindowSpec(SESSIONS, trigger, None, Quiet()))
