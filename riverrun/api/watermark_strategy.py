"""How a stream's records get timestamps and how far event time has come.

A strategy is a description; the runtime builds the generator from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from riverrun.api.columns import col
from riverrun.api.watermark_generator import (
    WatermarkGenerator,
    WatermarkGeneratorSupplier,
    WatermarkOutput,
)
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.time import DurationLike, to_millis

__all__ = [
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPeriodicWatermarksWrapper",
    "BoundedOutOfOrderness",
    "CustomGenerator",
    "IngestionTimeAssigner",
    "NoWatermarks",
    "RecordTimestampAssigner",
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


class RecordTimestampAssigner(TimestampAssigner):
    """Keeps the timestamp that a record has from its source; what happens without an assigner."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        del value
        return record_timestamp


class IngestionTimeAssigner(TimestampAssigner):
    """Ingestion time: a record happened when it was read, by the wall clock, which never goes back here.

    Records that are read together get the same timestamp.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._latest: int | None = None

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        del value, record_timestamp
        now = (self._clock or SystemClock()).now()
        self._latest = now if self._latest is None else max(now, self._latest)
        return self._latest


GeneratorSupplier: TypeAlias = WatermarkGeneratorSupplier | Callable[[], WatermarkGenerator]
Assigner: TypeAlias = TimestampAssigner | Callable[[Any, int], int]


@dataclass(frozen=True, slots=True)
class NoWatermarks:
    """Event time never advances before the end of input."""


@dataclass(frozen=True, slots=True)
class BoundedOutOfOrderness:
    """The watermark trails the greatest timestamp by ``bound_ms`` and one; 0 means ascending."""

    bound_ms: int


@dataclass(frozen=True, slots=True)
class CustomGenerator:
    """The program's own generators decide."""

    supplier: GeneratorSupplier


WatermarkGeneration: TypeAlias = NoWatermarks | BoundedOutOfOrderness | CustomGenerator


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
    timestamp_assigner: Assigner | None = None
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
        bound_ms = to_millis(max_out_of_orderness)
        if bound_ms < 0:
            raise ValueError(
                f"watermark strategy: the max out-of-orderness is {bound_ms} ms; expected 0 or more"
            )
        return WatermarkStrategy(BoundedOutOfOrderness(bound_ms))

    @staticmethod
    def for_generator(generator_supplier: GeneratorSupplier) -> WatermarkStrategy:
        """For generators of the program's own: a class of them, or whatever makes one when called."""
        is_supplier = isinstance(generator_supplier, WatermarkGeneratorSupplier)
        if isinstance(generator_supplier, WatermarkGenerator) or not (
            is_supplier or callable(generator_supplier)
        ):
            raise TypeError(
                f"watermark strategy: the generator supplier is {generator_supplier!r}; expected a "
                f"WatermarkGeneratorSupplier or a callable that makes a WatermarkGenerator, such as "
                f"its class: each source split needs one of its own"
            )
        return WatermarkStrategy(CustomGenerator(generator_supplier))

    def with_timestamp_assigner(self, timestamp_assigner: Assigner) -> WatermarkStrategy:
        """Take timestamps from ``timestamp_assigner`` (or a callable of value and timestamp so far)."""
        if not isinstance(timestamp_assigner, TimestampAssigner) and not callable(
            timestamp_assigner
        ):
            raise TypeError(
                f"watermark strategy: the timestamp assigner is {timestamp_assigner!r}; expected "
                f"a TimestampAssigner or a callable of (value, record timestamp)"
            )
        return replace(self, timestamp_assigner=timestamp_assigner)

    def with_timestamp_column(self, column: str | int) -> WatermarkStrategy:
        """Take timestamps from a column: milliseconds since 1970 as whole numbers, or timestamps (UTC).

        The same as ``with_timestamp_assigner(col(column))``; no call for each record where records come
        as columns.
        """
        return replace(self, timestamp_assigner=col(column))

    def with_idleness(self, idle_timeout: DurationLike) -> WatermarkStrategy:
        """Leave a source split out of the watermark after ``idle_timeout`` without records."""
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
        """Hold back sources of ``watermark_group`` that run ahead by more than the drift.

        ``update_interval`` says how often a source reports its watermark and is told how far it may go;
        one second if not given. Only sources can be held back.
        """
        alignment = WatermarkAlignment(watermark_group, to_millis(max_allowed_watermark_drift))
        if update_interval is not None:
            alignment = replace(alignment, update_interval_ms=to_millis(update_interval))
        if alignment.max_drift_ms < 0 or alignment.update_interval_ms <= 0:
            raise ValueError(
                f"watermark strategy: alignment with a drift of {alignment.max_drift_ms} ms, updated "
                f"every {alignment.update_interval_ms} ms; expected 0 or more, and more than 0"
            )
        return replace(self, alignment=alignment)


class AssignerWithPeriodicWatermarks(TimestampAssigner):
    """Timestamps and periodic watermarks from one object: the older form of a strategy."""

    @abstractmethod
    def get_current_watermark(self) -> int | None:
        """How far event time has come; ``None``: not known."""


class AssignerWithPeriodicWatermarksWrapper:
    """Makes a strategy of an AssignerWithPeriodicWatermarks."""

    def __init__(self, assigner_with_periodic_watermarks: AssignerWithPeriodicWatermarks) -> None:
        if not isinstance(assigner_with_periodic_watermarks, AssignerWithPeriodicWatermarks):
            raise TypeError(
                f"watermark strategy: got {assigner_with_periodic_watermarks!r}; expected an "
                f"AssignerWithPeriodicWatermarks"
            )
        self._assigner = assigner_with_periodic_watermarks

    def to_watermark_strategy(self) -> WatermarkStrategy:
        """The strategy that does the same; one assigner serves all splits of a subtask."""
        return WatermarkStrategy.for_generator(
            _PeriodicAssigner(self._assigner)
        ).with_timestamp_assigner(self._assigner)


@dataclass(frozen=True, slots=True)
class _PeriodicAssigner(WatermarkGeneratorSupplier):
    """The watermarks of an assigner; travels with the strategy, so both share the same one."""

    assigner: AssignerWithPeriodicWatermarks

    def create_watermark_generator(
        self, context: WatermarkGeneratorSupplier.Context
    ) -> WatermarkGenerator:
        del context
        return _PeriodicWatermarks(self.assigner)


class _PeriodicWatermarks(WatermarkGenerator):
    def __init__(self, assigner: AssignerWithPeriodicWatermarks) -> None:
        self._assigner = assigner

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        watermark = self._assigner.get_current_watermark()
        if watermark is not None:
            output.emit_watermark(watermark)
