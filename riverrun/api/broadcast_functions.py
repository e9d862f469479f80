"""Functions over a stream and a broadcast stream whose records every subtask keeps in broadcast state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from riverrun.api.function import Function
from riverrun.api.state import (
    BroadcastState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    StateDescriptor,
)
from riverrun.api.timer_service import TimeDomain, TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
]

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class BaseBroadcastProcessFunction(Function):
    """What both kinds of broadcast functions share: their contexts."""

    class BaseContext(ABC):
        """Time, as far as it is known for the record at hand."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's event time, or None."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """How far event time has come."""

    class Context(BaseContext):
        """For records of the broadcast side: state may be changed."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """The broadcast state that ``state_descriptor`` names."""

    class ReadOnlyContext(BaseContext):
        """For records of the other side: state may only be read."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """The broadcast state that ``state_descriptor`` names, to be read."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """A process function over a stream without keys and a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """For records of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """For records of the other side."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Any:
        """Handle a record of the stream and yield what comes of it."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Any:
        """Handle a broadcast record and yield what comes of it; must do the same in every subtask."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """A process function over a keyed stream and a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """For records of the broadcast side."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
        ) -> None:
            """Call ``function`` with each key that has this keyed state, and the state of that key.

            The keys are those of this subtask, in no certain order.
            """

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """For records of the keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Both clocks and the timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """For a timer that fired."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which clock the timer goes by."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Any:
        """Handle a record of the keyed stream and yield what comes of it."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Any:
        """Handle a broadcast record and yield what comes of it; must do the same in every subtask."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Any:
        """Handle a timer set for ``timestamp`` and yield what comes of it."""
