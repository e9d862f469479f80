"""How a program makes watermarks of its own: generators, and where they put what they make.

A generator serves one source split (or one subtask, after ``assign_timestamps_and_watermarks``). A
*periodic* one learns in ``on_event`` and emits in ``on_periodic_emit``; a *punctuated* one emits in
``on_event`` when a record says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from riverrun.metrics.groups import MetricGroup

__all__ = ["Watermark", "WatermarkGenerator", "WatermarkGeneratorSupplier", "WatermarkOutput"]


@dataclass(frozen=True, slots=True, order=True)
class Watermark:
    """A point in event time that a stream has reached: no record at or before it should follow.

    Stability: stable.
    """

    timestamp: int

    def get_timestamp(self) -> int:
        """Milliseconds since the Unix epoch."""
        return self.timestamp


class WatermarkOutput(ABC):
    """Takes what a generator makes.

    Stability: stable.
    """

    @abstractmethod
    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Event time has reached ``watermark``; one that is not beyond the last is ignored.

        It also ends what ``mark_idle`` began.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Leave this split out of event time until it has a record or a watermark again."""

    @abstractmethod
    def mark_active(self) -> None:
        """Count this split again, from the watermark that it had."""


class WatermarkGenerator(ABC):
    """Makes watermarks of the records that pass; called from the task thread only.

    It is not part of checkpoints: after a restore a fresh one begins.

    Stability: stable.
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """``event`` has just been emitted; what goes to ``output`` now is between it and the next."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """It is time to emit: called every ``pipeline.auto-watermark-interval``."""


class WatermarkGeneratorSupplier(ABC):
    """Makes generators; a callable without arguments does as well.

    Stability: stable.
    """

    class Context(ABC):
        """What a generator may want to know of where it runs."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Where the generator's metrics belong."""

    @abstractmethod
    def create_watermark_generator(self, context: Context) -> WatermarkGenerator:
        """A generator for one split; called in the worker, once for each."""
