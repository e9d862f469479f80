from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any

import pytest

from riverrun.cluster.dispatcher.dispatcher import JobDispatcher
from riverrun.cluster.dispatcher.gateway import ClusterFacts, JobIsOver, UnknownJob
from riverrun.cluster.dispatcher.history import JobHistory
from riverrun.cluster.job_report import JobReport
from riverrun.cluster.resources.requirements import Bounds
from riverrun.core.clock import ManualClock
from riverrun.core.ids import JobId, VertexId
from riverrun.core.lifecycle import JobStatus
from riverrun.testing.waiting import wait_until
from tests.unit.rest import reports

FACTS = ClusterFacts(version="0.1", commit="abc", master="local[*]", config={}, started=0)


class EndlessJob:
    """A job that ends when it is told to."""

    def __init__(self, number: int) -> None:
        self.job_id = JobId(f"{number:032x}")
        self.name = f"job {number}"
        self.state = JobStatus.RUNNING
        self.reported = 0
        self.asked: list[Any] = []
        self._over = threading.Event()

    def end(self, state: JobStatus) -> None:
        self.state = state
        self._over.set()

    def status(self) -> JobStatus:
        return self.state

    def wait(self, timeout: float | None = None) -> JobStatus:
        self._over.wait(timeout)
        return self.state

    def cancel(self) -> None:
        self.end(JobStatus.CANCELED)

    def report(self) -> JobReport:
        self.reported += 1
        end = reports.START if self._over.is_set() else -1
        return reports.job(self.state, id=str(self.job_id), name=self.name, end=end)

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        del timeout
        return "/c/chk-1"

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        self.asked.append(target)
        return Future()

    def requirements(self) -> Mapping[VertexId, Bounds]:
        return {VertexId("v"): Bounds(1, 2)}

    def require(self, bounds: Mapping[VertexId, Bounds]) -> None:
        self.asked.append(bounds)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(reports.START)


@pytest.fixture
def dispatcher(clock: ManualClock) -> Iterator[JobDispatcher]:
    made = JobDispatcher(FACTS, lambda: (), JobHistory(clock.now), {}, clock)
    yield made
    made.close()


def test_a_running_job_is_listed_and_reported(dispatcher: JobDispatcher) -> None:
    job: Any = EndlessJob(1)
    dispatcher.add(job)

    assert [each.status for each in dispatcher.jobs()] == ["RUNNING"]
    assert dispatcher.job(job.job_id).name == "job 1"
    assert dispatcher.trigger_checkpoint(job.job_id).result(5) == "/c/chk-1"
    assert dispatcher.requirements(job.job_id) == {"v": Bounds(1, 2)}
    dispatcher.require(job.job_id, {"v": Bounds(1, 3)})
    assert job.asked == [{VertexId("v"): Bounds(1, 3)}]
    job.end(JobStatus.FINISHED)


def test_an_ended_job_is_history_and_takes_no_wishes(dispatcher: JobDispatcher) -> None:
    job: Any = EndlessJob(1)
    dispatcher.add(job)
    dispatcher.cancel(job.job_id)
    wait_until(lambda: dispatcher.running(job.job_id) is None, what="the end of the job")

    assert dispatcher.job(job.job_id).status == "CANCELED"
    dispatcher.cancel(job.job_id)
    with pytest.raises(JobIsOver, match="is CANCELED already"):
        dispatcher.trigger_savepoint(job.job_id, None)


def test_a_job_that_there_never_was_is_unknown(dispatcher: JobDispatcher) -> None:
    for ask in (dispatcher.job, dispatcher.cancel, dispatcher.trigger_checkpoint):
        with pytest.raises(UnknownJob, match="there is none"):
            ask(JobId("f" * 32))


def test_many_questions_at_once_cost_one_report(
    dispatcher: JobDispatcher, clock: ManualClock
) -> None:
    job: Any = EndlessJob(1)
    dispatcher.add(job)
    for _ in range(50):
        dispatcher.job(job.job_id)
    assert job.reported == 1

    clock.advance(101)
    dispatcher.job(job.job_id)

    assert job.reported == 2
    job.end(JobStatus.FINISHED)


def test_a_suspended_job_is_not_history(dispatcher: JobDispatcher) -> None:
    job: Any = EndlessJob(1)
    dispatcher.add(job)
    job.end(JobStatus.SUSPENDED)
    wait_until(lambda: dispatcher.running(job.job_id) is None, what="the end of the job")

    with pytest.raises(UnknownJob):
        dispatcher.job(job.job_id)
