"""Process functions: any number of records out, side outputs, time, and timers where there is a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from riverrun.api.function import Function
from riverrun.api.timer_service import TimeDomain, TimerService

__all__ = ["KeyedProcessFunction", "ProcessFunction"]


class ProcessFunction(Function):
    """Takes one record at a time from a stream without keys.

    ``process_element`` is a generator (or returns an iterable, or None): a plain value goes to the main
    output, a pair of an OutputTag and a value to that side output.
    """

    class Context(ABC):
        """What is known about the record at hand; valid during the call only."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Both clocks; timers need a keyed stream."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's event time, or None."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        """Handle ``value`` and yield what comes of it."""


class KeyedProcessFunction(Function):
    """Takes one record at a time from a keyed stream; has timers and state of the current key."""

    class Context(ABC):
        """What is known about the record at hand; valid during the call only."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Both clocks and the timers of the current key."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The event time of the record or timer, or None."""

    class OnTimerContext(Context):
        """What is known about the timer that fired."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which clock the timer goes by."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        """Handle ``value`` and yield what comes of it."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        """Handle a timer set for ``timestamp`` and yield what comes of it."""
