"""What flows through a channel: a closed union of elements.

``Records`` is a run: many records at once, in arrival order. Everything else is control and only
ever acts between runs, so that record-at-a-time semantics hold while the cost is paid per run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

MAX_WATERMARK: Final = 9_223_372_036_854_775_807
"""The watermark of a bounded input's end."""

MIN_TIMESTAMP: Final = -9_223_372_036_854_775_808


@dataclass(slots=True)
class Records:
    """A run of values with their event times (``None``: no record of the run has one).

    Where the reader works on columns they may be a ColumnRun and a TimeColumn instead of lists.
    """

    values: list[Any]
    timestamps: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """No record with a timestamp at or before ``time`` will follow on this channel."""

    time: int


@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """Whether this channel counts when the minimum of watermarks is taken."""

    idle: bool


@dataclass(frozen=True, slots=True)
class Barrier:
    """Separates what belongs to checkpoint ``checkpoint`` from what does not."""

    checkpoint: int
    timestamp: int
    options: bytes = b""


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """Sent by a source now and then to measure how long a record takes to each operator."""

    emitted_ms: float
    source: str
    subtask: int


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """No more records follow on this channel; barriers still may, until EndOfChannel."""


@dataclass(frozen=True, slots=True)
class EndOfChannel:
    """Nothing at all follows on this channel: its producer is done."""


Element: TypeAlias = (
    Records | Watermark | WatermarkStatus | Barrier | LatencyMarker | EndOfInput | EndOfChannel
)
