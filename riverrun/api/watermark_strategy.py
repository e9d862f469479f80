"""How a stream's records get timestamps and how far event time has come.

A strategy is a description; the runtime builds the generator from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from riverrun.core.time import DurationLike, to_millis

__all__ = [
    "BoundedOutOfOrderness",
    "NoWatermarks",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkStrategy",
]


class TimestampAssigner(ABC):
    """Says when a record happened."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The event time of ``value`` in milliseconds since the Unix epoch.

        ``record_timestamp`` is the one it has so far (from the source), or the smallest 64-bit integer.
        """


@dataclass(frozen=True, slots=True)
class NoWatermarks:
    """Event time never advances before the end of input."""


@dataclass(frozen=True, slots=True)
class BoundedOutOfOrderness:
    """The watermark trails the greatest timestamp by ``bound_ms`` and one; 0 means ascending."""

    bound_ms: int


WatermarkGeneration: TypeAlias = NoWatermarks | BoundedOutOfOrderness


@dataclass(frozen=True, slots=True)
class WatermarkAlignment:
    """Keep sources of one group within a drift of each other."""

    group: str
    max_drift_ms: int
    update_interval_ms: int = 1000


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """Timestamps and watermarks of a stream; each ``with_...`` gives a changed copy."""

    generation: WatermarkGeneration
    timestamp_assigner: TimestampAssigner | Callable[[Any, int], int] | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks at all: for streams that use processing time only."""
        return WatermarkStrategy(NoWatermarks())

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """For timestamps that never go back within one source split."""
        return WatermarkStrategy(BoundedOutOfOrderness(0))

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: DurationLike) -> WatermarkStrategy:
        """For records that may be late by ``max_out_of_orderness`` at most."""
        return WatermarkStrategy(BoundedOutOfOrderness(to_millis(max_out_of_orderness)))

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Take timestamps from ``timestamp_assigner`` (or a callable of value and timestamp so far)."""
        if not isinstance(timestamp_assigner, TimestampAssigner) and not callable(
            timestamp_assigner
        ):
            raise TypeError(
                f"watermark strategy: the timestamp assigner is {timestamp_assigner!r}; expected "
                f"a TimestampAssigner or a callable of (value, record timestamp)"
            )
        return replace(self, timestamp_assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: DurationLike) -> WatermarkStrategy:
        """Leave a source out of the watermark after ``idle_timeout`` without records."""
        timeout_ms = to_millis(idle_timeout)
        if timeout_ms <= 0:
            raise ValueError(
                f"watermark strategy: the idle timeout is {timeout_ms} ms; expected more than 0"
            )
        return replace(self, idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: DurationLike,
        update_interval: DurationLike | None = None,
    ) -> WatermarkStrategy:
        """Hold back sources of ``watermark_group`` that run ahead by more than the drift."""
        alignment = WatermarkAlignment(watermark_group, to_millis(max_allowed_watermark_drift))
        if update_interval is not None:
            alignment = replace(alignment, update_interval_ms=to_millis(update_interval))
        return replace(self, alignment=alignment)
