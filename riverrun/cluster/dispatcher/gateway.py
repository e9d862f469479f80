"""What can be asked of a JobManager: the seam between the REST interface and the control plane.

Calls may come from any thread. Those that return a ``Future`` return at once; the others take a moment
and never wait for a task, a store or Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

import msgspec

from riverrun.cluster.job_report import JobReport, JobSummary
from riverrun.cluster.resources.requirements import Bounds
from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.errors import ProgramError
from riverrun.core.ids import JobId, SubtaskId
from riverrun.protocol.inquiries import Answer, Question


class UnknownJob(ProgramError):  # noqa: N818
    """There is no such job, now or in the history."""


class JobIsKnown(ProgramError):  # noqa: N818
    """There is a job with this id already."""


class JobIsOver(ProgramError):  # noqa: N818
    """What was asked needs a job that runs, and it has ended."""


class Submissions(Protocol):
    """Takes jobs that come from other processes."""

    @property
    def artifacts(self) -> ArtifactStore:
        """Files that came with them."""

    def submit(self, request: SubmitRequest) -> JobId:
        """Accept a job and return.

        MalformedGraph, ArtifactMissing; JobIsKnown for an id that another job has.
        """

    def values(self, job: JobId) -> ClientValues:
        """Values on their way to the job's client; UnknownJob."""


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The JobManager itself."""

    version: str
    commit: str
    master: str
    """Spark's."""
    config: dict[str, str]
    """With secrets masked."""
    started: int


class Dispatcher(Protocol):
    """Satisfied by ``dispatcher.dispatcher.JobDispatcher``."""

    def facts(self) -> ClusterFacts:
        """About the JobManager."""

    def task_managers(self) -> Sequence[TaskManager]:
        """The executors that are there now."""

    def jobs(self) -> Sequence[JobSummary]:
        """Running jobs and those of the history, newest first."""

    def job(self, job: JobId) -> JobReport:
        """All about one job; UnknownJob."""

    def cancel(self, job: JobId) -> None:
        """Ask the job to stop. Does nothing to a job that has ended; UnknownJob."""

    def trigger_checkpoint(self, job: JobId) -> Future[str]:
        """Take a checkpoint; gives its location. UnknownJob, JobIsOver."""

    def trigger_savepoint(self, job: JobId, target: str | None) -> Future[str]:
        """Take a savepoint below ``target``; gives its location. UnknownJob, JobIsOver, ConfigError."""

    def stop_with_savepoint(self, job: JobId, target: str | None, *, drain: bool) -> Future[str]:
        """Stop with a savepoint; gives its location. UnknownJob, JobIsOver, ConfigError."""

    def dispose_savepoint(self, location: str) -> Future[None]:
        """Delete a savepoint."""

    def rescale(self, job: JobId, parallelism: int | Mapping[str, int]) -> Future[None]:
        """Change the parallelism of all vertices, or of some by id, uid or name.

        RescaleRefused, TooFewSlots, UnknownJob, JobIsOver.
        """

    def requirements(self, job: JobId) -> Mapping[str, Bounds]:
        """Vertex id -> between which parallelisms it may run; UnknownJob, JobIsOver."""

    def require(self, job: JobId, bounds: Mapping[str, Bounds]) -> None:
        """Set them for all vertices; the job follows. RescaleRefused, UnknownJob, JobIsOver."""

    def ask(self, job: JobId, task: SubtaskId, question: Question) -> Future[Answer]:
        """Ask a task of a running job something; UnknownJob, JobIsOver, TaskGone."""
