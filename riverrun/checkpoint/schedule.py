"""When the next checkpoint is due, as far as time alone decides it."""

from __future__ import annotations

from typing import Final

from riverrun.checkpoint.settings import CheckpointSettings

LONGEST_RETRY_MS: Final = 1_000
"""A last checkpoint that failed is tried again after the interval, but no later than this."""


class Schedule:
    """The times of one attempt; nothing is due while it is stopped."""

    def __init__(self, settings: CheckpointSettings) -> None:
        self._interval_ms = settings.interval_ms
        self._min_pause_ms = settings.min_pause_ms
        self._periodic: float | None = None
        self._pause_until = 0.0
        self._retry_at = 0.0

    def start(self, now: float) -> None:
        """The first periodic checkpoint comes after one interval."""
        self._periodic = None if self._interval_ms is None else now + self._interval_ms
        self._retry_at = now

    def stop(self) -> None:
        """The attempt is over."""
        self._periodic = None

    def triggered(self, now: float) -> None:
        """A checkpoint began, for whatever reason."""
        if self._periodic is not None and self._interval_ms is not None:
            self._periodic = now + self._interval_ms

    def ended(self, now: float) -> None:
        """A checkpoint completed or failed."""
        self._pause_until = now + self._min_pause_ms

    def failed(self, now: float) -> None:
        """A checkpoint failed: the next try must not follow at once."""
        self._retry_at = now + min(self._interval_ms or LONGEST_RETRY_MS, LONGEST_RETRY_MS)

    def hurry(self, now: float) -> None:
        """A checkpoint was lost by chance: the next need not wait for its turn."""
        if self._periodic is not None:
            self._periodic = min(self._periodic, now)

    @property
    def periodic_at(self) -> float | None:
        """When the next periodic checkpoint may begin."""
        return None if self._periodic is None else max(self._periodic, self._pause_until)

    @property
    def final_at(self) -> float | None:
        """When the last checkpoint of the job may begin, once it is wanted."""
        return None if self._periodic is None else self._retry_at
