"""The triggers that come with riverrun, all under one roof.

=================================  ==============================================================
trigger                            fires
=================================  ==============================================================
EventTimeTrigger                   when the watermark passes the window's end, then per late record
ProcessingTimeTrigger              when the wall clock passes the window's end
ContinuousEventTimeTrigger         each time the watermark passes a multiple of an interval
ContinuousProcessingTimeTrigger    each time the wall clock passes a multiple of an interval
CountTrigger                       each time so many records were added
DeltaTrigger                       when a record is too far from the one that fired last
NeverTrigger                       never
EndOfStreamTrigger                 at the end of bounded input
PurgingTrigger                     as another one, and drops the window's contents
ProcessingTimeoutTrigger           as another one, and after a time of waiting
=================================  ==============================================================
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar, cast

from riverrun.api.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    Min,
)
from riverrun.api.delta import DeltaFunction, DeltaTrigger
from riverrun.api.functions import ReduceFunction
from riverrun.api.nesting_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from riverrun.api.quiet_trigger import QuietTrigger
from riverrun.api.state import ReducingState, ReducingStateDescriptor
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.window_lengths import positive_count
from riverrun.api.windows import GlobalWindow, TimeWindow, Window
from riverrun.serde.types import Types

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "DeltaFunction",
    "DeltaTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "Min",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class Sum(ReduceFunction):
    """Both values together."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2


class EventTimeTrigger(QuietTrigger[T, TimeWindow]):
    """Fires when the watermark passes the end of the window, and for each late record after that."""

    @staticmethod
    def create() -> EventTimeTrigger[Any]:
        """A trigger of this kind."""
        return EventTimeTrigger()

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del element, timestamp
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del ctx
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        # A merged window that is over already fires with the record that made it.
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(QuietTrigger[T, TimeWindow]):
    """Fires when the wall clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger[Any]:
        """A trigger of this kind."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del element, timestamp
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del time, window, ctx
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class CountTrigger(QuietTrigger[T, W]):
    """Fires each time ``window_size`` records were added, and counts from 0 again."""

    count_desc: ClassVar = ReducingStateDescriptor("count", Sum(), Types.LONG())

    def __init__(self, window_size: int) -> None:
        self.window_size = positive_count(type(self).__name__, "the count", window_size)

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any, Any]:
        """A trigger that fires at every ``window_size`` records."""
        return CountTrigger(window_size)

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del element, timestamp, window
        state = cast("ReducingState[int]", ctx.get_partitioned_state(self.count_desc))
        state.add(1)
        if (state.get() or 0) < self.window_size:
            return TriggerResult.CONTINUE
        state.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        del window
        ctx.merge_partitioned_state(self.count_desc)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        del window
        ctx.get_partitioned_state(self.count_desc).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"


class NeverTrigger(QuietTrigger[T, GlobalWindow]):
    """Never fires: what ``GlobalWindows`` has unless the program names a trigger."""


class EndOfStreamTrigger(QuietTrigger[T, GlobalWindow]):
    """Fires once, when bounded input has ended."""

    def on_element(
        self, element: T, timestamp: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del element, timestamp
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del ctx
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
