"""Triggers: when they fire, which timers they set, what they forget."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.delta import DeltaFunction
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    Min,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from riverrun.api.windows import GlobalWindow, TimeWindow
from riverrun.core.time import Time
from riverrun.protocol.elements import MAX_WATERMARK
from tests.unit.api.fake_windows import FakeTriggerContext

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, BOTH = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE
WINDOW = TimeWindow(0, 100)


@pytest.fixture
def ctx() -> FakeTriggerContext:
    return FakeTriggerContext(WINDOW)


def added(
    trigger: Trigger[Any, Any], ctx: FakeTriggerContext, timestamp: int = 0, element: Any = "x"
) -> TriggerResult:
    return trigger.on_element(element, timestamp, ctx.window, ctx)


def test_event_time_fires_when_the_watermark_passes_the_end(ctx: FakeTriggerContext) -> None:
    trigger = EventTimeTrigger.create()

    assert added(trigger, ctx, 5) is CONTINUE
    assert ctx.event_timers == {99}
    assert trigger.on_event_time(42, WINDOW, ctx) is CONTINUE
    assert trigger.on_event_time(99, WINDOW, ctx) is FIRE
    assert trigger.on_processing_time(99, WINDOW, ctx) is CONTINUE


def test_event_time_fires_at_once_for_a_record_of_a_window_that_is_over(
    ctx: FakeTriggerContext,
) -> None:
    ctx.watermark = 99

    assert added(EventTimeTrigger(), ctx, 5) is FIRE
    assert ctx.event_timers == set()


def test_event_time_sets_the_timer_of_merged_windows_and_deletes_it_with_the_window(
    ctx: FakeTriggerContext,
) -> None:
    trigger = EventTimeTrigger[Any]()
    trigger.on_merge(WINDOW, ctx)
    assert ctx.event_timers == {99}

    trigger.clear(WINDOW, ctx)
    assert ctx.event_timers == set()

    ctx.watermark = 99
    trigger.on_merge(WINDOW, ctx)
    assert ctx.event_timers == set()


def test_processing_time_fires_when_the_wall_clock_passes_the_end(ctx: FakeTriggerContext) -> None:
    trigger = ProcessingTimeTrigger.create()

    assert added(trigger, ctx) is CONTINUE
    assert ctx.processing_timers == {99}
    assert trigger.on_event_time(99, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, ctx) is FIRE
    trigger.clear(WINDOW, ctx)
    assert ctx.processing_timers == set()

    trigger.on_merge(WINDOW, ctx)
    assert ctx.processing_timers == {99}
    ctx.processing_timers.clear()
    ctx.now = 200
    trigger.on_merge(WINDOW, ctx)
    assert ctx.processing_timers == set()


def test_continuous_event_time_fires_at_multiples_of_the_interval_and_at_the_end(
    ctx: FakeTriggerContext,
) -> None:
    trigger = ContinuousEventTimeTrigger.of(Time.milliseconds(30))

    assert added(trigger, ctx, 35) is CONTINUE
    assert ctx.event_timers == {60, 99}
    assert added(trigger, ctx, 70) is CONTINUE
    assert ctx.event_timers == {60, 99}, "one firing is due at a time"

    assert trigger.on_event_time(60, WINDOW, ctx) is FIRE
    assert ctx.event_timers >= {90, 99}
    assert trigger.on_event_time(61, WINDOW, ctx) is CONTINUE
    assert trigger.on_event_time(90, WINDOW, ctx) is FIRE
    assert trigger.on_event_time(99, WINDOW, ctx) is FIRE
    assert trigger.on_processing_time(90, WINDOW, ctx) is CONTINUE


def test_continuous_event_time_counts_from_before_the_epoch_too() -> None:
    ctx = FakeTriggerContext(TimeWindow(-100, 0))

    added(ContinuousEventTimeTrigger(30), ctx, -70)

    assert ctx.event_timers == {-60, -1}


def test_continuous_event_time_fires_per_record_after_the_end(ctx: FakeTriggerContext) -> None:
    ctx.watermark = 99

    assert added(ContinuousEventTimeTrigger(30), ctx, 35) is FIRE
    assert ctx.event_timers == set()


def test_continuous_triggers_keep_the_earliest_firing_of_merged_windows() -> None:
    first, second, merged = TimeWindow(10, 50), TimeWindow(45, 85), TimeWindow(10, 85)
    for trigger, timers in (
        (ContinuousEventTimeTrigger[Any](30), "event_timers"),
        (ContinuousProcessingTimeTrigger[Any](30), "processing_timers"),
    ):
        ctx = FakeTriggerContext(first)
        for window, time in ((first, 10), (second, 45)):
            ctx.window, ctx.now = window, time
            added(trigger, ctx, time)
        getattr(ctx, timers).clear()

        ctx.window, ctx.merging = merged, [first, second]
        trigger.on_merge(merged, ctx)

        assert trigger.can_merge()
        assert getattr(ctx, timers) == {30}
        assert list(ctx.kept.values()) == [30]


def test_continuous_processing_time_fires_at_multiples_of_the_interval(
    ctx: FakeTriggerContext,
) -> None:
    trigger = ContinuousProcessingTimeTrigger.of(40)
    ctx.now = 10

    assert added(trigger, ctx) is CONTINUE
    assert ctx.processing_timers == {40}
    assert trigger.on_processing_time(39, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(40, WINDOW, ctx) is FIRE
    assert trigger.on_processing_time(80, WINDOW, ctx) is FIRE
    assert ctx.processing_timers == {40, 80, 99}, "the last one is the end of the window"
    assert trigger.on_event_time(99, WINDOW, ctx) is CONTINUE


@pytest.mark.parametrize(
    "trigger",
    [
        ContinuousEventTimeTrigger(30),
        ContinuousProcessingTimeTrigger(30),
        CountTrigger(5),
        DeltaTrigger(1.0, lambda a, b: abs(a - b)),
        EventTimeTrigger(),
        ProcessingTimeTrigger(),
        EndOfStreamTrigger(),
        PurgingTrigger(CountTrigger(5)),
        ProcessingTimeoutTrigger.of(CountTrigger(5), 30),
    ],
)
def test_nothing_is_left_of_a_window_that_is_cleared(
    trigger: Trigger[Any, Any], ctx: FakeTriggerContext
) -> None:
    added(trigger, ctx, 5, element=1)

    trigger.clear(WINDOW, ctx)

    assert (ctx.event_timers, ctx.processing_timers, ctx.kept) == (set(), set(), {})


def test_count_fires_at_each_full_count(ctx: FakeTriggerContext) -> None:
    trigger = CountTrigger.of(3)

    assert [added(trigger, ctx) for _ in range(7)] == [CONTINUE, CONTINUE, FIRE] * 2 + [CONTINUE]
    assert trigger.on_event_time(99, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, ctx) is CONTINUE


def test_counts_of_merged_windows_are_added_up() -> None:
    first, second, merged = TimeWindow(0, 10), TimeWindow(5, 15), TimeWindow(0, 15)
    ctx, trigger = FakeTriggerContext(first), CountTrigger[Any, Any](4)
    for window in (first, second, second):
        ctx.window = window
        added(trigger, ctx)

    ctx.window, ctx.merging = merged, [first, second]
    trigger.on_merge(merged, ctx)

    assert trigger.can_merge()
    assert added(trigger, ctx) is FIRE


def test_never_does_nothing(ctx: FakeTriggerContext) -> None:
    trigger = NeverTrigger[Any]()
    window = GlobalWindow.get()

    assert trigger.on_element("x", 5, window, ctx) is CONTINUE
    assert trigger.on_event_time(MAX_WATERMARK, window, ctx) is CONTINUE
    assert trigger.on_processing_time(5, window, ctx) is CONTINUE
    assert not trigger.can_merge()


def test_end_of_stream_fires_with_the_last_watermark() -> None:
    window = GlobalWindow.get()
    ctx, trigger = FakeTriggerContext(window), EndOfStreamTrigger[Any]()

    assert added(trigger, ctx) is CONTINUE
    assert ctx.event_timers == {MAX_WATERMARK}
    assert trigger.on_event_time(5, window, ctx) is CONTINUE
    assert trigger.on_event_time(MAX_WATERMARK, window, ctx) is FIRE


def test_purging_adds_to_each_firing_that_contents_are_dropped(ctx: FakeTriggerContext) -> None:
    counting = PurgingTrigger.of(CountTrigger(2))
    assert [added(counting, ctx) for _ in range(2)] == [CONTINUE, BOTH]

    timing = PurgingTrigger.of(EventTimeTrigger())
    assert timing.on_event_time(99, WINDOW, ctx) is BOTH
    assert timing.on_event_time(5, WINDOW, ctx) is CONTINUE
    assert PurgingTrigger.of(ProcessingTimeTrigger()).on_processing_time(9, WINDOW, ctx) is BOTH


def test_purging_merges_if_the_nested_trigger_does(ctx: FakeTriggerContext) -> None:
    assert PurgingTrigger(EventTimeTrigger()).can_merge()
    assert not PurgingTrigger(NeverTrigger()).can_merge()

    PurgingTrigger(EventTimeTrigger()).on_merge(WINDOW, ctx)

    assert ctx.event_timers == {99}


class Distance(DeltaFunction[float]):
    def get_delta(self, old_data_point: float, new_data_point: float) -> float:
        return abs(new_data_point - old_data_point)


@pytest.mark.parametrize("delta", [Distance(), lambda old, new: abs(new - old)])
def test_delta_fires_beyond_the_threshold_and_measures_from_there(
    ctx: FakeTriggerContext, delta: Any
) -> None:
    trigger = DeltaTrigger.of(10, delta)

    fired = [added(trigger, ctx, element=at) for at in (0, 10, 11, 20, 22, 40)]

    assert fired == [CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE, FIRE]
    assert not trigger.can_merge()


def test_a_timeout_fires_when_the_nested_trigger_waits_too_long(ctx: FakeTriggerContext) -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger(3), 50)
    ctx.now = 10

    assert added(trigger, ctx) is CONTINUE
    ctx.now = 30
    assert added(trigger, ctx) is CONTINUE
    assert ctx.processing_timers == {60}, "counted from the first record"

    assert trigger.on_processing_time(60, WINDOW, ctx) is FIRE
    assert (ctx.kept, ctx.processing_timers) == ({}, set()), "the count begins anew"


def test_a_timeout_ends_when_the_nested_trigger_fires(ctx: FakeTriggerContext) -> None:
    trigger = ProcessingTimeoutTrigger.of(PurgingTrigger(CountTrigger(2)), 50)

    assert [added(trigger, ctx) for _ in range(2)] == [CONTINUE, BOTH]
    assert ctx.processing_timers == set()


def test_a_timeout_may_count_from_the_last_record_and_keep_the_count(
    ctx: FakeTriggerContext,
) -> None:
    trigger = ProcessingTimeoutTrigger.of(
        CountTrigger(3), 50, reset_timer_on_new_record=True, should_clear_on_timeout=False
    )
    added(trigger, ctx)
    ctx.now = 30
    added(trigger, ctx)

    assert ctx.processing_timers == {80}
    assert trigger.on_event_time(99, WINDOW, ctx) is FIRE
    assert ctx.kept[("count", WINDOW)] == 2


class Purger(NeverTrigger[Any]):
    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return PURGE


def test_a_timeout_purges_if_the_nested_trigger_wants_to(ctx: FakeTriggerContext) -> None:
    trigger = ProcessingTimeoutTrigger.of(Purger(), 50)

    assert trigger.on_processing_time(50, WINDOW, ctx) is BOTH


@pytest.mark.parametrize(
    "trigger", [DeltaTrigger(1, Distance()), ProcessingTimeoutTrigger.of(CountTrigger(1), 5)]
)
def test_triggers_that_cannot_merge_say_so(
    trigger: Trigger[Any, Any], ctx: FakeTriggerContext
) -> None:
    assert not trigger.can_merge()
    with pytest.raises(NotImplementedError, match="windows that merge cannot have it"):
        trigger.on_merge(WINDOW, ctx)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: ContinuousEventTimeTrigger.of(Time.seconds(0)), ValueError, "interval is 0 ms"),
        (lambda: ContinuousProcessingTimeTrigger(-1), ValueError, "interval is -1 ms"),
        (lambda: CountTrigger.of(0), ValueError, "count is 0"),
        (lambda: ProcessingTimeoutTrigger.of(NeverTrigger(), 0), ValueError, "wait is 0 ms"),
        (lambda: PurgingTrigger.of(CountTrigger), TypeError, "expected a Trigger object"),  # type: ignore[arg-type]
        (lambda: DeltaTrigger.of(1, Distance), TypeError, "expected a DeltaFunction"),  # type: ignore[arg-type]
    ],
)
def test_settings_without_sense_are_refused(
    make: Callable[[], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        make()


@pytest.mark.parametrize(
    ("trigger", "shown"),
    [
        (EventTimeTrigger(), "EventTimeTrigger()"),
        (ContinuousEventTimeTrigger(30), "ContinuousEventTimeTrigger(30)"),
        (PurgingTrigger(CountTrigger(5)), "PurgingTrigger(CountTrigger(5))"),
        (
            ProcessingTimeoutTrigger.of(CountTrigger(5), 30),
            "ProcessingTimeoutTrigger(CountTrigger(5), 30)",
        ),
    ],
)
def test_triggers_are_shown_as_they_are_made_and_survive_pickling(
    trigger: Trigger[Any, Any], shown: str
) -> None:
    assert repr(trigger) == repr(pickle.loads(pickle.dumps(trigger))) == shown


def test_triggers_are_equal_if_they_do_the_same() -> None:
    assert CountTrigger(3) == CountTrigger(3) != CountTrigger(4)
    assert PurgingTrigger(CountTrigger(3)) == PurgingTrigger(CountTrigger(3))
    assert len({EventTimeTrigger(), EventTimeTrigger(), ProcessingTimeTrigger()}) == 2
    assert hash(PurgingTrigger(CountTrigger(3))) == hash(PurgingTrigger(CountTrigger(3)))
    assert Min().reduce(3, 2) == 2


@pytest.mark.parametrize(
    ("result", "fires", "purges"),
    [(CONTINUE, False, False), (FIRE, True, False), (PURGE, False, True), (BOTH, True, True)],
)
def test_a_result_says_whether_to_fire_and_whether_to_purge(
    result: TriggerResult, fires: bool, purges: bool
) -> None:
    assert (result.is_fire(), result.is_purge()) == (fires, purges)
