"""Timers of one subtask, by the time at which they are due.

A timer is a (time, key, namespace) triple; the same triple twice is one timer. A backend gives queues by
name (``KeyedStateBackend.timers``) and makes them part of its snapshots, by key group like all keyed state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

DueTimers: TypeAlias = tuple[int, list[tuple[Any, Any]]]
"""A time, and the (key, namespace) pairs whose timers are due then."""


class TimerQueue(ABC):
    """Timers of one clock; nothing is ever scanned to find the next one."""

    @abstractmethod
    def add(self, time: int, key: Any, namespace: Any) -> None:
        """Set a timer; nothing changes if there is such a one."""

    @abstractmethod
    def remove(self, time: int, key: Any, namespace: Any) -> None:
        """Forget a timer; nothing changes if there is none."""

    @abstractmethod
    def next_time(self) -> int | None:
        """When the earliest timer is due; ``None``: there are no timers."""

    @abstractmethod
    def take(self, until: int) -> DueTimers | None:
        """Remove and give all timers of the earliest time, if it is not after ``until``.

        The caller goes on until it gets ``None``: a timer set meanwhile for a time up to ``until`` is
        given too, in its turn.
        """

    @abstractmethod
    def __len__(self) -> int:
        """How many timers are set."""
