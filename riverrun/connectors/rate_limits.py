"""How fast a source that makes its own records may make them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from riverrun.core.clock import Clock

__all__ = ["RateLimiterStrategy"]

_UNTIL_TOLD_MS = 60_000.0
"""A checkpoint that is complete wakes the reader."""


class RateLimiter(ABC):
    """What one reader may make, of what all readers together may."""

    @abstractmethod
    def due(self, limit: int) -> int:
        """How many records may be made now, ``limit`` at most."""

    @abstractmethod
    def spend(self, count: int) -> None:
        """Take ``count`` records off what is due."""

    @abstractmethod
    def wait_ms(self) -> float:
        """How long until the next record is due."""

    def notify_checkpoint_complete(self) -> None:  # noqa: B027  (an optional hook)
        """A checkpoint of the job is complete."""


class RateLimiterStrategy(ABC):
    """Describes the rate that all subtasks of a source share."""

    @abstractmethod
    def create_rate_limiter(self, share: float, clock: Clock) -> RateLimiter | None:
        """The limiter of a reader that makes ``share`` (0 to 1) of all records; ``None``: no limit."""

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """So many records a second; time lost to back pressure is caught up for one second at most."""
        _check("second", records_per_second)
        return _PerSecond(records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """So many records between two checkpoints; then none until one is complete.

        A job that takes no checkpoints gets these records only, and then no more.
        """
        _check("checkpoint", records_per_checkpoint)
        return _PerCheckpoint(records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """As fast as it goes."""
        return _NoOp()


def _check(unit: str, records: float) -> None:
    if isinstance(records, bool) or not isinstance(records, int | float) or not records > 0:
        raise ValueError(
            f"rate limiter: the rate is {records!r} records per {unit}; expected more than 0, "
            f"or RateLimiterStrategy.no_op() for full speed"
        )


@dataclass(frozen=True, slots=True)
class _PerSecond(RateLimiterStrategy):
    records: float

    def create_rate_limiter(self, share: float, clock: Clock) -> RateLimiter | None:
        return Allowance(self.records * share, clock)


@dataclass(frozen=True, slots=True)
class _PerCheckpoint(RateLimiterStrategy):
    records: float

    def create_rate_limiter(self, share: float, clock: Clock) -> RateLimiter | None:
        del clock
        return Gate(self.records * share)


@dataclass(frozen=True, slots=True)
class _NoOp(RateLimiterStrategy):
    def create_rate_limiter(self, share: float, clock: Clock) -> RateLimiter | None:
        del share, clock
        return None


class Allowance(RateLimiter):
    """How many records are due by now at a given rate; what is not taken within a second lapses."""

    def __init__(self, rate_per_second: float, clock: Clock) -> None:
        self._per_ms = rate_per_second / 1000.0
        self._most = max(rate_per_second, 1.0)
        self._clock = clock
        self._saved = 0.0
        self._at = clock.monotonic()

    def due(self, limit: int) -> int:
        now = self._clock.monotonic()
        self._saved = min(self._saved + (now - self._at) * self._per_ms, self._most)
        self._at = now
        return min(int(self._saved), limit)

    def spend(self, count: int) -> None:
        self._saved -= count

    def wait_ms(self) -> float:
        # At least one millisecond, to be woken less often.
        return max((1.0 - self._saved) / self._per_ms, 1.0)


class Gate(RateLimiter):
    """A share of records for each checkpoint; a fraction of a record is kept for the next one.

    >>> gate = Gate(2.5)
    >>> gate.due(10)
    2
    >>> gate.spend(2)
    >>> gate.due(10)
    0
    >>> gate.notify_checkpoint_complete()
    >>> gate.due(10)
    3
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._left = share

    def due(self, limit: int) -> int:
        return min(int(self._left), limit)

    def spend(self, count: int) -> None:
        self._left -= count

    def wait_ms(self) -> float:
        return _UNTIL_TOLD_MS

    def notify_checkpoint_complete(self) -> None:
        # What was not taken lapses: the next checkpoint has no more records for it.
        self._left = self._left % 1.0 + self._share
