"""Functions that fill the state of an operator from data, as a job would have done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from riverrun.api.checkpointed import CheckpointedFunction
from riverrun.api.function import Function
from riverrun.api.state import BroadcastState, MapStateDescriptor
from riverrun.api.timer_service import TimerService

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "StateBootstrapFunction",
]


class KeyedStateBootstrapFunction(Function):
    """Fills keyed state: states come from the runtime context in ``open``, timers from the context."""

    class Context(ABC):
        """What is known about the record at hand; valid during the call only."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Sets timers of the current key, which fire when a job goes on from the savepoint."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        """Take ``value`` into the state of its key."""


class StateBootstrapFunction(Function, CheckpointedFunction):
    """Fills operator state: lists that come from the store in ``initialize_state``."""

    class Context(ABC):
        """What is known about the record at hand; valid during the call only."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock in milliseconds."""

    @abstractmethod
    def process_element(self, value: Any, ctx: StateBootstrapFunction.Context) -> None:
        """Take in ``value``."""


class BroadcastStateBootstrapFunction(Function):
    """Fills broadcast state."""

    class Context(ABC):
        """What is known about the record at hand; valid during the call only."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock in milliseconds."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """The broadcast state that ``state_descriptor`` names."""

    @abstractmethod
    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        """Take in ``value``."""
