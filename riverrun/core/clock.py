"""Time comes in through the constructor: a clock of the machine, and one that a test moves by hand."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time for records and timers, monotonic time for deadlines; both in milliseconds."""

    def now(self) -> int:
        """Milliseconds since the Unix epoch."""

    def monotonic(self) -> float:
        """Milliseconds of a clock that never goes back."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic() * 1000.0


class ManualClock:
    """A clock that stands still until it is moved.

    >>> clock = ManualClock(5)
    >>> clock.advance(10)
    >>> clock.now(), clock.monotonic()
    (15, 15.0)
    """

    def __init__(self, start: float = 0) -> None:
        self._now = float(start)

    def now(self) -> int:
        return int(self._now)

    def monotonic(self) -> float:
        return self._now

    def advance(self, by: float) -> None:
        """Move time forward by ``by`` milliseconds."""
        if by < 0:
            raise ValueError(f"clock: asked to go back by {-by} ms; time only moves forward")
        self._now += by
