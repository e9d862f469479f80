"""What happened to a job: exceptions, accumulators, its settings, its result."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from riverrun.cluster.job_report import FailureReport
from riverrun.core import options
from riverrun.core.lifecycle import JobStatus
from riverrun.rest.bodies.history import (
    ExceptionEntry,
    ExceptionHistory,
    Exceptions,
    ExecutionConfig,
    ExecutionResult,
    JobAccumulators,
    JobConfig,
    JobResult,
)
from riverrun.rest.context import RestContext
from riverrun.rest.handlers.savepoints import COMPLETED, IN_PROGRESS
from riverrun.rest.rendering import duration
from riverrun.rest.resource_ids import resource_id
from riverrun.rest.routing import Call, Index, Nothing, OfJob, Route
from riverrun.rest.vertex_rendering import accumulators_of

AboutJob: TypeAlias = Call[OfJob, Nothing, None]
_APPLICATION: Final = {
    JobStatus.FINISHED: "SUCCEEDED",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FAILED: "FAILED",
}
_MOST: Final = 20


class MaxExceptions(msgspec.Struct, frozen=True):
    """How many to show."""

    max_exceptions: Index = msgspec.field(name="maxExceptions", default=_MOST)


class WithSerialized(msgspec.Struct, frozen=True):
    """Whether accumulators are wanted serialized too: they never are."""

    include: bool = msgspec.field(name="includeSerializedValue", default=False)


def exceptions(rest: RestContext, call: Call[OfJob, MaxExceptions, None]) -> Exceptions:
    """What went wrong so far, also what the job recovered from; newest first."""
    failures = rest.dispatcher.job(call.path.job).failures[::-1]
    most = call.query.max_exceptions
    entries = [exception_entry(each) for each in failures[:most]]
    return Exceptions(history=ExceptionHistory(entries, truncated=len(failures) > most))


def exception_entry(failure: FailureReport) -> ExceptionEntry:
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
    )


def accumulators(rest: RestContext, call: Call[OfJob, WithSerialized, None]) -> JobAccumulators:
    """Accumulators of a job, over all its subtasks."""
    return JobAccumulators(user=accumulators_of(rest.dispatcher.job(call.path.job).accumulators))


def config(rest: RestContext, call: AboutJob) -> JobConfig:
    """A job's settings, with secrets masked."""
    job = rest.dispatcher.job(call.path.job)
    parallelism = max((vertex.parallelism for vertex in job.vertices), default=1)
    strategy = job.config.get(options.RESTART_STRATEGY.key, "default")
    return JobConfig(
        jid=job.id,
        name=job.name,
        execution_config=ExecutionConfig(
            restart_strategy=strategy,
            job_parallelism=options.PARALLELISM.get(job.config) or parallelism,
            object_reuse_mode=True,
            user_config=dict(sorted(job.config.items())),
        ),
    )


def result(rest: RestContext, call: AboutJob) -> ExecutionResult:
    """Whether a job has ended, and how."""
    job = rest.dispatcher.job(call.path.job)
    status = JobStatus(job.status)
    if not status.is_globally_terminal_state():
        return ExecutionResult(status=IN_PROGRESS)
    return ExecutionResult(
        status=COMPLETED,
        result=JobResult(
            id=job.id,
            application_status=_APPLICATION[status],
            accumulators={name: each.value for name, each in job.accumulators.items()},
            net_runtime=duration(job.start, job.end, job.made),
            failure_cause=None if job.failure is None else exception_entry(job.failure),
        ),
    )


ROUTES: Final = (
    Route(
        "GET",
        "/jobs/{jobid}/exceptions",
        exceptions,
        gives=Exceptions,
        of=OfJob,
        query=MaxExceptions,
        of_report=True,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/accumulators",
        accumulators,
        gives=JobAccumulators,
        of=OfJob,
        query=WithSerialized,
    ),
    Route("GET", "/jobs/{jobid}/config", config, gives=JobConfig, of=OfJob),
    Route("GET", "/jobs/{jobid}/execution-result", result, gives=ExecutionResult, of=OfJob),
)
