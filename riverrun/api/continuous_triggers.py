"""Triggers that fire again and again while a window is open."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar, cast

from riverrun.api.functions import ReduceFunction
from riverrun.api.quiet_trigger import QuietTrigger
from riverrun.api.state import ReducingState, ReducingStateDescriptor
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.window_lengths import Length, positive_milliseconds
from riverrun.api.windows import TimeWindow
from riverrun.serde.types import Types

__all__ = ["ContinuousEventTimeTrigger", "ContinuousProcessingTimeTrigger", "Min"]

T = TypeVar("T")


class Min(ReduceFunction):
    """The lesser of two values."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return min(value1, value2)


class _Continuous(QuietTrigger[T, TimeWindow]):
    """What triggers have in common that fire again and again: the time of the next firing, in state."""

    state_desc: ClassVar = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    def __init__(self, interval: Length) -> None:
        self.interval = positive_milliseconds(type(self).__name__, "the interval", interval)

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        del window
        ctx.merge_partitioned_state(self.state_desc)
        fire_at = self._next_fire(ctx).get()
        if fire_at is not None:
            self._set_timer(fire_at, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        del window
        state = self._next_fire(ctx)
        fire_at = state.get()
        if fire_at is not None:
            self._delete_timer(fire_at, ctx)
            state.clear()

    def register_next_fire_timestamp(
        self,
        time: int,
        window: TimeWindow,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Fire one interval after ``time``, or at the window's end if that is earlier."""
        fire_at = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(fire_at)
        self._set_timer(fire_at, ctx)

    def _begin(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """A record came at ``time``: fire at the next multiple of the interval, if no firing is due."""
        state = self._next_fire(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, state)

    def _on_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """A timer of ``time`` is due, which may be that of the next firing."""
        state = self._next_fire(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def _next_fire(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        return cast("ReducingState[int]", ctx.get_partitioned_state(self.state_desc))

    @abstractmethod
    def _set_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Set a timer of the trigger's clock."""

    @abstractmethod
    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Delete a timer of the trigger's clock."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_Continuous[T]):
    """Fires each time the watermark passes a multiple of the interval, and at the window's end."""

    @staticmethod
    def of(interval: Length) -> ContinuousEventTimeTrigger[Any]:
        """A trigger that fires every ``interval`` of event time."""
        return ContinuousEventTimeTrigger(interval)

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del element
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._begin(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return self._on_time(time, window, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        super().clear(window, ctx)

    def _set_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_Continuous[T]):
    """Fires each time the wall clock passes a multiple of the interval, and at the window's end."""

    @staticmethod
    def of(interval: Length) -> ContinuousProcessingTimeTrigger[Any]:
        """A trigger that fires every ``interval`` of the wall clock."""
        return ContinuousProcessingTimeTrigger(interval)

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del element, timestamp
        self._begin(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return self._on_time(time, window, ctx)

    def _set_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)
