"""A JobMaster and its tasks over real sockets, from registration to the end."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from riverrun.cluster.control_server import ControlServer
from riverrun.cluster.job_master.timing import Timing
from riverrun.core.errors import ExternalError, Failure
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.protocol.auth import AuthRefused
from riverrun.protocol.control import (
    Accumulators,
    Cancel,
    FailureOrigin,
    Metrics,
    StatusChanged,
    TaskFailed,
)
from riverrun.spark.worker.control_client import (
    ControlClient,
    JobMasterGone,
    RegistrationRefused,
)

PATIENCE = 30.0
BOOM = Failure("ValueError", "boom", traceback="Traceback ...", operator="Map", subtask=1)


def test_a_job_starts_reports_and_finishes(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.master.start()

    tasks = job.connect_all()
    for n, task in enumerate(tasks):
        task.client.send(StatusChanged(TaskStatus.RUNNING))
        task.client.send(Metrics({"": {"busy": float(n)}, "Sum": {"in": 10.0 * n}}))
        task.client.send(Accumulators(pickle.dumps({"records": n})))
    assert job.master.status() is JobStatus.RUNNING
    for task in tasks:
        task.end()
    job.engine.end()

    assert job.master.wait(PATIENCE) is JobStatus.FINISHED
    assert job.master.failure() is None
    assert job.master.metrics()["Map.1"] == {"busy": 1.0}
    assert job.master.metrics()["Map.1.Sum"] == {"in": 10.0}
    assert job.master.metrics()["Relay: Map.0"] == {"busy": 2.0}
    assert job.master.accumulators() == {"records": 3}
    assert job.master.execution.all_finished()
    assert job.engine.cancels == 0
    assert all(task.lost.empty() for task in tasks)


def test_fifty_tasks_at_once(make_job: Callable[..., Any], server: ControlServer) -> None:
    job = make_job(49)
    job.master.start()

    with ThreadPoolExecutor(50) as pool:
        tasks = list(pool.map(job.connect, range(50)))
        for task in tasks:
            task.client.send(StatusChanged(TaskStatus.RUNNING))
        for task in tasks:
            task.expect(object)
        list(pool.map(lambda task: task.end(), tasks))
    job.engine.end()

    assert job.master.wait(PATIENCE) is JobStatus.FINISHED
    assert server.open_connections == 0


def test_two_jobs_on_one_server_do_not_touch_each_other(make_job: Callable[..., Any]) -> None:
    first, second = make_job(1), make_job(1)
    first.master.start()
    second.master.start()
    ones, twos = first.connect_all(), second.connect_all()

    ones[0].client.send(TaskFailed(BOOM, FailureOrigin.USER))
    assert first.master.wait(PATIENCE) is JobStatus.FAILED
    assert second.master.status() is JobStatus.RUNNING
    for task in twos:
        task.end()
    second.engine.end()

    assert second.master.wait(PATIENCE) is JobStatus.FINISHED
    for task in ones:
        task.client.close()


def test_the_users_failure_wins_over_what_follows_from_it(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.engine.ends_when_cancelled = False
    job.master.start()
    tasks = job.connect_all()
    torn = Failure("ExternalError", "input ended in the middle")

    tasks[2].client.send(TaskFailed(torn, FailureOrigin.CONSEQUENCE))
    tasks[1].client.send(TaskFailed(BOOM, FailureOrigin.USER))
    tasks[1].end(TaskStatus.FAILED)
    reason = tasks[0].expect(Cancel).reason
    for task in tasks:
        task.client.close()
    job.engine.end(Failure("PythonException", "..."))

    assert job.master.wait(PATIENCE) is JobStatus.FAILED
    assert job.master.failure() == BOOM
    assert "ValueError: boom" in reason


def test_a_worker_that_vanishes_fails_the_job_by_name(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.master.start()
    tasks = job.connect_all()

    tasks[1].client.close()  # no last words: as when the process is killed

    assert job.master.wait(PATIENCE) is JobStatus.FAILED
    failure = job.master.failure()
    assert failure.headline().startswith(
        "task 'Map', subtask 1: WorkerLost: the Python worker (pid 1001 on here) went away"
    )
    for task in tasks:
        task.client.close()


def test_a_worker_that_is_silent_fails_the_job(make_job: Callable[..., Any]) -> None:
    timing = Timing(heartbeat_interval_ms=20, heartbeat_timeout_ms=200, failure_grace_ms=20)
    job = make_job(1, timing=timing)
    job.master.start()
    access = job.engine.access
    # Never started, so it sends no heartbeat: a half-open connection.
    dumb = ControlClient.connect(access.address, access.secret, job.register(0))
    task = job.connect(1)

    assert job.master.wait(PATIENCE) is JobStatus.FAILED
    assert "was silent for" in job.master.failure().message
    dumb.close()
    task.client.close()


def test_heartbeats_keep_a_quiet_task_alive(make_job: Callable[..., Any]) -> None:
    timing = Timing(heartbeat_interval_ms=20, heartbeat_timeout_ms=300)
    job = make_job(1, timing=timing)
    job.master.start()
    tasks = job.connect_all()
    silences = 3

    # As long as several timeouts, counted in heartbeats rather than in time.
    for _ in range(silences * 15):
        heard = next(iter(job.attempt._members.values())).link.last_heard
        while next(iter(job.attempt._members.values())).link.last_heard == heard:
            assert tasks[0].lost.empty()
            threading.Event().wait(0.005)

    assert job.master.status() is JobStatus.RUNNING
    for task in tasks:
        task.end()
    job.engine.end()
    assert job.master.wait(PATIENCE) is JobStatus.FINISHED


def test_cancel_lets_the_tasks_leave_in_order(make_job: Callable[..., Any]) -> None:
    job = make_job(timing=Timing())
    job.master.start()
    tasks = job.connect_all()

    job.master.cancel()
    for task in tasks:
        assert task.expect(Cancel).reason == "the job was cancelled"
        task.end(TaskStatus.CANCELED)

    assert job.master.wait(PATIENCE) is JobStatus.CANCELED
    assert job.engine.cancels == 1
    assert all(task.lost.empty() for task in tasks)


def test_cancel_ends_the_engine_when_tasks_do_not_leave(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.master.start()
    tasks = job.connect_all()

    job.master.cancel()
    job.master.cancel()
    assert job.engine.canceled.wait(PATIENCE)
    for task in tasks:
        task.client.close()

    assert job.master.wait(PATIENCE) is JobStatus.CANCELED
    job.master.cancel()
    assert job.master.status() is JobStatus.CANCELED


def test_cancel_while_tasks_are_starting(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.engine.ends_when_cancelled = False
    job.master.start()
    early = job.connect(0)

    job.master.cancel()
    early.expect(Cancel)
    with pytest.raises(RegistrationRefused, match="the job is CANCELLING"):
        job.connect(1)
    early.end(TaskStatus.CANCELED)
    job.engine.end(None)

    assert job.master.wait(PATIENCE) is JobStatus.CANCELED


def test_a_job_is_over_only_when_the_engine_is(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.engine.ends_when_cancelled = False
    job.master.start()
    tasks = job.connect_all()
    tasks[0].client.send(TaskFailed(BOOM, FailureOrigin.USER))
    for task in tasks:
        task.client.close()

    assert job.engine.canceled.wait(PATIENCE)
    with pytest.raises(TimeoutError, match="is FAILING after"):
        job.master.wait(0.0)
    job.engine.end(None)

    assert job.master.wait(PATIENCE) is JobStatus.FAILED


def test_what_the_engine_raises_at_the_start_is_raised(
    make_job: Callable[..., Any], server: ControlServer
) -> None:
    job = make_job()
    job.engine.refuses = ExternalError("no Spark here")

    with pytest.raises(ExternalError, match="no Spark here"):
        job.master.start()

    assert job.master.status() is JobStatus.FAILED
    assert job.master.failure().headline() == "ExternalError: no Spark here"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attempt": 4}, "attempt 4 is over, attempt 0 runs"),
        ({"partition": 9}, "the job has no task 'Map' subtask 0"),
        ({}, "is registered already, as pid 1000 on here"),
    ],
)
def test_a_task_that_is_not_expected_is_refused_and_the_job_goes_on(
    make_job: Callable[..., Any], changes: dict[str, int], reason: str
) -> None:
    job = make_job()
    job.master.start()
    access = job.engine.access
    first = job.connect(0)

    with pytest.raises(RegistrationRefused, match=reason):
        ControlClient.connect(access.address, access.secret, job.register(0, **changes))

    assert job.master.status() is JobStatus.CREATED
    first.client.close()


def test_a_job_master_that_breaks_ends_its_job_all_the_same(
    make_job: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job()

    def broken(event: object, now: float) -> None:
        raise RuntimeError("a law was broken")

    job.master.start()
    monkeypatch.setattr(job.attempt._state, "handle", broken)
    job.master.cancel()

    assert job.master.wait(PATIENCE) is JobStatus.FAILED
    assert job.master.failure().headline() == "RuntimeError: a law was broken"
    assert job.engine.cancels == 1


def test_a_zombie_of_an_earlier_attempt_cannot_even_connect(make_job: Callable[..., Any]) -> None:
    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    job = make_job(1, config=restarts)
    job.master.start()
    tasks = job.connect_all()
    old = job.engine.access
    tasks[0].client.send(TaskFailed(BOOM, FailureOrigin.USER))
    for task in tasks:
        task.client.close()
    while job.engine.access is old:
        threading.Event().wait(0.005)

    with pytest.raises((AuthRefused, JobMasterGone)):
        ControlClient.connect(old.address, old.secret, job.register(0))
    with pytest.raises(RegistrationRefused, match="attempt 0 is over, attempt 1 runs"):
        ControlClient.connect(old.address, job.engine.access.secret, job.register(0))

    assert job.master.status() is JobStatus.CREATED
