"""Event time in a task: what a source makes of timestamps, and the minimum over input channels."""

from __future__ import annotations

from collections.abc import Sequence

from riverrun.api.watermark_strategy import BoundedOutOfOrderness, WatermarkStrategy
from riverrun.protocol.elements import MIN_TIMESTAMP


class WatermarkGenerator:
    """Periodic watermarks that trail the greatest timestamp by the strategy's bound.

    >>> generator = WatermarkGenerator(bound_ms=5, interval_ms=200)
    >>> generator.observe([10, 30, 20])
    >>> generator.emit(now=1000.0), generator.emit(now=1200.0)
    (24, None)
    """

    def __init__(self, bound_ms: int, interval_ms: int) -> None:
        self._bound = bound_ms
        self._interval = interval_ms
        self._greatest = MIN_TIMESTAMP + bound_ms + 1
        self._emitted = MIN_TIMESTAMP
        self._due = 0.0

    @staticmethod
    def of(strategy: WatermarkStrategy | None, interval_ms: int) -> WatermarkGenerator | None:
        """The generator of ``strategy``; ``None`` when it makes no watermarks."""
        generation = None if strategy is None else strategy.generation
        if not isinstance(generation, BoundedOutOfOrderness) or interval_ms <= 0:
            return None
        return WatermarkGenerator(generation.bound_ms, interval_ms)

    def observe(self, timestamps: Sequence[int]) -> None:
        """Learn from the timestamps of a run."""
        self._greatest = max(self._greatest, *timestamps)

    def due_at(self) -> float:
        """When to emit next, in monotonic milliseconds."""
        return self._due

    def emit(self, now: float) -> int | None:
        """The watermark now, unless it did not move."""
        self._due = now + self._interval
        watermark = self._greatest - self._bound - 1
        if watermark <= self._emitted:
            return None
        self._emitted = watermark
        return watermark


class WatermarkValve:
    """The minimum over active channels; never goes back.

    >>> valve = WatermarkValve(2)
    >>> valve.watermark(0, 10), valve.watermark(1, 7), valve.watermark(1, 12)
    (None, 7, 10)
    >>> valve.status(0, idle=True)
    12
    """

    def __init__(self, channels: int) -> None:
        self._times = [MIN_TIMESTAMP] * channels
        self._idle = [False] * channels
        self.current = MIN_TIMESTAMP

    def watermark(self, channel: int, time: int) -> int | None:
        """``channel`` reached ``time``: the new minimum, if it moved."""
        self._times[channel] = max(time, self._times[channel])
        return self._advance()

    def status(self, channel: int, *, idle: bool) -> int | None:
        """``channel`` fell idle or is active again: the new minimum, if it moved."""
        self._idle[channel] = idle
        return self._advance()

    def _advance(self) -> int | None:
        active = [time for time, idle in zip(self._times, self._idle, strict=True) if not idle]
        lowest = min(active) if active else max(self._times, default=MIN_TIMESTAMP)
        if lowest <= self.current:
            return None
        self.current = lowest
        return lowest
