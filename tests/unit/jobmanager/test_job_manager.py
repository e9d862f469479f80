"""A JobManager whose jobs are played by the test: they need slots, and end when they are told to."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.client.job_manager import JobManagerClient
from riverrun.cluster.delivery import RawHandler
from riverrun.cluster.dispatcher.gateway import JobIsKnown
from riverrun.cluster.job_report import JobReport
from riverrun.cluster.resources.job_slots import JobSlots
from riverrun.cluster.resources.manager import ResourceManager
from riverrun.cluster.submission.wire import SentCode, SubmitRequest
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import JobSubmission
from riverrun.graph.partitioning import Hash
from riverrun.graph.sealed import encode_graph
from riverrun.jobmanager.job_manager import JobManager
from riverrun.jobmanager.sessions import OtherPython
from riverrun.testing.waiting import wait_until
from tests.unit.cluster.resources.conftest import Cluster
from tests.unit.graph.conftest import Program, partition, same
from tests.unit.rest import reports


class PlayedJob:
    """Holds its slots until it ends."""

    def __init__(self, submission: JobSubmission, slots: JobSlots) -> None:
        self.job_id, self.name = submission.job, submission.name
        self.submission = submission
        self._slots = slots
        self._status = JobStatus.RUNNING
        self._over = threading.Event()

    def end(self, status: JobStatus) -> None:
        self._slots.leave()
        self._status = status
        self._over.set()

    def status(self) -> JobStatus:
        return self._status

    def wait(self, timeout: float | None = None) -> JobStatus:
        self._over.wait(timeout)
        return self._status

    def cancel(self) -> None:
        self.end(JobStatus.CANCELED)

    def suspend(self) -> None:
        self.end(JobStatus.SUSPENDED)

    def report(self) -> JobReport:
        end = reports.START if self._over.is_set() else -1
        return reports.job(self._status, id=str(self.job_id), name=self.name, end=end)

    def send(self, *values: Any) -> None:
        for operator, handler in self.submission.client_handlers.items():
            assert isinstance(handler, RawHandler)
            handler.take(operator, 0, pickle.dumps(list(values)))


class PlayedExecutor:
    """Starts jobs when there are slots."""

    def __init__(self, cluster: Cluster) -> None:
        self.resources = ResourceManager(cluster)
        self.jobs: dict[JobId, PlayedJob] = {}
        self.before_seeking = threading.Event()
        self.before_seeking.set()

    def submit(self, submission: JobSubmission) -> PlayedJob:
        self.before_seeking.wait()
        slots = JobSlots(self.resources, submission)
        try:
            slots.first()
        except BaseException:
            slots.leave()
            raise
        job = self.jobs[submission.job] = PlayedJob(submission, slots)
        return job

    def suspend(self) -> None:
        for job in self.jobs.values():
            job.suspend()

    def close(self) -> None:
        for job in self.jobs.values():
            if not job.status().is_terminal_state():
                job.cancel()


@pytest.fixture
def executor() -> PlayedExecutor:
    return PlayedExecutor(Cluster(1))


@pytest.fixture
def manager(executor: PlayedExecutor, tmp_path: Path) -> Iterator[JobManager]:
    config = {"env.log.dir": str(tmp_path / "logs"), "rest.port": "0"}
    played: Any = executor
    manager = JobManager(played, config, session=True)
    yield manager
    manager.close()


def request(number: int, parallelism: int = 2, **fields: Any) -> SubmitRequest:
    program = Program(parallelism)
    program.map("sums", partition(program.source("in"), Hash(same)))
    return SubmitRequest(
        job=f"{number:032x}",
        name=f"job {number}",
        graph=encode_graph(program.job_graph()),
        config={"slot.request.timeout": "1 h"},
        client_operators=("sink",),
        **fields,
    )


def submit(manager: JobManager, sent: SubmitRequest) -> JobId:
    assert manager.submissions is not None
    return manager.submissions.submit(sent)


def running(manager: JobManager, executor: PlayedExecutor, sent: SubmitRequest) -> PlayedJob:
    job = submit(manager, sent)
    wait_until(lambda: job in executor.jobs, what="the job runs")
    return executor.jobs[job]


def await_status(manager: JobManager, job: JobId, status: JobStatus) -> JobReport:
    wait_until(
        lambda: manager.dispatcher.job(job).status == status.value, what=f"the job in {status}"
    )
    return manager.dispatcher.job(job)


def test_a_job_waits_for_slots_and_says_so_until_they_are_free(
    manager: JobManager, executor: PlayedExecutor
) -> None:
    first = running(manager, executor, request(1))
    second = submit(manager, request(2))
    wait_until(lambda: manager.dispatcher.job(second).status_text, what="a word about waiting")
    report = manager.dispatcher.job(second)

    assert report.status == "INITIALIZING"
    assert "waiting for" in (report.status_text or "")

    first.end(JobStatus.FINISHED)
    await_status(manager, second, JobStatus.RUNNING)


def test_a_job_is_cancelled_while_it_waits(manager: JobManager, executor: PlayedExecutor) -> None:
    running(manager, executor, request(1))
    waiting = submit(manager, request(2))
    wait_until(executor.resources.waiting, what="the job waits")

    manager.dispatcher.cancel(waiting)
    report = await_status(manager, waiting, JobStatus.CANCELED)

    assert report.timestamps["CANCELLING"] > 0
    assert (report.failure, report.status_text) == (None, None)
    assert executor.resources.waiting() == {}


def test_a_job_is_cancelled_before_it_begins_to_wait(
    manager: JobManager, executor: PlayedExecutor
) -> None:
    executor.before_seeking.clear()
    job = submit(manager, request(1))
    manager.dispatcher.cancel(job)
    executor.before_seeking.set()

    await_status(manager, job, JobStatus.CANCELED)
    assert executor.resources.held() == {}


def test_a_job_that_is_refused_is_history_with_the_reason(
    manager: JobManager, executor: PlayedExecutor
) -> None:
    executor.resources = ResourceManager(_one_machine())
    job = submit(manager, request(1, parallelism=50))

    report = await_status(manager, job, JobStatus.FAILED)

    assert report.failure is not None
    assert report.failure.type_name == "TooFewSlots"


def test_an_id_is_given_to_one_job_only(manager: JobManager, executor: PlayedExecutor) -> None:
    job = running(manager, executor, request(1))
    with pytest.raises(JobIsKnown, match="another id"):
        submit(manager, request(1))

    job.end(JobStatus.FINISHED)
    await_status(manager, job.job_id, JobStatus.FINISHED)
    with pytest.raises(JobIsKnown):
        submit(manager, request(1))


def test_the_end_of_the_jobmanager_cancels_jobs_and_their_clients_get_what_came(
    manager: JobManager, executor: PlayedExecutor
) -> None:
    client = JobManagerClient.at(manager.serve(), {})
    job = running(manager, executor, request(1))
    assert client.values(job.job_id, 0, 0.0) == (False, [])
    job.send("a", "b")
    waiting = threading.Thread(target=manager.close)
    waiting.start()

    last, taken, after = False, [], 0
    while not last:
        last, runs = client.values(job.job_id, after, 10.0)
        taken += [value for run in runs for value in pickle.loads(run.payload)]
        after = max((run.number for run in runs), default=after)
    client.connection.close()
    waiting.join()

    assert taken == ["a", "b"]
    assert job.status() is JobStatus.CANCELED


def test_values_of_a_suspended_job_do_not_end_here(
    manager: JobManager, executor: PlayedExecutor
) -> None:
    job = running(manager, executor, request(1))
    waiting = submit(manager, request(2))
    wait_until(executor.resources.waiting, what="the job waits")
    assert manager.submissions is not None

    manager.suspend()

    assert job.status() is JobStatus.SUSPENDED
    wait_until(lambda: manager.dispatcher.running(waiting) is None, what="the other suspended")
    assert not manager.submissions.values(job.job_id).has_ended
    assert not manager.dispatcher.knows(waiting)


def test_what_a_detached_job_prints_is_in_its_file(
    manager: JobManager, executor: PlayedExecutor, tmp_path: Path
) -> None:
    sent = request(1, attached=False, print_operators=("sink",))
    job = running(manager, executor, sent)

    job.send("a line", "and another")

    output = tmp_path / "logs" / f"job-{job.job_id}.out"
    assert output.read_text() == "a line\nand another\n"


def test_functions_of_another_python_are_refused_unless_it_comes_along(
    manager: JobManager, executor: PlayedExecutor
) -> None:
    with pytest.raises(OtherPython, match=r"Python 2\.7"):
        submit(manager, request(1, python_version="2.7"))

    code = SentCode(python="/opt/python2.7")
    running(manager, executor, request(1, python_version="2.7", code=code))


def test_a_resumed_job_numbers_its_values_above_all_before(
    manager: JobManager, executor: PlayedExecutor
) -> None:
    job = running(manager, executor, request(1, resume=True))
    job.send("a")
    assert manager.submissions is not None

    runs, _ = manager.submissions.values(job.job_id).take(10**9, 0.0, 100)

    assert len(runs) == 1


def _one_machine() -> Cluster:
    cluster = Cluster(1)
    cluster.can_grow = False
    return cluster
