"""What says to which windows a record belongs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.trigger import Trigger
from riverrun.api.windows import Window

__all__ = ["MergingWindowAssigner", "WindowAssigner"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2")


class WindowAssigner(ABC, Generic[T, W]):
    """Gives every record its windows."""

    class WindowAssignerContext(ABC):
        """What is known when a record comes."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock in milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Where the operator runs; gives state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows that ``element`` belongs to."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger of windows for which the program names none; ``env`` may be None."""

    @abstractmethod
    def get_window_serializer(self) -> Any:
        """How windows are written."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows go by event time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may become one, as those of sessions do."""

    class MergeCallback(ABC, Generic[W2]):
        """What an assigner tells about windows that become one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """All of ``to_be_merged`` become ``merge_result``."""

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]
    ) -> None:
        """Tell ``callback`` which of ``windows`` become one."""
