"""The kinds of metric: counter, gauge, meter, distribution, histogram.

Updating one is a few instructions and takes no lock: a metric belongs to one task thread. Rates and
quantiles are worked out when the values are read, never per event.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

log = logging.getLogger(__name__)

_QUANTILES: Final[Mapping[str, float]] = {"p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}


class Metric(ABC):
    """Something that can be read as one or more numbers."""

    @abstractmethod
    def read(self, now_ms: float) -> Mapping[str, float]:
        """The values now; the empty name stands for the metric itself, others are appended to it."""


class Counter(Metric):
    """A number that is moved up and down."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add ``n``."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Take ``n`` away."""
        self._count -= n

    def get_count(self) -> int:
        """The count now."""
        return self._count

    def read(self, now_ms: float) -> Mapping[str, float]:  # noqa: ARG002  (a count has no time)
        return {"": self._count}


class Gauge(Metric):
    """A number that is asked for when metrics are read."""

    __slots__ = ("_failed", "_read")

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read
        self._failed = False

    def read(self, now_ms: float) -> Mapping[str, float]:  # noqa: ARG002
        try:
            return {"": float(self._read())}
        except Exception:  # a gauge is only a view: the job must not die of it
            if not self._failed:
                log.warning("gauge failed, reporting nan from now on", exc_info=True)
                self._failed = True
            return {"": math.nan}


class Meter(Metric):
    """How often something happens, per second, averaged over a time span."""

    __slots__ = ("_count", "_samples", "_span_ms")

    def __init__(self, time_span_in_seconds: int = 60, *, now_ms: float = 0.0) -> None:
        if time_span_in_seconds <= 0:
            raise ValueError(
                f"meter: the time span is {time_span_in_seconds!r} s; expected a positive number"
            )
        self._count = 0
        self._span_ms = time_span_in_seconds * 1000.0
        self._samples: deque[tuple[float, int]] = deque([(now_ms, 0)])

    def mark_event(self, value: int = 1) -> None:
        """Note that ``value`` events happened."""
        self._count += value

    def get_count(self) -> int:
        """How many events there were since the start."""
        return self._count

    def get_rate(self, now_ms: float) -> float:
        """Events per second over the time span that ends at ``now_ms``."""
        samples = self._samples
        samples.append((now_ms, self._count))
        while len(samples) > 2 and samples[1][0] <= now_ms - self._span_ms:  # noqa: PLR2004
            samples.popleft()
        start_ms, start_count = samples[0]
        elapsed_ms = now_ms - start_ms
        return (self._count - start_count) * 1000.0 / elapsed_ms if elapsed_ms > 0 else 0.0

    def read(self, now_ms: float) -> Mapping[str, float]:
        return {"": self.get_rate(now_ms), "count": self._count}


class Distribution(Metric):
    """Count, sum, least, greatest and mean of the values seen."""

    __slots__ = ("_count", "_max", "_min", "_sum")

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0
        self._min = math.inf
        self._max = -math.inf

    def update(self, value: float) -> None:
        """Take ``value`` in."""
        self._count += 1
        self._sum += value
        self._min = min(self._min, value)
        self._max = max(self._max, value)

    def read(self, now_ms: float) -> Mapping[str, float]:  # noqa: ARG002
        if not self._count:
            return {"count": 0}
        return {
            "count": self._count,
            "sum": self._sum,
            "min": self._min,
            "max": self._max,
            "mean": self._sum / self._count,
        }


class Histogram(Metric):
    """Quantiles of the last ``window`` values."""

    __slots__ = ("_count", "_values")

    def __init__(self, window: int = 1024) -> None:
        self._count = 0
        self._values: deque[float] = deque(maxlen=window)

    def update(self, value: float) -> None:
        """Take ``value`` in; the oldest leaves when the window is full."""
        self._count += 1
        self._values.append(value)

    def get_count(self) -> int:
        """How many values there were since the start."""
        return self._count

    def read(self, now_ms: float) -> Mapping[str, float]:  # noqa: ARG002
        if not self._values:
            return {"count": 0}
        ordered = sorted(self._values)
        last = len(ordered) - 1
        values = {name: ordered[round(q * last)] for name, q in _QUANTILES.items()}
        return {
            "count": self._count,
            "min": ordered[0],
            "max": ordered[last],
            "mean": math.fsum(ordered) / len(ordered),
            **values,
        }
