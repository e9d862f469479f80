"""What the client of a job may see of it: read on any thread, a moment old at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.cluster.checkpointing import Checkpointing
from riverrun.cluster.inquiries import TaskGone
from riverrun.cluster.job_master.attempt import JobAttempt, JobResources
from riverrun.cluster.job_master.job_view import JobView
from riverrun.cluster.job_master.preparation import Slots
from riverrun.cluster.job_master.reporting import JobFacts, job_report
from riverrun.cluster.job_master.reports import TaskReports
from riverrun.cluster.job_master.wishes import ClientWishes
from riverrun.cluster.job_report import JobReport
from riverrun.core.errors import Failure
from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.execution_graph import ExecutionGraph
from riverrun.graph.executor import FailureRecord
from riverrun.protocol.inquiries import Answer, Question


class SeenJob(ClientWishes):
    """The methods of a ``RunningJob`` by which clients look at it. On any thread.

    Its thread sets what is looked at.
    """

    _view: JobView
    _resources: JobResources
    _slots: Slots | None
    _attempt: JobAttempt | None = None
    _checkpointing: Checkpointing | None = None

    @property
    def execution(self) -> ExecutionGraph:
        """The job's subtasks and their states; read it as a snapshot that may be a moment old."""
        return self._resources.execution

    def processes(self) -> Mapping[tuple[str, int], int | None]:
        """The process of each subtask of the current attempt: task name and index -> process id."""
        attempt = self._attempt
        return {} if attempt is None else attempt.processes()

    def status(self) -> JobStatus:
        return self._view.status()

    def waiting_for(self) -> str | None:
        """What the next attempt waits for, if it waits for slots."""
        return None if self._slots is None else self._slots.waiting_for()

    def failure(self) -> Failure | None:
        return self._view.failure()

    def failures(self) -> Sequence[FailureRecord]:
        return self._view.failures()

    def net_runtime_ms(self) -> int:
        return self._view.runtime_ms()

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        attempt = self._attempt
        return {} if attempt is None else attempt.reports.metrics()

    def accumulators(self) -> Mapping[str, Any]:
        attempt = self._attempt
        return {} if attempt is None else attempt.reports.accumulators()

    def checkpoints(self) -> CheckpointingStatistics | None:
        checkpointing = self._checkpointing
        return None if checkpointing is None else checkpointing.statistics()

    def ask(self, task: SubtaskId, question: Question) -> Future[Answer]:
        """Ask a task of the current attempt; TaskGone when it is not connected."""
        attempt = self._attempt
        if attempt is None:
            raise TaskGone(f"job {self.name!r}: no task runs")
        return attempt.ask(task, question)

    def report(self) -> JobReport:
        """All that may be shown about the job, at this moment."""
        attempt, store = self._attempt, self._preparation.store
        return job_report(
            JobFacts(
                submission=self._submission,
                execution=self.execution,
                status=self._view.status(),
                times=self._view.times(),
                now=self._resources.time.millis(),
                reports=TaskReports() if attempt is None else attempt.reports,
                keys={} if attempt is None else attempt.places(),
                failures=self._view.failures(),
                failure=self._view.failure(),
                checkpoints=self.checkpoints(),
                checkpoint_folder=None if store is None else store.folder,
                rescales=self._rescales.history(),
                waiting_for=self.waiting_for(),
            )
        )
