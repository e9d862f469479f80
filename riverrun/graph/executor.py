"""The seam between the program side and the engine side: ``execute()`` goes through here.

``datastream`` builds a ``JobSubmission`` and hands it to a ``JobExecutor``; ``riverrun.spark`` and
``riverrun.local`` implement it. Neither side imports the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from riverrun.core.errors import Failure
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.job_graph import JobGraph


@dataclass(frozen=True, slots=True)
class JobSubmission:
    """A compiled program and what the engine must know to run it."""

    job: JobId
    name: str
    graph: JobGraph
    config: Mapping[str, str] = field(default_factory=dict)
    client_handlers: Mapping[str, Callable[[int, Sequence[Any]], None]] = field(
        default_factory=dict
    )
    """Operator id -> what to call in this process with (subtask, values) that the sink sent."""


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


class JobExecutor(Protocol):
    """Runs compiled programs."""

    def submit(self, submission: JobSubmission) -> RunningJob:
        """Start the job and return at once.

        Raises ProgramError or ExternalError when it cannot start.
        """

    def close(self) -> None:
        """Release everything that this executor started by itself; cancels jobs that still run."""
