"""From the reports of a job to the numbers that are kept of it over time.

A number that is not known at a moment is NaN: the task has not reported, the job takes no checkpoints,
latency markers are off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from riverrun.cluster.job_report import JobReport, SubtaskReport, VertexReport
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.sealed import OperatorKind
from riverrun.metrics.timelines import Fold
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP

JOB_SERIES: Final[Mapping[str, Fold]] = {
    "records-in-per-second": Fold.MEAN,
    "records-out-per-second": Fold.MEAN,
    "latency-p50": Fold.MEAN,
    "latency-p99": Fold.MAX,
    "watermark-lag": Fold.MAX,
    "busy": Fold.MEAN,
    "idle": Fold.MEAN,
    "backpressured": Fold.MEAN,
    "state-size": Fold.MAX,
    "checkpoint-duration": Fold.MAX,
    "restarts": Fold.MAX,
}
"""Names, and how values are put together. In: what sources gave; out: what reached sinks. Times are
milliseconds, shares lie between 0 and 1, both those of the subtask with most; the size is in bytes."""

VERTEX_SERIES: Final[Mapping[str, Fold]] = {
    "records-in-per-second": Fold.MEAN,
    "records-out-per-second": Fold.MEAN,
    "watermark-lag": Fold.MAX,
    "busy": Fold.MEAN,
    "idle": Fold.MEAN,
    "backpressured": Fold.MEAN,
}
"""The same of one vertex. In: what came from other vertices, or what its sources gave."""

_UNKNOWN: Final = math.nan
_SPENT: Final = (
    "accumulatedBusyTimeMs",
    "accumulatedIdleTimeMs",
    "accumulatedBackPressuredTimeMs",
)
"""Together all of the task's time."""
_WATERMARKS: Final = ("currentInputWatermark", "currentOutputWatermark")
"""A source has only the second."""


@dataclass(frozen=True, slots=True)
class _Counted:
    attempt: int
    count: float
    at: float
    rate: float


class Rates:
    """Per second, from counters that tasks report now and then.

    Between two reports the last rate stands; a counter that begins anew gives none until its second report.

    >>> rates = Rates()
    >>> [rates.of("a", 0, count, at) for count, at in ((10, 0), (30, 2000), (30, 2000), (30, 3000))]
    [nan, 10.0, 10.0, 0.0]
    >>> rates.of("a", 1, 5, 100)
    nan
    """

    def __init__(self) -> None:
        self._last: dict[object, _Counted] = {}

    def of(self, counter: object, attempt: int, count: float, at: float) -> float:
        """The rate of a counter that is ``count`` when ``at`` ms of the attempt are over."""
        last = self._last.get(counter)
        rate = _UNKNOWN
        if last is not None and last.attempt == attempt and count >= last.count:
            if at == last.at:
                return last.rate
            if at > last.at:
                rate = (count - last.count) * 1000.0 / (at - last.at)
        self._last[counter] = _Counted(attempt, count, at, rate)
        return rate


class _OfVertex(NamedTuple):
    values: list[float]
    """In the order of VERTEX_SERIES."""
    given: float
    """Records a second that its sources gave."""
    taken: float
    """Records a second that reached its sinks."""
    p50: float
    p99: float


class JobMeasures:
    """Reads reports of one job, in the order in which they were made."""

    def __init__(self) -> None:
        self._rates = Rates()

    def of(self, report: JobReport) -> list[float]:
        """The values of JOB_SERIES, then for each vertex those of VERTEX_SERIES."""
        vertices = [self._vertex(vertex, report.made) for vertex in report.vertices]
        lag, busy, idle, backpressured = (
            _most(each.values[place] for each in vertices) for place in range(2, 6)
        )
        size, took = _last_checkpoint(report)
        values = [
            _sum(each.given for each in vertices),
            _sum(each.taken for each in vertices),
            _most(each.p50 for each in vertices),
            _most(each.p99 for each in vertices),
            lag,
            busy,
            idle,
            backpressured,
            size,
            took,
            float(report.restarts),
        ]
        for each in vertices:
            values += each.values
        return values

    def _vertex(self, vertex: VertexReport, now: int) -> _OfVertex:
        running = [
            each for each in vertex.subtasks if each.current.status == TaskStatus.RUNNING.value
        ]
        sources = [each.name for each in vertex.operators if each.kind is OperatorKind.SOURCE]
        sinks = [each.name for each in vertex.operators if each.kind is OperatorKind.SINK]
        given = _sum(self._rate(vertex, running, now, "numRecordsOut", sources))
        came = self._rate(vertex, running, now, "numRecordsIn", [""])
        values = [
            given if sources else _sum(came),
            _sum(self._rate(vertex, running, now, "numRecordsOut", [""])),
            _most(now - each for each in _known(_watermark(task.metrics) for task in running)),
            _share(running, "busyTimeMsPerSecond"),
            _share(running, "idleTimeMsPerSecond"),
            _share(running, "backPressuredTimeMsPerSecond"),
        ]
        taken = _sum(self._rate(vertex, running, now, "numRecordsIn", sinks))
        return _OfVertex(values, given, taken, _latency(running, "p50"), _latency(running, "p99"))

    def _rate(
        self,
        vertex: VertexReport,
        subtasks: Iterable[SubtaskReport],
        now: int,
        name: str,
        operators: Iterable[str],
    ) -> Iterable[float]:
        """The rate of a counter in each of the operators ("": the task itself) of each subtask."""
        for subtask in subtasks:
            at = _time_of(subtask.metrics, now)
            for operator in operators:
                found = subtask.operator_metrics.get(operator, {}) if operator else subtask.metrics
                if name in found:
                    counter = (vertex.id, subtask.index, operator, name)
                    yield self._rates.of(counter, subtask.current.attempt, found[name], at)


def _time_of(metrics: Mapping[str, float], now: int) -> float:
    """How old the attempt was when it reported, by its own clock where it says so."""
    spent = [metrics.get(name) for name in _SPENT]
    return sum(each for each in spent if each is not None) if None not in spent else float(now)


def _watermark(metrics: Mapping[str, float]) -> float:
    """How far event time is; unknown before the first watermark and after the end of the input."""
    for name in _WATERMARKS:
        value = metrics.get(name, _UNKNOWN)
        if MIN_TIMESTAMP < value < MAX_WATERMARK:
            return value
    return _UNKNOWN


def _share(subtasks: Iterable[SubtaskReport], name: str) -> float:
    told = _known(each.metrics.get(name, _UNKNOWN) for each in subtasks)
    return min(1.0, max(0.0, max(told) / 1000.0)) if told else _UNKNOWN


def _latency(subtasks: Iterable[SubtaskReport], quantile: str) -> float:
    """Of the operator that records reach last."""
    return _most(
        values.get(f"latency.{quantile}", _UNKNOWN)
        for subtask in subtasks
        for values in subtask.operator_metrics.values()
    )


def _last_checkpoint(report: JobReport) -> tuple[float, float]:
    """Its size and how long it took."""
    latest = None if report.checkpoints is None else report.checkpoints.latest.completed
    if latest is None:
        return _UNKNOWN, _UNKNOWN
    return float(latest.totals.state_size), float(latest.totals.end_to_end_duration)


def _known(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _sum(values: Iterable[float]) -> float:
    known = _known(values)
    return sum(known) if known else _UNKNOWN


def _most(values: Iterable[float]) -> float:
    return max(_known(values), default=_UNKNOWN)
