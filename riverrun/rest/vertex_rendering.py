"""From reports to bodies: vertices and subtasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from riverrun.checkpoint.statistics import StatsSummary, quantile
from riverrun.cluster.job_report import (
    AccumulatorReport,
    AttemptReport,
    JobReport,
    SubtaskReport,
    VertexReport,
)
from riverrun.rest.bodies.io_metrics import io_metrics
from riverrun.rest.bodies.vertices import (
    Aggregated,
    SubtaskAttempt,
    SubtaskBackPressure,
    UserAccumulator,
    VertexOnTaskManager,
)
from riverrun.rest.problems import not_found
from riverrun.rest.rendering import (
    duration,
    ended_at,
    span_of,
    started_at,
    status_counts,
    status_of,
)
from riverrun.rest.resource_ids import resource_id

_NOWHERE: Final = "(unassigned)"
_LOW, _HIGH = 0.1, 0.5


def vertex_of(job: JobReport, vertex_id: str) -> VertexReport:
    """The vertex with this id; HttpProblem 404."""
    for vertex in job.vertices:
        if vertex.id == vertex_id:
            return vertex
    raise not_found(f"job {job.id!r}: has no vertex {vertex_id!r}")


def subtask_of(vertex: VertexReport, index: int) -> SubtaskReport:
    """The subtask with this index; HttpProblem 404."""
    if index >= len(vertex.subtasks):
        raise not_found(
            f"vertex {vertex.name!r}: has no subtask {index}, its parallelism is {vertex.parallelism}"
        )
    return vertex.subtasks[index]


def attempt_of(subtask: SubtaskReport, number: int) -> AttemptReport:
    """The attempt with this number, as long as it is remembered; HttpProblem 404."""
    for attempt in (*subtask.past, subtask.current):
        if attempt.attempt == number:
            return attempt
    raise not_found(f"subtask {subtask.index}: attempt {number} is not known")


def endpoint_of(attempt: AttemptReport) -> str:
    """Where the attempt runs: host and process."""
    return f"{attempt.host}:{attempt.pid}" if attempt.host else _NOWHERE


def task_manager_of(attempt: AttemptReport) -> str:
    """On which executor the attempt runs."""
    return _NOWHERE if attempt.task_manager is None else resource_id(attempt.task_manager)


def subtask_attempt(subtask: SubtaskReport, attempt: AttemptReport, now: int) -> SubtaskAttempt:
    """One attempt of a subtask; its figures are known for the current one only."""
    start, end = started_at(attempt), ended_at(attempt)
    return SubtaskAttempt(
        subtask=subtask.index,
        status=attempt.status,
        attempt=attempt.attempt,
        endpoint=endpoint_of(attempt),
        start_time=start,
        end_time=end,
        duration=duration(start, end, now),
        metrics=io_metrics([subtask] if attempt is subtask.current else []),
        taskmanager_id=task_manager_of(attempt),
        status_duration=status_durations(attempt, now),
    )


def status_durations(attempt: AttemptReport, now: int) -> dict[str, int]:
    """How long the attempt was in each state that it has had.

    >>> attempt = AttemptReport(attempt=0, status="RUNNING", timestamps={"CREATED": 5, "RUNNING": 7})
    >>> status_durations(attempt, now=10)
    {'CREATED': 2, 'RUNNING': 3}
    """
    steps = sorted(attempt.timestamps.items(), key=lambda item: item[1])
    ends = [*(time for _, time in steps[1:]), now]
    durations = {
        status: max(0, end - start) for (status, start), end in zip(steps, ends, strict=True)
    }
    if ended_at(attempt) != -1:
        durations[attempt.status] = 0
    return durations


def aggregated(subtasks: Iterable[SubtaskReport], now: int) -> Aggregated:
    """Figures over subtasks, with what lies between the smallest and the largest."""
    figures: dict[str, list[int]] = defaultdict(list)
    durations: dict[str, list[int]] = defaultdict(list)
    for subtask in subtasks:
        for name, value in msgspec.to_builtins(io_metrics([subtask])).items():
            if not isinstance(value, bool):
                figures[name].append(int(value))
        for status, spent in status_durations(subtask.current, now).items():
            durations[status].append(spent)
    return Aggregated(
        metrics={name: _spread(values) for name, values in figures.items()},
        status_duration={name: _spread(values) for name, values in durations.items()},
    )


def _spread(values: Sequence[int]) -> dict[str, int]:
    summary, ordered = StatsSummary.of(values), sorted(values)
    return {
        "min": summary.min,
        "max": summary.max,
        "avg": summary.avg,
        "sum": sum(values),
        "median": int(summary.p50),
        "p25": int(quantile(ordered, 0.25)),
        "p75": int(quantile(ordered, 0.75)),
        "p95": int(summary.p95),
    }


def on_task_managers(vertex: VertexReport, now: int) -> list[VertexOnTaskManager]:
    """The vertex, executor by executor."""
    groups: dict[str, list[SubtaskReport]] = defaultdict(list)
    for subtask in vertex.subtasks:
        groups[task_manager_of(subtask.current)].append(subtask)
    return [_on_task_manager(name, vertex, group, now) for name, group in sorted(groups.items())]


def _on_task_manager(
    name: str, vertex: VertexReport, subtasks: list[SubtaskReport], now: int
) -> VertexOnTaskManager:
    start, end = span_of(subtasks)
    part = msgspec.structs.replace(vertex, subtasks=tuple(subtasks))
    return VertexOnTaskManager(
        endpoint=subtasks[0].current.host or _NOWHERE,
        status=status_of(part).value,
        start_time=start,
        end_time=end,
        duration=duration(start, end, now),
        metrics=io_metrics(subtasks),
        status_counts=status_counts(subtask.current.status for subtask in subtasks),
        taskmanager_id=name,
        aggregated=aggregated(subtasks, now),
    )


def back_pressure(subtask: SubtaskReport) -> SubtaskBackPressure:
    """How a subtask spends its time."""
    ratio = _share(subtask.metrics, "backPressuredTimeMsPerSecond")
    return SubtaskBackPressure(
        subtask=subtask.index,
        attempt_number=subtask.current.attempt,
        level=level_of(ratio),
        ratio=ratio,
        idle_ratio=_share(subtask.metrics, "idleTimeMsPerSecond"),
        busy_ratio=_share(subtask.metrics, "busyTimeMsPerSecond"),
    )


def level_of(ratio: float) -> str:
    """The share of time spent waiting for those downstream, in a word.

    >>> [level_of(ratio) for ratio in (0.1, 0.3, 0.51)]
    ['ok', 'low', 'high']
    """
    if ratio <= _LOW:
        return "ok"
    return "low" if ratio <= _HIGH else "high"


def _share(metrics: Mapping[str, float], name: str) -> float:
    return min(1.0, max(0.0, metrics.get(name, 0.0) / 1000.0))


def accumulators_of(found: Mapping[str, AccumulatorReport]) -> list[UserAccumulator]:
    """Accumulators, as text."""
    return [
        UserAccumulator(name=name, type=each.type_name, value=each.value)
        for name, each in sorted(found.items())
    ]
