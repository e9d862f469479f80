"""A job on another process's JobManager, as the program that sent it sees it."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from riverrun.client.connection import JobManagerGone, RequestRefused
from riverrun.client.job_manager import JobManagerClient
from riverrun.cluster.submission.client_values import ValueRun
from riverrun.core.errors import Failure, RiverrunError
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import Attempt, JobId, Millis
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import FailureRecord
from riverrun.graph.rescaling import Parallelism
from riverrun.rest.bodies.checkpoints import CheckpointsBody
from riverrun.rest.bodies.history import ExceptionEntry
from riverrun.rest.bodies.vertices import VertexDetail

log = logging.getLogger(__name__)

Handler = Callable[[int, Sequence[Any]], None]
_POLL_S: Final = 10.0
_LOOK_S: Final = 0.2
_GONE_S: Final = 60.0
"""How long a JobManager may be silent before its client gives up: it may be another's turn to lead."""


class RemoteJob:
    """Satisfies ``RunningJob`` over REST.

    Args:
        client: the JobManager.
        job: the job's id.
        name: the job's name.
        handlers: operator id -> what to call with the values that its sink sends here.
    """

    def __init__(
        self, client: JobManagerClient, job: JobId, name: str, handlers: Mapping[str, Handler]
    ) -> None:
        self._client = client
        self._job = job
        self._name = name
        self._handlers = handlers
        self._handler_failure: Failure | None = None
        self._values_over = threading.Event()
        if handlers:
            threading.Thread(
                target=self._take_values, name=f"riverrun-values-{job}", daemon=True
            ).start()
        else:
            self._values_over.set()

    @property
    def job_id(self) -> JobId:
        return self._job

    @property
    def name(self) -> str:
        return self._name

    def status(self) -> JobStatus:
        return JobStatus(self._client.status(self._job))

    def cancel(self) -> None:
        self._client.cancel(self._job)

    def wait(self, timeout: float | None = None) -> JobStatus:
        end = None if timeout is None else time.monotonic() + timeout
        silent_since: float | None = None
        while True:
            try:
                status = self.status()
                silent_since = None
                if status.is_globally_terminal_state():
                    break
            except JobManagerGone:
                silent_since = silent_since or time.monotonic()
                if time.monotonic() - silent_since > _GONE_S:
                    raise
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {self._name!r} ({self._job}) still runs after {timeout} s")
            time.sleep(_LOOK_S)
        self._values_over.wait(_GONE_S)
        return JobStatus.FAILED if self._handler_failure is not None else status

    def failure(self) -> Failure | None:
        if self._handler_failure is not None:
            return self._handler_failure
        result = self._client.result(self._job).result
        if result is None or result.failure_cause is None:
            return None
        return _failure(result.failure_cause)

    def failures(self) -> Sequence[FailureRecord]:
        entries = self._client.exceptions(self._job).history.entries
        return [_record(entry) for entry in entries[::-1]]

    def net_runtime_ms(self) -> int:
        return max(0, self._client.job(self._job).duration)

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        values: dict[str, dict[str, float]] = {}
        for vertex in self._client.job(self._job).vertices:
            path = f"/jobs/{self._job}/vertices/{vertex.id}"
            detail = self._client.connection.get(path, VertexDetail)
            for subtask in detail.subtasks:
                values[f"{vertex.name}.{subtask.subtask}"] = {
                    "numRecordsIn": float(subtask.metrics.read_records),
                    "numRecordsOut": float(subtask.metrics.write_records),
                    "numBytesIn": float(subtask.metrics.read_bytes),
                    "numBytesOut": float(subtask.metrics.write_bytes),
                }
        return values

    def accumulators(self) -> Mapping[str, Any]:
        result = self._client.result(self._job).result
        return {} if result is None else dict(result.accumulators)

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        return self._client.checkpoint(self._job).result(timeout)

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        return self._client.savepoint(self._job, target)

    def stop_with_savepoint(self, target: str | None = None, *, drain: bool = False) -> Future[str]:
        return self._client.stop(self._job, target, drain=drain)

    def dispose_savepoint(self, location: str) -> None:
        self._client.dispose(location).result()

    def rescale(self, parallelism: Parallelism) -> Future[None]:
        return self._client.rescale(self._job, parallelism)

    def checkpoints(self) -> CheckpointsBody | None:
        try:
            return self._client.connection.get(f"/jobs/{self._job}/checkpoints", CheckpointsBody)
        except RequestRefused:
            return None

    def _take_values(self) -> None:
        after, is_last = 0, False
        silent_since: float | None = None
        try:
            while not is_last:
                try:
                    is_last, runs = self._client.values(self._job, after, _POLL_S)
                    silent_since = None
                except JobManagerGone:
                    silent_since = silent_since or time.monotonic()
                    if time.monotonic() - silent_since > _GONE_S:
                        raise
                    time.sleep(_LOOK_S)
                    continue
                for run in runs:
                    if not self._handed_over(run):
                        self._client.cancel(self._job)
                        return
                    after = run.number
        except RiverrunError as e:
            log.warning("values of the job do not come any more job=%s reason=%s", self._job, e)
        finally:
            self._client.connection.close_own()
            self._values_over.set()

    def _handed_over(self, run: ValueRun) -> bool:
        try:
            self._handlers[run.operator](run.subtask, pickle.loads(run.payload))
        except Exception as e:  # noqa: BLE001  (the program's own handler: its failure is the job's)
            self._handler_failure = failure_of(e)
            return False
        return True


def _record(entry: ExceptionEntry) -> FailureRecord:
    failure = _failure(entry)
    attempt = Attempt(int(entry.labels.get("attempt", "0")))
    return FailureRecord(Millis(entry.timestamp), failure, attempt, failure.task)


def _failure(entry: ExceptionEntry) -> Failure:
    labels = entry.labels
    subtask = labels.get("subtask")
    message = entry.message or entry.stacktrace.strip().splitlines()[-1]
    return Failure(
        type_name=entry.exception_name,
        message=message,
        traceback=entry.stacktrace if "Traceback" in entry.stacktrace else "",
        operator=labels.get("operator"),
        task=entry.task_name.rpartition(" (")[0] or None,
        subtask=None if subtask is None else int(subtask),
        record=labels.get("record"),
        hint=labels.get("hint"),
    )
