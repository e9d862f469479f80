"""Values from tasks to the client's handlers over real sockets, with credit."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.core.options import COLLECT_WINDOW_BYTES
from riverrun.protocol.control import Cancel, ClientRun, Heartbeat
from riverrun.spark.worker.control_client import JobMasterGone, SendCanceled

PATIENCE = 30.0
SMALL_WINDOW = {COLLECT_WINDOW_BYTES.key: "1000 b"}


class Gate:
    """A handler that takes nothing until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.entered = threading.Event()
        self.taken: list[tuple[int, Any]] = []

    def __call__(self, subtask: int, values: Sequence[Any]) -> None:
        self.entered.set()
        self.opened.wait(PATIENCE)
        self.taken += [(subtask, value) for value in values]


def finish(job: Any, tasks: list[Any]) -> JobStatus:
    for task in tasks:
        task.end()
    job.engine.end()
    status: JobStatus = job.master.wait(PATIENCE)
    return status


def test_all_values_arrive_in_order_before_the_job_is_finished(
    make_job: Callable[..., Any],
) -> None:
    seen: list[tuple[int, Any]] = []
    job = make_job(handlers={"op": lambda n, values: seen.extend((n, v) for v in values)})
    job.master.start()
    tasks = job.connect_all()

    for start in range(0, 1000, 10):
        for task in tasks[:2]:
            values = list(range(start, start + 10))
            task.client.send_run("op", pickle.dumps(values), len(values))

    assert finish(job, tasks) is JobStatus.FINISHED
    for subtask in (0, 1):
        assert [value for n, value in seen if n == subtask] == list(range(1000))


def test_a_sender_beyond_its_window_waits_until_the_client_has_taken_values(
    make_job: Callable[..., Any],
) -> None:
    gate = Gate()
    job = make_job(handlers={"op": gate}, config=SMALL_WINDOW)
    job.master.start()
    tasks = job.connect_all()
    sent: list[int] = []
    payload = pickle.dumps(["x" * 380])

    def send() -> None:
        for n in range(6):
            tasks[0].client.send_run("op", payload, 1)
            sent.append(n)

    sender = threading.Thread(target=send)
    sender.start()
    assert gate.entered.wait(PATIENCE)
    window = tasks[0].client._window
    while window.uncredited < 2 * len(payload):
        threading.Event().wait(0.005)

    assert len(sent) <= 2
    assert sender.is_alive()
    gate.opened.set()
    sender.join(PATIENCE)

    assert finish(job, tasks) is JobStatus.FINISHED
    assert len(gate.taken) == 6


def test_a_value_larger_than_the_window_passes_alone(make_job: Callable[..., Any]) -> None:
    seen: list[int] = []
    job = make_job(
        handlers={"op": lambda _, values: seen.extend(map(len, values))}, config=SMALL_WINDOW
    )
    job.master.start()
    tasks = job.connect_all()

    for size in (50 << 20, 5, 1 << 20):
        tasks[0].client.send_run("op", pickle.dumps(["x" * size]), 1)

    assert finish(job, tasks) is JobStatus.FINISHED
    assert seen == [50 << 20, 5, 1 << 20]


def test_a_slow_handler_holds_up_only_its_own_job(make_job: Callable[..., Any]) -> None:
    gate = Gate()
    slow = make_job(handlers={"op": gate})
    seen: list[Any] = []
    quick = make_job(handlers={"op": lambda _, values: seen.extend(values)})
    slow.master.start()
    quick.master.start()
    slow_tasks, quick_tasks = slow.connect_all(), quick.connect_all()

    slow_tasks[0].client.send_run("op", pickle.dumps([1]), 1)
    assert gate.entered.wait(PATIENCE)
    quick_tasks[0].client.send_run("op", pickle.dumps([2]), 1)

    assert finish(quick, quick_tasks) is JobStatus.FINISHED
    assert seen == [2]
    gate.opened.set()
    assert finish(slow, slow_tasks) is JobStatus.FINISHED
    assert gate.taken == [(0, 1)]


def test_a_job_is_not_finished_before_the_client_has_taken_everything(
    make_job: Callable[..., Any],
) -> None:
    gate = Gate()
    job = make_job(handlers={"op": gate})
    job.master.start()
    tasks = job.connect_all()
    tasks[0].client.send_run("op", pickle.dumps([1]), 1)
    for task in tasks:
        task.end()
    job.engine.end()
    assert gate.entered.wait(PATIENCE)

    assert job.master.status() is JobStatus.RUNNING
    gate.opened.set()

    assert job.master.wait(PATIENCE) is JobStatus.FINISHED


def test_a_failing_handler_fails_the_job_with_its_error(make_job: Callable[..., Any]) -> None:
    def handler(subtask: int, values: Sequence[Any]) -> None:
        raise ValueError(f"cannot take {values!r}")

    job = make_job(handlers={"op": handler})
    job.master.start()
    tasks = job.connect_all()
    tasks[0].client.send_run("op", pickle.dumps([7]), 1)

    reason = tasks[1].expect(Cancel).reason
    for task in tasks:
        task.client.close()

    assert job.master.wait(PATIENCE) is JobStatus.FAILED
    assert job.master.failure().headline() == "ValueError: cannot take [7]"
    assert "cannot take [7]" in reason


def test_cancel_wakes_a_sender_that_waits_for_credit(make_job: Callable[..., Any]) -> None:
    gate = Gate()
    job = make_job(handlers={"op": gate}, config=SMALL_WINDOW)
    job.master.start()
    tasks = job.connect_all()
    tasks[0].client.send_run("op", pickle.dumps(["x" * 2000]), 1)
    assert gate.entered.wait(PATIENCE)

    job.master.cancel()
    with pytest.raises(SendCanceled, match="the job was cancelled"):
        tasks[0].client.send_run("op", pickle.dumps(["y"]), 1)
    gate.opened.set()
    for task in tasks:
        task.end(TaskStatus.CANCELED)

    assert job.master.wait(PATIENCE) is JobStatus.CANCELED


def test_a_task_that_ignores_its_window_fails_the_job(make_job: Callable[..., Any]) -> None:
    gate = Gate()
    job = make_job(handlers={"op": gate}, config=SMALL_WINDOW)
    job.master.start()
    tasks = job.connect_all()
    for n in range(2):
        tasks[0].client.send(ClientRun("op", n, pickle.dumps(["x" * 2000]), 1))

    tasks[1].expect(Cancel)
    gate.opened.set()
    for task in tasks:
        task.client.close()

    assert job.master.wait(PATIENCE) is JobStatus.FAILED
    assert "beyond its window of 1000" in job.master.failure().message


def test_nothing_can_be_sent_after_close(make_job: Callable[..., Any]) -> None:
    job = make_job(handlers={"op": lambda _, values: None})
    job.master.start()
    task = job.connect(0)
    task.client.close()
    task.client.close()

    with pytest.raises(JobMasterGone, match="closed by this task"):
        task.client.send_run("op", pickle.dumps([1]), 1)
    with pytest.raises(JobMasterGone):
        task.client.send(Heartbeat())
