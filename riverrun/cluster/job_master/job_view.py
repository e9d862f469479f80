"""What others see of a job: written by the job's thread, read from any."""

from __future__ import annotations

import threading

from riverrun.core.clock import Clock
from riverrun.core.errors import Failure
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import FailureRecord


class JobView:
    """Where a job stands, what went wrong, and how long it ran."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._status = JobStatus.INITIALIZING
        self._times = {JobStatus.INITIALIZING: clock.now()}
        self._failure: Failure | None = None
        self._failures: tuple[FailureRecord, ...] = ()
        self._began: float | None = None
        self._ended: float | None = None
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether ``end`` was called."""
        return self._over.is_set()

    def begin(self) -> None:
        """The job starts."""
        self._began = self._clock.monotonic()

    def show(self, status: JobStatus, failures: tuple[FailureRecord, ...]) -> None:
        """Show where the job stands.

        An end is shown by ``end``, so that nobody sees a job that is over and still there.
        """
        with self._lock:
            self._failures = failures
            if not status.is_terminal_state():
                self._go(status)

    def end(self, status: JobStatus, failure: Failure | None) -> None:
        """The job is over and everything is released."""
        self._ended = self._clock.monotonic()
        with self._lock:
            self._failure = failure
            self._go(status)
        self._over.set()

    def wait(self, timeout: float | None) -> bool:
        """Wait for the end; whether it came."""
        return self._over.wait(timeout)

    def status(self) -> JobStatus:
        """Where the job stands."""
        with self._lock:
            return self._status

    def times(self) -> dict[JobStatus, int]:
        """When the job last came to each status that it has had."""
        with self._lock:
            return dict(self._times)

    def failure(self) -> Failure | None:
        """Why it failed, once it has."""
        with self._lock:
            return self._failure

    def failures(self) -> tuple[FailureRecord, ...]:
        """What went wrong so far, oldest first."""
        with self._lock:
            return self._failures

    def _go(self, status: JobStatus) -> None:
        if status is not self._status:
            self._status = status
            self._times[status] = self._clock.now()

    def runtime_ms(self) -> int:
        """From its start until its end, or until now."""
        if self._began is None:
            return 0
        return int((self._ended or self._clock.monotonic()) - self._began)
