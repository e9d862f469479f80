"""The Dispatcher: all jobs of a JobManager, those that run and those that ran."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from riverrun.checkpoint.savepoint_store import dispose_savepoint
from riverrun.cluster.dispatcher.gateway import ClusterFacts, JobIsOver, UnknownJob
from riverrun.cluster.dispatcher.history import JobHistory
from riverrun.cluster.dispatcher.summary import summary_of
from riverrun.cluster.inquiries import TaskGone
from riverrun.cluster.job_report import JobReport, JobSummary
from riverrun.cluster.resources.requirements import Bounds
from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.ids import JobId, SubtaskId, VertexId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import RunningJob
from riverrun.protocol.inquiries import Answer, Question
from riverrun.storage.open import absolute_location, open_storage

log = logging.getLogger(__name__)

_FRESH_MS: Final = 100.0
"""A report this young is given again: a page asks for many parts of it at once."""
_EXECUTORS_FRESH_MS: Final = 1000.0
"""The same for the executors: Spark's JVM takes 10 ms to list them."""
_SLOW_WORK: Final = 4
"""How many slow wishes are carried out at a time."""


class ReportedJob(RunningJob, Protocol):
    """A running job that says all about itself: the JobMaster."""

    def report(self) -> JobReport:
        """All that may be shown about it, at this moment."""

    def requirements(self) -> Mapping[VertexId, Bounds]:
        """Between which parallelisms each vertex may run."""

    def require(self, bounds: Mapping[VertexId, Bounds]) -> None:
        """Set them; the job follows."""


@runtime_checkable
class JobWithTasks(Protocol):
    """A job whose tasks can be asked."""

    def ask(self, task: SubtaskId, question: Question) -> Future[Answer]:
        """Ask a task; TaskGone when it is not connected."""


@dataclass(slots=True)
class _Running:
    job: ReportedJob
    report: JobReport | None = None
    at: float = 0.0


class JobDispatcher:
    """Satisfies ``gateway.Dispatcher``.

    Args:
        facts: about the JobManager.
        task_managers: asks for the executors that are there.
        history: where reports of ended jobs go.
        config: the JobManager's settings, with the secrets that stores need.
        clock: for the age of reports.
    """

    def __init__(
        self,
        facts: ClusterFacts,
        task_managers: Callable[[], Sequence[TaskManager]],
        history: JobHistory,
        config: Mapping[str, str],
        clock: Clock | None = None,
    ) -> None:
        self._facts = facts
        self._task_managers = task_managers
        self._history = history
        self._config = config
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._running: dict[JobId, _Running] = {}
        self._listed: Sequence[TaskManager] = ()
        self._listed_at = -math.inf
        self._slow = ThreadPoolExecutor(_SLOW_WORK, thread_name_prefix="riverrun-dispatcher")
        self._ends: list[Callable[[JobReport], None]] = []

    def tell_ends(self, listener: Callable[[JobReport], None]) -> None:
        """Call ``listener`` with the last report of each job that ends for good, from any thread."""
        self._ends.append(listener)

    def add(self, job: ReportedJob) -> None:
        """Take in a job, in the place of one with the same id; its last report becomes history."""
        with self._lock:
            self._running[job.job_id] = _Running(job)
        threading.Thread(
            target=self._watch, args=(job,), name=f"riverrun-watch-{job.job_id}", daemon=True
        ).start()

    def load_history(self) -> None:
        """Take in what other JobManagers have archived since this one was made."""
        self._history.load()

    def close(self) -> None:
        """Carry out nothing any more; running jobs are not touched."""
        self._slow.shutdown(wait=False, cancel_futures=True)

    def facts(self) -> ClusterFacts:
        return self._facts

    def task_managers(self) -> Sequence[TaskManager]:
        now = self._clock.monotonic()
        if now - self._listed_at > _EXECUTORS_FRESH_MS:
            self._listed = self._task_managers()
            self._listed_at = now
        return self._listed

    def jobs(self) -> Sequence[JobSummary]:
        running = self.running_reports()
        known = {report.id for report in running}
        ended = [report for report in self._history.all() if report.id not in known]
        return [summary_of(report) for report in (*running[::-1], *ended)]

    def running_reports(self) -> list[JobReport]:
        """What there is to say about the jobs that have not ended."""
        return [self._report(each) for each in self._all_running()]

    def job(self, job: JobId) -> JobReport:
        running = self._find(job)
        if running is not None:
            return self._report(running)
        report = self._history.get(job)
        if report is None:
            raise UnknownJob(f"job {str(job)!r}: there is none, neither running nor in the history")
        return report

    def cancel(self, job: JobId) -> None:
        running = self._find(job)
        if running is not None:
            running.job.cancel()
        else:
            self.job(job)

    def trigger_checkpoint(self, job: JobId) -> Future[str]:
        running = self._alive(job)
        return self._slow.submit(running.trigger_checkpoint)

    def trigger_savepoint(self, job: JobId, target: str | None) -> Future[str]:
        return self._alive(job).trigger_savepoint(target)

    def stop_with_savepoint(self, job: JobId, target: str | None, *, drain: bool) -> Future[str]:
        return self._alive(job).stop_with_savepoint(target, drain=drain)

    def dispose_savepoint(self, location: str) -> Future[None]:
        place = absolute_location(location)
        return self._slow.submit(self._dispose, place)

    def rescale(self, job: JobId, parallelism: int | Mapping[str, int]) -> Future[None]:
        return self._alive(job).rescale(parallelism)

    def requirements(self, job: JobId) -> Mapping[str, Bounds]:
        return {vertex.value: each for vertex, each in self._alive(job).requirements().items()}

    def require(self, job: JobId, bounds: Mapping[str, Bounds]) -> None:
        self._alive(job).require({VertexId(name): each for name, each in bounds.items()})

    def ask(self, job: JobId, task: SubtaskId, question: Question) -> Future[Answer]:
        running = self._alive(job)
        if not isinstance(running, JobWithTasks):
            raise TaskGone(f"job {running.name!r} ({job}): has no tasks yet")
        return running.ask(task, question)

    def knows(self, job: JobId) -> bool:
        """Whether there is such a job, running or ended."""
        return self._find(job) is not None or self._history.get(job) is not None

    def running(self, job: JobId) -> ReportedJob | None:
        """The job itself, while it runs."""
        found = self._find(job)
        return None if found is None else found.job

    def _dispose(self, location: str) -> None:
        dispose_savepoint(open_storage(location, self._config), location)

    def _all_running(self) -> list[_Running]:
        with self._lock:
            return list(self._running.values())

    def _find(self, job: JobId) -> _Running | None:
        with self._lock:
            return self._running.get(job)

    def _alive(self, job: JobId) -> ReportedJob:
        running = self._find(job)
        if running is None:
            report = self.job(job)
            raise JobIsOver(f"job {report.name!r} ({job}): is {report.status} already")
        return running.job

    def _report(self, running: _Running) -> JobReport:
        now = self._clock.monotonic()
        report = running.report
        if report is None or now - running.at > _FRESH_MS:
            report = running.report = running.job.report()
            running.at = now
        return report

    def _watch(self, job: ReportedJob) -> None:
        status = job.wait()
        running = self._find(job.job_id)
        if running is None or running.job is not job:
            return  # another object stands for the job now
        if status is not JobStatus.SUSPENDED:
            # Another JobManager goes on with a suspended job: it is not history yet.
            report = job.report()
            self._history.add(report)
            for listener in self._ends:
                listener(report)
        with self._lock:
            if self._running.get(job.job_id) is running:
                del self._running[job.job_id]
        log.info("job ended job=%s status=%s", job.job_id, status.value)
