"""A job in few figures, for lists of jobs: made from its report, so that a list costs one request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from riverrun.checkpoint.statistics import CheckpointStatistics
from riverrun.cluster.job_report import (
    CheckpointGlance,
    FailureReport,
    JobReport,
    JobSummary,
    SubtaskReport,
)
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.sealed import OperatorKind

_GIVEN: Final = "numRecordsOutPerSecond"
_WAITED: Final = "backPressuredTimeMsPerSecond"
_LONGEST: Final = 300
"""Characters of a reason in a list."""


def summary_of(report: JobReport) -> JobSummary:
    """A job as lists show it."""
    subtasks = [subtask for vertex in report.vertices for subtask in vertex.subtasks]
    times = [time for time in report.timestamps.values() if time > 0]
    latest = None if report.checkpoints is None else report.checkpoints.latest
    runs = report.status == JobStatus.RUNNING.value
    failure = report.failure or (report.failures[-1] if report.failures else None)
    return JobSummary(
        id=report.id,
        name=report.name,
        status=report.status,
        start=report.start,
        end=report.end,
        last_modification=max(times, default=report.start),
        tasks=dict(Counter(subtask.current.status for subtask in subtasks)),
        status_text=report.status_text,
        records_per_second=_given(report) if runs else None,
        back_pressure=_waited(subtasks) if runs else None,
        restarts=report.restarts,
        last_checkpoint=None if latest is None else _glance(latest.completed),
        last_failed_checkpoint=None if latest is None else _glance(latest.failed),
        failure=None if failure is None else _in_words(failure),
    )


def first_line(text: str) -> str:
    r"""The first line with something in it, cut where it is too long for a list.

    >>> first_line(" no such topic\n  at ...")
    'no such topic'
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 2]} …"


def _given(report: JobReport) -> float | None:
    """Records per second of all sources."""
    values = [
        metrics[_GIVEN]
        for vertex in report.vertices
        for name in [each.name for each in vertex.operators if each.kind is OperatorKind.SOURCE]
        for subtask in vertex.subtasks
        if _GIVEN in (metrics := subtask.operator_metrics.get(name, {}))
    ]
    return sum(values) if values else None


def _waited(subtasks: Iterable[SubtaskReport]) -> float | None:
    values = [each.metrics[_WAITED] for each in subtasks if _WAITED in each.metrics]
    return min(1.0, max(values) / 1000.0) if values else None


def _glance(found: CheckpointStatistics | None) -> CheckpointGlance | None:
    if found is None:
        return None
    failed = found.failure_timestamp
    return CheckpointGlance(
        id=found.id,
        at=found.totals.latest_ack_timestamp if failed is None else failed,
        duration=found.totals.end_to_end_duration
        if failed is None
        else failed - found.trigger_timestamp,
        is_savepoint=found.is_savepoint,
        failure=None
        if failed is None
        else first_line(found.failure_message or "no reason was told"),
    )


def _in_words(failure: FailureReport) -> str:
    words = first_line(f"{failure.type_name}: {failure.message}")
    return words if failure.operator is None else f"{failure.operator}: {words}"
