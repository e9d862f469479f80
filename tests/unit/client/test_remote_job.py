from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from riverrun.client.connection import RequestRefused
from riverrun.client.job_manager import JobManagerClient
from riverrun.client.remote_job import RemoteJob
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.errors import CheckpointFailed
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.sealed import encode_graph
from riverrun.rest.server import RestServer
from riverrun.testing.waiting import wait_until
from tests.unit.client.conftest import RecordedSubmissions
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher

JOB = JobId(reports.JOB)


def request(job: str = reports.JOB) -> SubmitRequest:
    return SubmitRequest(job=job, name="job", graph=encode_graph(JobGraph((), ())), config={})


def remote(client: JobManagerClient, **handlers: Any) -> RemoteJob:
    return RemoteJob(client, JOB, "job", handlers)


def ended(dispatcher: RecordedDispatcher, status: JobStatus) -> None:
    report = dispatcher.reports[reports.JOB]
    changed = msgspec.structs.replace(report, status=status.value, end=report.start + 10)
    dispatcher.reports[reports.JOB] = changed


def test_a_job_is_submitted_once(
    client: JobManagerClient, submissions: RecordedSubmissions
) -> None:
    assert client.submit(request()) == JOB

    with pytest.raises(RequestRefused) as refused:
        client.submit(request())

    assert refused.value.status == 409
    assert [each.name for each in submissions.requests] == ["job"]


def test_files_are_sent_once(
    client: JobManagerClient, submissions: RecordedSubmissions, tmp_path: Path
) -> None:
    file = tmp_path / "code.zip"
    file.write_bytes(b"x" * 100_000)

    sent = client.send_file(file, "program.zip")
    again = client.send_file(file, "other.zip")

    assert sent.sha256 == again.sha256
    assert submissions.artifacts.path(sent.sha256, "x").read_bytes() == file.read_bytes()


def test_status_and_wishes_go_to_the_jobmanager(
    client: JobManagerClient, dispatcher: RecordedDispatcher
) -> None:
    job = remote(client)
    dispatcher.outcome.set_result("file:///savepoints/1")

    assert job.status() is JobStatus.RUNNING
    assert job.trigger_savepoint("/savepoints").result(30) == "file:///savepoints/1"
    assert job.stop_with_savepoint(drain=True).result(30) == "file:///savepoints/1"
    assert job.trigger_checkpoint() == "file:///savepoints/1"
    job.cancel()

    assert dispatcher.asked == [
        ("savepoint", reports.JOB, "/savepoints"),
        ("stop", reports.JOB, None, True),
        ("checkpoint", reports.JOB),
        ("cancel", reports.JOB),
    ]


def test_a_savepoint_that_fails_says_why(
    client: JobManagerClient, dispatcher: RecordedDispatcher
) -> None:
    dispatcher.outcome.set_exception(CheckpointFailed("the disk is full"))

    with pytest.raises(CheckpointFailed, match="the disk is full"):
        remote(client).trigger_savepoint("/savepoints").result(30)


def test_values_arrive_in_order_and_the_end_waits_for_them(
    client: JobManagerClient, dispatcher: RecordedDispatcher, submissions: RecordedSubmissions
) -> None:
    client.submit(request())
    taken: list[Any] = []
    job = remote(client, sink=lambda _, values: taken.extend(values))
    submissions.put(JOB, "sink", 1, 2)
    submissions.put(JOB, "sink", 3)
    ended(dispatcher, JobStatus.FINISHED)
    submissions.values(JOB).end()

    assert job.wait(30) is JobStatus.FINISHED
    assert taken == [1, 2, 3]


def test_a_cancelled_job_gives_what_came(
    client: JobManagerClient, dispatcher: RecordedDispatcher, submissions: RecordedSubmissions
) -> None:
    client.submit(request())
    submissions.put(JOB, "sink", "last words")
    submissions.values(JOB).end()
    ended(dispatcher, JobStatus.CANCELED)
    taken: list[Any] = []

    assert remote(client, sink=lambda _, values: taken.extend(values)).wait(30) is (
        JobStatus.CANCELED
    )
    assert taken == ["last words"]


def test_a_handler_that_fails_cancels_the_job_and_is_its_failure(
    client: JobManagerClient, dispatcher: RecordedDispatcher, submissions: RecordedSubmissions
) -> None:
    client.submit(request())

    def fail(subtask: int, values: Sequence[Any]) -> None:
        raise ValueError(f"no {values} of {subtask}")

    job = remote(client, sink=fail)
    submissions.put(JOB, "sink", 1)
    wait_until(lambda: ("cancel", reports.JOB) in dispatcher.asked, what="the job cancelled")
    ended(dispatcher, JobStatus.CANCELED)

    assert job.wait(30) is JobStatus.FAILED
    failure = job.failure()
    assert failure is not None
    assert failure.type_name == "ValueError"


def test_more_clients_wait_than_the_server_has_threads(
    server: RestServer, client: JobManagerClient, submissions: RecordedSubmissions
) -> None:
    client.submit(request())
    waiting = [JobManagerClient.at(server.url, {}) for _ in range(100)]
    answers: list[Any] = []

    def wait(each: JobManagerClient) -> None:
        answers.append(each.values(JOB, 0, 30.0))
        each.connection.close()

    threads = [threading.Thread(target=wait, args=(each,)) for each in waiting]
    for thread in threads:
        thread.start()
    # A slow operation needs a thread, and there is one.
    assert client.submit(request("ab" * 16)) == JobId("ab" * 16)
    submissions.values(JOB).end()
    for thread in threads:
        thread.join()

    assert answers == [(True, [])] * 100


def test_a_job_that_nobody_knows_is_refused(client: JobManagerClient) -> None:
    with pytest.raises(RequestRefused) as refused:
        client.status(JobId("ff" * 16))

    assert refused.value.status == 404
