"""What says when a window is worked on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from riverrun.api.state import State, StateDescriptor
from riverrun.api.windows import Window

__all__ = ["Trigger", "TriggerResult"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """What is to be done with a window."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window's function is to be called."""
        return bool(self.value[0])

    def is_purge(self) -> bool:
        """Whether the window's contents are to be dropped."""
        return bool(self.value[1])


class Trigger(ABC, Generic[T, W]):
    """Decides, for each key and window, when to call the window function and when to drop contents.

    One object serves all keys and windows, so what it remembers must be in partitioned state.
    """

    class TriggerContext(ABC):
        """Clocks, timers and state of the key and window at hand."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> Any:
            """Metrics of the operator."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """How far event time has come."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call ``on_processing_time`` when the wall clock passes ``time``."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call ``on_event_time`` when the watermark passes ``time``."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forget such a timer; nothing happens if there is none."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forget such a timer; nothing happens if there is none."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """State of the key and window at hand."""

    class OnMergeContext(TriggerContext):
        """What a trigger has when windows become one; the window at hand is the result."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the parts into that of the result."""

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """``element`` was added to ``window``."""

    @abstractmethod
    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """A processing-time timer of ``window`` is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An event-time timer of ``window`` is due."""

    def can_merge(self) -> bool:
        """Whether ``on_merge`` works; windows that merge need it."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Other windows became ``window``: merge their state and set its timers."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """``window`` is over: delete its state and timers."""
