"""Functions over two connected streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from riverrun.api.function import Function
from riverrun.api.timer_service import TimeDomain, TimerService

__all__ = [
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "KeyedCoProcessFunction",
]


class CoMapFunction(Function):
    """One record in from either stream, one record out."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """What becomes of a record of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """What becomes of a record of the second stream."""


class CoFlatMapFunction(Function):
    """One record in from either stream, any number out."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Any:
        """An iterable of what becomes of a record of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Any:
        """An iterable of what becomes of a record of the second stream."""


class CoProcessFunction(Function):
    """A process function over two streams without keys."""

    class Context(ABC):
        """What is known about the record at hand; valid during the call only."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Both clocks; timers need keyed streams."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's event time, or None."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Handle a record of the first stream and yield what comes of it."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Handle a record of the second stream and yield what comes of it."""


class KeyedCoProcessFunction(Function):
    """A process function over two keyed streams that share state and timers of a key."""

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
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Handle a record of the first stream and yield what comes of it."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Handle a record of the second stream and yield what comes of it."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
        """Handle a timer set for ``timestamp`` and yield what comes of it."""
