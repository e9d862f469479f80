"""What a trigger is made from that cares about few things only."""

from __future__ import annotations

from typing import TypeVar

from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.windows import Window

__all__ = ["QuietTrigger"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class QuietTrigger(Trigger[T, W]):
    """Does nothing, ever; a trigger overrides what it does something about."""

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del element, timestamp, window, ctx
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del time, window, ctx
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        del time, window, ctx
        return TriggerResult.CONTINUE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Nothing is kept that would have to be merged."""

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Nothing is kept that would have to be deleted."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(repr(self))
