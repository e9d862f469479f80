"""What takes records out of a window before or after its function sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from riverrun.api.windows import Window

__all__ = ["Evictor", "TimestampedValue"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


@dataclass(frozen=True, slots=True)
class TimestampedValue(Generic[T]):
    """A record of a window with its event time, where it has one."""

    value: T
    timestamp: int | None

    def get_value(self) -> T:
        """The record."""
        return self.value

    def get_timestamp(self) -> int | None:
        """The record's event time, or None."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Whether the record has an event time."""
        return self.timestamp is not None


class Evictor(ABC, Generic[T, W]):
    """Removes records from a window's list, in place; what it removes is gone for later firings too."""

    class EvictorContext(ABC):
        """What is known when a window fires."""

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
    def evict_before(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records before the window function is called."""

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records after the window function was called."""
