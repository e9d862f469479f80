"""Results that are read while the job runs."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Self

from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.job_client import check_outcome
from riverrun.graph.executor import RunningJob

__all__ = ["CloseableIterator"]

_CAPACITY: Final = 10_000
"""Records that wait for the reader; above it the job waits."""
_MOST_RUNS: Final = 8
"""Runs that wait for the reader: a run is bounded in bytes, a record is not."""
_LOOK_S: Final = 0.1
"""How often a blocked delivery looks whether anyone still wants it."""
_GIVEN_UP: Final = frozenset(
    {JobStatus.CANCELLING, JobStatus.CANCELED, JobStatus.FAILING, JobStatus.FAILED}
)


class ResultBuffer:
    """Runs of records between the job's delivery thread and the reader; holds the job when full."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._changed = threading.Condition()
        self._values: deque[Any] = deque()
        self._runs = 0
        self._job: RunningJob | None = None
        self._end: JobStatus | None = None
        self._closed = False

    def __call__(self, subtask: int, values: Sequence[Any]) -> None:
        """Take a run; waits while the buffer is full, unless the results are not wanted any more."""
        del subtask
        with self._changed:
            while self._is_full() and self._is_wanted():
                self._changed.wait(_LOOK_S)
            if not self._closed:
                self._values.extend(values)
                self._runs += 1
                self._changed.notify_all()

    def attach(self, job: RunningJob) -> None:
        """Say which job fills this buffer."""
        self._job = job

    def end(self, status: JobStatus) -> None:
        """Nothing more will come."""
        with self._changed:
            self._end = status
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more is wanted."""
        with self._changed:
            self._closed = True
            self._values.clear()
            self._changed.notify_all()

    def take(self) -> deque[Any] | None:
        """All that is there, after waiting for something; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._values or self._end or self._closed)
            if not self._values:
                return None
            values, self._values = self._values, deque()
            self._runs = 0
            self._changed.notify_all()
            return values

    def _is_full(self) -> bool:
        return len(self._values) >= self._capacity or self._runs >= _MOST_RUNS

    def _is_wanted(self) -> bool:
        return not self._closed and (self._job is None or self._job.status() not in _GIVEN_UP)


class CloseableIterator(Iterator[Any]):
    """The results of a running job, in the order of their arrival.

    It ends when the job does, and raises JobFailed when the job failed. ``close`` (or leaving a
    ``with`` block) cancels a job that still runs; so does dropping the iterator.
    """

    def __init__(self, results: ResultBuffer, job: RunningJob) -> None:
        self._results = results
        self._job = job
        self._at_hand: deque[Any] = deque()
        self._over = False
        results.attach(job)
        self._watcher = threading.Thread(
            target=_watch, args=(results, job), name="riverrun-collect", daemon=True
        )
        self._watcher.start()
        self._finalizer = weakref.finalize(self, _abandon, results, job)

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        if not self._at_hand:
            self._fetch()
        return self._at_hand.popleft()

    def next(self) -> Any:
        """The next result; StopIteration at the end."""
        return self.__next__()

    def close(self) -> None:
        """Cancel the job if it still runs, and wait until it is gone. May be called twice."""
        self._over = True
        self._at_hand.clear()
        self._finalizer()
        self._job.wait()
        self._watcher.join()

    def _fetch(self) -> None:
        if self._over:
            raise StopIteration
        try:
            values = self._results.take()
        except BaseException:
            self.close()
            raise
        if values is None:
            self._over = True
            check_outcome(self._job, self._job.wait())
            raise StopIteration
        self._at_hand = values

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _watch(results: ResultBuffer, job: RunningJob) -> None:
    results.end(job.wait())


def _abandon(results: ResultBuffer, job: RunningJob) -> None:
    if not job.status().is_globally_terminal_state():
        job.cancel()
    results.close()
