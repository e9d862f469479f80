"""What went wrong in a job, as the exception history shows it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from riverrun.cluster.job_report import AttemptReport, FailureReport, JobReport, VertexReport
from riverrun.rest.bodies.history import ExceptionEntry
from riverrun.rest.resource_ids import resource_id


def exception_history(job: JobReport) -> list[ExceptionEntry]:
    """Every failure that is remembered, newest first, each with those of the same attempt."""
    entries = []
    for failure in reversed(job.failures):
        others = _others(failure, job)
        told = _with_last_words(failure, job.failure)
        entries.append(exception_entry(told, concurrent=[exception_entry(each) for each in others]))
    return entries


def exception_entry(
    failure: FailureReport, *, concurrent: list[ExceptionEntry] | None = None
) -> ExceptionEntry:
    """A failure as the history shows it."""
    labels = {
        "operator": failure.operator,
        "subtask": None if failure.subtask is None else str(failure.subtask),
        "record": failure.record,
        "hint": failure.hint,
        "attempt": str(failure.attempt),
    }
    where = failure.task or ""
    if where and failure.subtask is not None:
        where = f"{where} ({failure.subtask})"
    return ExceptionEntry(
        exception_name=failure.type_name,
        message=failure.message,
        stacktrace=failure.traceback or f"{failure.type_name}: {failure.message}",
        timestamp=failure.at,
        task_name=where,
        endpoint=failure.host or "",
        task_manager="" if failure.task_manager is None else resource_id(failure.task_manager),
        labels={name: value for name, value in labels.items() if value is not None},
        concurrent=concurrent or [],
    )


def _with_last_words(failure: FailureReport, last: FailureReport | None) -> FailureReport:
    """The failure that ended the job also says why the job was not started again."""
    if last is None or failure.hint or not _same(failure, last):
        return failure
    return msgspec.structs.replace(failure, hint=last.hint)


def _others(failure: FailureReport, job: JobReport) -> Iterator[FailureReport]:
    """What functions of other subtasks raised in the same attempt; what only followed from it is left out."""
    if failure.task is None:
        return
    for vertex, index, attempt in _attempts(job):
        other = attempt.failure
        is_cause = (vertex.name, index) == (failure.task, failure.subtask)
        if other is None or other.operator is None or is_cause:
            continue
        if attempt.attempt == failure.attempt:
            yield msgspec.structs.replace(
                other, host=attempt.host, task_manager=attempt.task_manager
            )


def _attempts(job: JobReport) -> Iterator[tuple[VertexReport, int, AttemptReport]]:
    for vertex in job.vertices:
        for subtask in vertex.subtasks:
            for attempt in (*subtask.past, subtask.current):
                yield vertex, subtask.index, attempt


def _same(failure: FailureReport, last: FailureReport) -> bool:
    names = ("type_name", "message", "task", "subtask", "attempt")
    return all(getattr(failure, name) == getattr(last, name) for name in names)
