"""What happened to a job: exceptions, accumulators, its settings, its result."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from riverrun.core import options
from riverrun.core.lifecycle import JobStatus
from riverrun.rest.bodies.history import (
    ExceptionHistory,
    Exceptions,
    ExecutionConfig,
    ExecutionResult,
    JobAccumulators,
    JobConfig,
    JobResult,
)
from riverrun.rest.context import RestContext
from riverrun.rest.failure_rendering import exception_entry, exception_history
from riverrun.rest.handlers.savepoints import COMPLETED, IN_PROGRESS
from riverrun.rest.rendering import duration
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
    entries = exception_history(rest.dispatcher.job(call.path.job))
    most = call.query.max_exceptions
    return Exceptions(history=ExceptionHistory(entries[:most], truncated=len(entries) > most))


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
