"""Bodies about what happened to a job: exceptions, results, changes of parallelism, settings."""

from __future__ import annotations

import msgspec

from riverrun.rest.bodies.operations import QueueStatus
from riverrun.rest.bodies.vertices import UserAccumulator


class ExceptionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that went wrong, with the user's own traceback where it was the user's code."""

    exception_name: str = msgspec.field(name="exceptionName")
    message: str = ""
    stacktrace: str
    timestamp: int
    task_name: str = msgspec.field(name="taskName", default="")
    endpoint: str = ""
    task_manager: str = msgspec.field(name="taskManagerId", default="")
    labels: dict[str, str] = msgspec.field(name="failureLabels", default_factory=dict)
    """Operator, record and hint, where they are known."""
    concurrent: list[ExceptionEntry] = msgspec.field(
        name="concurrentExceptions", default_factory=list
    )


class ExceptionHistory(msgspec.Struct, frozen=True):
    """Newest first."""

    entries: list[ExceptionEntry]
    truncated: bool


class Exceptions(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong so far, also what the job recovered from."""

    history: ExceptionHistory = msgspec.field(name="exceptionHistory")


class JobAccumulators(msgspec.Struct, frozen=True, kw_only=True):
    """Accumulators of a job, over all its subtasks."""

    job_accumulators: list[UserAccumulator] = msgspec.field(
        name="job-accumulators", default_factory=list
    )
    user: list[UserAccumulator] = msgspec.field(name="user-task-accumulators")
    serialized: dict[str, str] = msgspec.field(
        name="serialized-user-task-accumulators", default_factory=dict
    )


class ExecutionConfig(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """How a job runs."""

    restart_strategy: str
    job_parallelism: int
    object_reuse_mode: bool
    user_config: dict[str, str]


class JobConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A job's settings, with secrets masked."""

    jid: str
    name: str
    execution_config: ExecutionConfig = msgspec.field(name="execution-config")


class JobResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a job ended."""

    id: str
    application_status: str = msgspec.field(name="application-status")
    accumulators: dict[str, str] = msgspec.field(name="accumulator-results")
    net_runtime: int = msgspec.field(name="net-runtime")
    failure_cause: ExceptionEntry | None = msgspec.field(name="failure-cause", default=None)


class ExecutionResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a job has ended, and how."""

    status: QueueStatus
    result: JobResult | None = msgspec.field(name="job-execution-result", default=None)


class ParallelismBounds(msgspec.Struct, frozen=True, kw_only=True):
    """Between which parallelisms a vertex may run."""

    lower: int = msgspec.field(name="lowerBound", default=1)
    upper: int = msgspec.field(name="upperBound")


class VertexRequirements(msgspec.Struct, frozen=True, kw_only=True):
    """What a vertex needs."""

    parallelism: ParallelismBounds


class RescaleEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of parallelism."""

    id: str = msgspec.field(name="rescaleUuid")
    started: int = msgspec.field(name="startTimestampInMillis")
    ended: int | None = msgspec.field(name="endTimestampInMillis", default=None)
    state: str | None = msgspec.field(name="terminalState", default=None)
    cause: str | None = msgspec.field(name="triggerCause", default=None)
    failure: str | None = msgspec.field(name="failureMessage", default=None)
    vertices: dict[str, VertexRescale]


class VertexRescale(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one vertex."""

    vertex: str = msgspec.field(name="jobVertexId")
    name: str = msgspec.field(name="jobVertexName")
    before: int = msgspec.field(name="preRescaleParallelism")
    after: int = msgspec.field(name="postRescaleParallelism")
    desired: int = msgspec.field(name="desiredParallelism")


class RescaleCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many changes there were."""

    in_progress: int = msgspec.field(name="inProgress", default=0)
    completed: int = 0
    failed: int = 0
    ignored: int = 0


class LatestRescales(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest of each kind."""

    completed: RescaleEntry | None = None
    failed: RescaleEntry | None = None


class RescalesOverview(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of parallelism at a glance."""

    latest: LatestRescales
    counts: RescaleCounts = msgspec.field(name="rescalesCounts")
