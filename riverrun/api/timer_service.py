"""Time and timers as process functions see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum

__all__ = ["TimeDomain", "TimerService"]


class TimeDomain(Enum):
    """Which clock a timer goes by."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Reads both clocks and keeps timers of the current key; times in milliseconds since the Unix epoch."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The wall clock."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the wall clock passes ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark passes ``timestamp``."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget such a timer; nothing happens if there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget such a timer; nothing happens if there is none."""
