"""From reports to bodies: what a vertex does at the moment."""

from __future__ import annotations

from collections.abc import Sequence

from riverrun.cluster.job_report import SubtaskReport, VertexReport
from riverrun.core.lifecycle import TaskStatus
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.rest.bodies.flow import BusiestSubtask, HeaviestSubtask, VertexFlow


def vertex_flow(vertex: VertexReport, *, is_source: bool) -> VertexFlow:
    """The subtasks that run, summed up: figures of those that ended say nothing about now."""
    running = [s for s in vertex.subtasks if s.current.status == TaskStatus.RUNNING.value]
    moved = "numRecordsOutPerSecond" if is_source else "numRecordsInPerSecond"
    time = "currentOutputWatermark" if is_source else "currentInputWatermark"
    return VertexFlow(
        id=vertex.id,
        attempt=max((s.current.attempt for s in vertex.subtasks), default=0),
        busy=_share(running, "busyTimeMsPerSecond"),
        backpressured=_share(running, "backPressuredTimeMsPerSecond"),
        idle=_share(running, "idleTimeMsPerSecond"),
        busiest=_busiest(running),
        records_in_per_second=_total(running, "numRecordsInPerSecond"),
        records_out_per_second=_total(running, "numRecordsOutPerSecond"),
        heaviest=_heaviest(running, moved),
        watermark=_lowest(running, time),
    )


def _told(subtasks: Sequence[SubtaskReport], name: str) -> list[tuple[float, int]]:
    return [(s.metrics[name], s.index) for s in subtasks if name in s.metrics]


def _total(subtasks: Sequence[SubtaskReport], name: str) -> float | None:
    told = _told(subtasks, name)
    return sum(value for value, _ in told) if told else None


def _share(subtasks: Sequence[SubtaskReport], name: str) -> float | None:
    told = _told(subtasks, name)
    return sum(_of_one(value) for value, _ in told) / len(told) if told else None


def _of_one(milliseconds: float) -> float:
    return min(1.0, max(0.0, milliseconds / 1000.0))


def _busiest(subtasks: Sequence[SubtaskReport]) -> BusiestSubtask | None:
    told = _told(subtasks, "busyTimeMsPerSecond")
    if not told:
        return None
    value, index = max(told, key=lambda each: each[0])
    return BusiestSubtask(index, _of_one(value))


def _heaviest(subtasks: Sequence[SubtaskReport], name: str) -> HeaviestSubtask | None:
    told = _told(subtasks, name)
    whole = sum(value for value, _ in told)
    if whole <= 0:
        return None
    value, index = max(told, key=lambda each: each[0])
    return HeaviestSubtask(index, value / whole)


def _lowest(subtasks: Sequence[SubtaskReport], name: str) -> int | None:
    told = _told(subtasks, name)
    lowest = min((value for value, _ in told), default=float(MIN_TIMESTAMP))
    return None if lowest <= MIN_TIMESTAMP else int(lowest)
