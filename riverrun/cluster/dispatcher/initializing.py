"""A job that was accepted and does not run yet: it waits for slots, or is being prepared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

from riverrun.cluster.dispatcher.gateway import JobIsOver
from riverrun.cluster.job_master.reporting import failure_report
from riverrun.cluster.job_report import JobReport
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import CheckpointFailed, Failure
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JOB_MOVES, JobStatus, Life
from riverrun.core.secrets import masked_settings
from riverrun.graph.executor import FailureRecord, JobSubmission


class InitializingJob:
    """Stands for a job until its JobMaster does.

    Args:
        submission: the job.
        waiting_for: what it waits for, in words.
        give_up: called when it is cancelled before it runs.
        clock: for timestamps.
    """

    def __init__(
        self,
        submission: JobSubmission,
        waiting_for: Callable[[], str | None] = lambda: None,
        give_up: Callable[[], None] = lambda: None,
        clock: Clock | None = None,
    ) -> None:
        self._submission = submission
        self._waiting_for = waiting_for
        self._give_up = give_up
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._times = {JobStatus.INITIALIZING: self._clock.now()}
        self._life = Life(f"job {submission.name!r}", JobStatus.INITIALIZING, JOB_MOVES)
        self._failure: Failure | None = None
        self._over = threading.Event()
        self.is_cancelled = False
        """Whether it is not wanted any more."""
        self.is_suspended = False
        """Whether it is not wanted here."""

    @property
    def job_id(self) -> JobId:
        return self._submission.job

    @property
    def name(self) -> str:
        return self._submission.name

    def status(self) -> JobStatus:
        return self._life.state

    def failure(self) -> Failure | None:
        return self._failure

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Wait until it will not run."""
        if not self._over.wait(timeout):
            raise TimeoutError(f"job {self.name!r} is {self.status().value} after {timeout} s")
        return self.status()

    def cancel(self) -> None:
        """Not wanted any more: it stays INITIALIZING until it is known whether it began to run."""
        self.is_cancelled = True
        if not self._over.is_set():
            self._give_up()

    def suspend(self) -> None:
        """Another JobManager will run it, or this one later."""
        self.is_suspended = True
        if not self._over.is_set():
            self._give_up()

    def started(self) -> None:
        """Its JobMaster stands for it now."""
        self._over.set()

    def refused(self, error: BaseException) -> None:
        """It will not run."""
        with self._lock:
            if self.is_cancelled:
                states = [JobStatus.CANCELLING, JobStatus.CANCELED]
            elif self.is_suspended:
                states = [JobStatus.SUSPENDED]
            else:
                states = [JobStatus.FAILED]
                self._failure = failure_of(error)
            for state in states:
                self._life.go(state)
                self._times[state] = self._clock.now()
        self._over.set()

    def report(self) -> JobReport:
        with self._lock:
            status, failure, times = self.status(), self._failure, dict(self._times)
        shown = None if failure is None else failure_report(failure, times[status])
        return JobReport(
            id=str(self.job_id),
            name=self.name,
            status=status.value,
            timestamps={each.value: times.get(each, 0) for each in JobStatus},
            start=times[JobStatus.INITIALIZING],
            end=times[status] if status.is_terminal_state() else -1,
            made=self._clock.now(),
            config=masked_settings(self._submission.config),
            failures=() if shown is None else (shown,),
            failure=shown,
            status_text=None if status.is_terminal_state() else self._waiting_for(),
        )

    def net_runtime_ms(self) -> int:
        return 0

    def failures(self) -> Sequence[FailureRecord]:
        return ()

    def checkpoints(self) -> None:
        return None

    def dispose_savepoint(self, location: str) -> NoReturn:
        raise JobIsOver(f"{self._not_yet()} (savepoint {location!r})")

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        return {}

    def accumulators(self) -> Mapping[str, Any]:
        return {}

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        del timeout
        raise CheckpointFailed(self._not_yet())

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        del target
        raise CheckpointFailed(self._not_yet())

    def stop_with_savepoint(self, target: str | None = None, *, drain: bool = False) -> Future[str]:
        del target, drain
        raise CheckpointFailed(self._not_yet())

    def rescale(self, parallelism: Any) -> NoReturn:
        del parallelism
        raise JobIsOver(self._not_yet())

    def requirements(self) -> NoReturn:
        raise JobIsOver(self._not_yet())

    def require(self, bounds: Any) -> NoReturn:
        del bounds
        raise JobIsOver(self._not_yet())

    def _not_yet(self) -> str:
        return f"job {self.name!r} ({self.job_id}): does not run yet; ask again when it is RUNNING"
