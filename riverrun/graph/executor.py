"""The seam between the program side and the engine side: ``execute()`` goes through here.

``datastream`` builds a ``JobSubmission`` and hands it to a ``JobExecutor``; ``riverrun.spark`` and
``riverrun.local`` implement it. Neither side imports the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt, JobId, Millis
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.program_code import ProgramCode
from riverrun.graph.rescaling import Parallelism


@dataclass(frozen=True, slots=True)
class JobSubmission:
    """A compiled program and what the engine must know to run it."""

    job: JobId
    name: str
    graph: JobGraph
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    client_handlers: Mapping[str, Callable[[int, Sequence[Any]], None]] = field(
        default_factory=dict
    )
    """Operator id -> what to call in this process with (subtask, values) that the sink sent."""
    restore_from: str | None = None
    """A checkpoint to start from: its folder, or its `_metadata` file."""
    allow_non_restored: bool = False
    """Whether state in ``restore_from`` that no operator of the program claims may be left behind."""
    resume: bool = False
    """Go on from the latest checkpoint in this job's own folder, if there is one.

    For a job whose JobMaster is gone; comes before ``restore_from``.
    """
    code: ProgramCode | None = None
    """What its functions import; ``None``: what this process can."""


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """Something that went wrong while a job ran, whether the job survived it or not."""

    at: Millis
    """When the cause was known, in milliseconds since the epoch."""
    failure: Failure
    attempt: Attempt
    task: str | None
    """Name of the task it began in, if it began in one."""


class RunningJob(Protocol):
    """A submitted job, seen from the client. All methods may be called from any thread."""

    @property
    def job_id(self) -> JobId:
        """The job's id."""

    @property
    def name(self) -> str:
        """The job's name."""

    def status(self) -> JobStatus:
        """Where the job stands now."""

    def cancel(self) -> None:
        """Ask the job to stop; returns at once. A second call, or a call after the end, does nothing."""

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Block until the job is in a terminal state and all its resources are gone.

        Raises TimeoutError after ``timeout`` seconds. Does not raise when the job failed.
        """

    def failure(self) -> Failure | None:
        """Why the job failed, once it has."""

    def net_runtime_ms(self) -> int:
        """How long the job ran (so far)."""

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        """Latest metric values: "<task name>.<subtask>[.<operator name>]" -> metric name -> value."""

    def accumulators(self) -> Mapping[str, Any]:
        """Accumulator results by name (as far as reported)."""

    def failures(self) -> Sequence[FailureRecord]:
        """What went wrong so far, oldest first; the oldest of very many are forgotten."""

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        """Take a checkpoint now, beside the periodic ones, and wait until it is complete.

        Returns:
            Where it is.

        Raises:
            CheckpointFailed: there is none, and why.
            TimeoutError: not within ``timeout`` seconds; it may complete later.
        """

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        """Take a savepoint, beside all checkpoints, while the job goes on.

        Args:
            target: in which folder; where the configuration says if there is none.

        Returns:
            Where the savepoint is, once it is complete; CheckpointFailed if there is none, and why.

        Raises:
            ConfigError: nobody says where, or it is a relative path.
            CheckpointFailed: the job has ended.
        """

    def stop_with_savepoint(self, target: str | None = None, *, drain: bool = False) -> Future[str]:
        """Stop the job with a savepoint: nothing is emitted that is not in it, and all is committed.

        With ``drain`` event time goes to its end before, so that windows and timers fire: for a job
        that will not go on. What it returns and raises is that of ``trigger_savepoint``; it is there
        when the job is over. If there is no savepoint, the job goes on.
        """

    def rescale(self, parallelism: Parallelism) -> Future[None]:
        """Go on with other parallelisms: take a checkpoint, stop, and start again from it.

        Args:
            parallelism: for every vertex whose parallelism the program leaves open; or by uid, operator
                name or vertex id.

        Returns:
            Done when all tasks of the new attempt run; RescaleFailed if it does not come to that. If
            there is no checkpoint the job goes on as it was.

        Raises:
            RescaleRefused: the program cannot run so.
            TooFewSlots: the cluster has no room for it.
            RescaleFailed: the job has ended.
        """

    def dispose_savepoint(self, location: str) -> None:
        """Delete a savepoint, whichever job took it: its own files and no others.

        Raises:
            ProgramError: it is not a savepoint, or belongs to a job that claimed it.
            ExternalError: there is none, or the store does not delete it.
        """

    def checkpoints(self) -> Any:
        """How the job's checkpoints went: a ``riverrun.checkpoint.statistics.CheckpointStatistics``.

        ``None`` when the job takes no checkpoints.
        """


class JobExecutor(Protocol):
    """Runs compiled programs."""

    def submit(self, submission: JobSubmission) -> RunningJob:
        """Start the job and return at once.

        Raises ProgramError or ExternalError when it cannot start.
        """

    def close(self) -> None:
        """Release everything that this executor started by itself; cancels jobs that still run."""
