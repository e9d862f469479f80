"""Triggers that change what another trigger does."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar, cast

from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.window_lengths import Length, positive_milliseconds
from riverrun.api.windows import Window
from riverrun.serde.types import Types

__all__ = ["ProcessingTimeoutTrigger", "PurgingTrigger"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class PurgingTrigger(Trigger[T, W]):
    """Fires when the nested trigger does, and drops the window's contents then."""

    def __init__(self, nested_trigger: Trigger[T, W]) -> None:
        self.nested_trigger = _checked(type(self).__name__, nested_trigger)

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger[Any, Any]:
        """``nested_trigger``, purging."""
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(repr(self))


class ProcessingTimeoutTrigger(Trigger[T, W]):
    """Fires when the nested trigger does, and when a time has passed since the window's first record.

    The waiting begins with the first record after a firing, or with every record if
    ``reset_timer_on_new_record``. With ``should_clear_on_timeout`` the nested trigger forgets what it
    knows (a CountTrigger its count) when the time is up.
    """

    timeout_desc: ClassVar = ValueStateDescriptor("timeout", Types.LONG())

    def __init__(
        self,
        nested_trigger: Trigger[T, W],
        timeout: Length,
        *,
        reset_timer_on_new_record: bool,
        should_clear_on_timeout: bool,
    ) -> None:
        self.nested_trigger = _checked(type(self).__name__, nested_trigger)
        self.timeout = positive_milliseconds(type(self).__name__, "the time to wait", timeout)
        self.reset_timer_on_new_record = reset_timer_on_new_record
        self.should_clear_on_timeout = should_clear_on_timeout

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: Length,
        reset_timer_on_new_record: bool = False,  # noqa: FBT001, FBT002 - Flink's order
        should_clear_on_timeout: bool = True,  # noqa: FBT001, FBT002 - Flink's order
    ) -> ProcessingTimeoutTrigger[Any, Any]:
        """``nested_trigger`` with a limit to the waiting."""
        return ProcessingTimeoutTrigger(
            nested_trigger,
            timeout,
            reset_timer_on_new_record=reset_timer_on_new_record,
            should_clear_on_timeout=should_clear_on_timeout,
        )

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = self._waits_until(ctx)
        until = state.value()
        if until is not None and self.reset_timer_on_new_record:
            ctx.delete_processing_time_timer(until)
            until = None
        if until is None:
            until = ctx.get_current_processing_time() + self.timeout
            state.update(until)
            ctx.register_processing_time_timer(until)
        return result

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return self._timed_out(
            self.nested_trigger.on_processing_time(time, window, ctx), window, ctx
        )

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._timed_out(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def can_merge(self) -> bool:
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        del window, ctx
        raise NotImplementedError("ProcessingTimeoutTrigger: windows that merge cannot have it")

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        state = self._waits_until(ctx)
        until = state.value()
        if until is not None:
            ctx.delete_processing_time_timer(until)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def _timed_out(
        self, nested: TriggerResult, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.is_purge() else TriggerResult.FIRE

    def _waits_until(self, ctx: Trigger.TriggerContext) -> ValueState[int]:
        return cast("ValueState[int]", ctx.get_partitioned_state(self.timeout_desc))

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.timeout})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


def _checked(who: str, nested: Trigger[T, W]) -> Trigger[T, W]:
    if not isinstance(nested, Trigger):
        raise TypeError(f"{who}: the nested trigger is {nested!r}; expected a Trigger object")
    return nested
