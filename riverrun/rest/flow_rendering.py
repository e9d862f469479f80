"""From reports to bodies: what a vertex does at the moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from riverrun.cluster.job_report import SubtaskReport, VertexReport
from riverrun.core.lifecycle import TaskStatus
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.rest.bodies.flow import BusiestSubtask, HeaviestSubtask, VertexFlow

_Figures: TypeAlias = Sequence[tuple[float, int]]
"""Values with the subtasks that told them."""


def vertex_flow(vertex: VertexReport, *, is_source: bool) -> VertexFlow:
    """The subtasks that run, summed up: figures of those that ended say nothing about now."""
    running = [s for s in vertex.subtasks if s.current.status == TaskStatus.RUNNING.value]
    taken = _read(vertex, running) if is_source else _told(running, "numRecordsInPerSecond")
    given = _told(running, "numRecordsOutPerSecond")
    busy = _told(running, "busyTimeMsPerSecond")
    time = "currentOutputWatermark" if is_source else "currentInputWatermark"
    return VertexFlow(
        id=vertex.id,
        attempt=max((s.current.attempt for s in vertex.subtasks), default=0),
        busy=_share(busy),
        backpressured=_share(_told(running, "backPressuredTimeMsPerSecond")),
        idle=_share(_told(running, "idleTimeMsPerSecond")),
        busiest=_busiest(busy),
        records_in_per_second=_total(taken),
        records_out_per_second=_total(given),
        heaviest=_heaviest(taken),
        watermark=_lowest(_told(running, time)),
    )


def _told(subtasks: Sequence[SubtaskReport], name: str) -> _Figures:
    return [(s.metrics[name], s.index) for s in subtasks if name in s.metrics]


def _read(vertex: VertexReport, subtasks: Sequence[SubtaskReport]) -> _Figures:
    """What a source takes from outside: its task counts what comes from other tasks alone."""
    source = vertex.operators[0].name
    rates = [(s.operator_metrics.get(source, {}), s.index) for s in subtasks]
    name = "numRecordsOutPerSecond"
    return [(metrics[name], index) for metrics, index in rates if name in metrics]


def _total(figures: _Figures) -> float | None:
    return sum(value for value, _ in figures) if figures else None


def _share(figures: _Figures) -> float | None:
    return sum(_of_one(value) for value, _ in figures) / len(figures) if figures else None


def _of_one(milliseconds: float) -> float:
    return min(1.0, max(0.0, milliseconds / 1000.0))


def _busiest(figures: _Figures) -> BusiestSubtask | None:
    if not figures:
        return None
    value, index = max(figures, key=_value)
    return BusiestSubtask(index, _of_one(value))


def _heaviest(figures: _Figures) -> HeaviestSubtask | None:
    whole = sum(value for value, _ in figures)
    if whole <= 0:
        return None
    value, index = max(figures, key=_value)
    return HeaviestSubtask(index, value / whole)


def _lowest(figures: _Figures) -> int | None:
    lowest = min((value for value, _ in figures), default=float(MIN_TIMESTAMP))
    return None if lowest <= MIN_TIMESTAMP else int(lowest)


def _value(figure: tuple[float, int]) -> float:
    return figure[0]
