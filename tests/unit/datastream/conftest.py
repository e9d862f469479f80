"""An engine that runs nothing: it keeps what was submitted and plays the end that a test asks for."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt, JobId, Millis
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.executor import FailureRecord, JobExecutor, JobSubmission
from riverrun.graph.rescaling import Parallelism


class FakeJob:
    """A job that ends when it is told to, or when it is cancelled."""

    def __init__(self, submission: JobSubmission) -> None:
        self.submission = submission
        self.cancelled = 0
        self._status = JobStatus.RUNNING
        self._failure: Failure | None = None
        self._ended = threading.Event()

    @property
    def job_id(self) -> JobId:
        return self.submission.job

    @property
    def name(self) -> str:
        return self.submission.name

    def end(self, status: JobStatus = JobStatus.FINISHED, failure: Failure | None = None) -> None:
        self._status, self._failure = status, failure
        self._ended.set()

    def deliver(self, *values: Any, subtask: int = 0) -> None:
        [handler] = self.submission.client_handlers.values()
        handler(subtask, values)

    def status(self) -> JobStatus:
        return self._status

    def cancel(self) -> None:
        self.cancelled += 1
        if not self._ended.is_set():
            self.end(JobStatus.CANCELED)

    def wait(self, timeout: float | None = None) -> JobStatus:
        if not self._ended.wait(timeout):
            raise TimeoutError
        return self._status

    def failure(self) -> Failure | None:
        return self._failure

    def net_runtime_ms(self) -> int:
        return 42

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        return {}

    def accumulators(self) -> Mapping[str, Any]:
        return {"seen": 3}

    def failures(self) -> Sequence[FailureRecord]:
        return [FailureRecord(Millis(7), Failure("ValueError", "boom"), Attempt(0), "Map")]

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        return f"/checkpoints/chk-1 within {timeout}"

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        return _there(f"savepoint in {target}")

    def stop_with_savepoint(self, target: str | None = None, *, drain: bool = False) -> Future[str]:
        return _there(f"last savepoint in {target}, drained: {drain}")

    def rescale(self, parallelism: Parallelism) -> Future[None]:
        self.rescaled_to = parallelism
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def dispose_savepoint(self, location: str) -> None:
        self.disposed = location

    def checkpoints(self) -> str:
        return "figures"


def _there(value: str) -> Future[str]:
    future: Future[str] = Future()
    future.set_result(value)
    return future


class FakeEngine:
    """Keeps submissions; ``outcome`` is how the next jobs end, None: not by themselves."""

    def __init__(self) -> None:
        self.jobs: list[FakeJob] = []
        self.created: list[tuple[str, object]] = []
        self.closed = 0
        self.outcome: JobStatus | None = JobStatus.FINISHED
        self.failure: Failure | None = None
        self.on_submit: list[Any] = []

    def submit(self, submission: JobSubmission) -> FakeJob:
        job = FakeJob(submission)
        self.jobs.append(job)
        for values in self.on_submit:
            job.deliver(*values)
        if self.outcome is not None:
            job.end(self.outcome, self.failure)
        return job

    def close(self) -> None:
        self.closed += 1

    @property
    def last(self) -> JobSubmission:
        return self.jobs[-1].submission


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine()

    def executor_for(
        master: str, config: Mapping[str, str], session: object | None = None
    ) -> JobExecutor:
        del config
        fake.created.append((master, session))
        return fake

    monkeypatch.setattr("riverrun.datastream.program.executor_for", executor_for)
    monkeypatch.delenv("RIVERRUN_MASTER", raising=False)
    return fake


@pytest.fixture
def env(engine: FakeEngine) -> Iterator[StreamExecutionEnvironment]:
    del engine
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    yield environment
    environment.close()
