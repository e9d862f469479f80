"""A job over its attempts, without checkpoints: who is started again, when, and who is not let in."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from riverrun.core.errors import ExternalError, Failure
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.protocol.control import (
    Accumulators,
    Cancel,
    ClientRun,
    Credit,
    Metrics,
    Registered,
    Rejected,
    StatusChanged,
)
from tests.unit.cluster.played_job import BOOM, OPERATOR, PATIENCE, RESTARTS, PlayedJob

Play = Callable[..., PlayedJob]
SLOW = RESTARTS | {"restart-strategy.fixed-delay.delay": "1 h"}


def run(sequence: int, *values: Any, commit: str | None = None) -> ClientRun:
    return ClientRun(OPERATOR, sequence, pickle.dumps(values), len(values), commit)


def restarting(play: Play, config: dict[str, str] = SLOW, **options: Any) -> PlayedJob:
    """A job whose first attempt failed and whose next one is far away."""
    job = play(config, **options)
    job.running().fail()
    await_status(job, JobStatus.RESTARTING)
    return job


def await_status(job: PlayedJob, status: JobStatus) -> None:
    while job.master.status() is not status:
        threading.Event().wait(0.002)


def test_a_failed_attempt_is_followed_by_another(play: Play) -> None:
    job = play(RESTARTS)
    first = job.running()

    first.fail()
    second = job.next_attempt()
    assert (first.number, second.number) == (0, 1)
    second.come_up()
    assert job.master.status() is JobStatus.RUNNING
    second.finish()

    assert job.wait() is JobStatus.FINISHED
    assert job.master.failure() is None
    [record] = job.master.failures()
    assert (record.failure, record.attempt) == (BOOM, 0)
    for subtask in job.master.execution.subtasks():
        assert subtask.attempt == 1
        assert [past.attempt for past in subtask.history] == [0]
        assert subtask.status is TaskStatus.FINISHED


def test_a_failure_is_reported_with_the_place_of_its_attempt(play: Play) -> None:
    job = play(RESTARTS)
    job.running().fail(replace(BOOM, task="Map"))
    second = job.next_attempt()
    second.come_up(host="there")

    report = job.master.report()
    second.finish()

    [failure] = report.failures
    assert (failure.attempt, failure.host) == (0, "here")
    assert report.vertices[0].subtasks[1].current.host == "there"


def test_a_strategy_that_is_used_up_fails_the_job(play: Play) -> None:
    job = play(RESTARTS | {"restart-strategy.fixed-delay.attempts": "2"})
    job.running().fail()
    for _ in range(2):
        attempt = job.next_attempt()
        attempt.come_up()
        attempt.fail()

    assert job.wait() is JobStatus.FAILED
    failure = job.master.failure()
    assert failure is not None
    assert failure.headline() == BOOM.headline()
    assert "2 restarts are allowed" in (failure.hint or "")
    assert len(job.master.failures()) == 3


def test_a_failure_of_the_program_itself_is_not_retried(play: Play) -> None:
    job = play(RESTARTS)

    job.running().fail(replace(BOOM, retryable=False))

    assert job.wait() is JobStatus.FAILED
    assert job.started.empty()


def test_a_failing_client_handler_is_not_retried(play: Play) -> None:
    def handler(subtask: int, values: Sequence[Any]) -> None:
        raise KeyError("no")

    job = play(RESTARTS, handlers={OPERATOR: handler})
    attempt = job.running()

    attempt.tasks[0].say(run(0, 1))
    attempt.tasks[0].expect(Cancel)

    assert job.wait() is JobStatus.FAILED
    failure = job.master.failure()
    assert failure is not None
    assert failure.type_name == "KeyError"
    assert job.started.empty()


def test_what_the_engine_refuses_at_the_start_is_raised_and_not_retried(play: Play) -> None:
    job = play(RESTARTS)
    job.refusals.put(ExternalError("no room"))

    with pytest.raises(ExternalError, match="no room"):
        job.master.start()

    assert job.wait() is JobStatus.FAILED
    assert job.started.empty()


def test_what_the_engine_refuses_later_is_retried(play: Play) -> None:
    job = play(RESTARTS)
    first = job.start()
    first.come_up()
    job.refusals.put(ExternalError("no room"))

    first.fail()

    third = job.next_attempt()
    assert third.number == 2
    assert [record.failure.type_name for record in job.master.failures()] == [
        "ValueError",
        "ExternalError",
    ]


def test_cancel_ends_a_job_that_waits_for_its_next_attempt(play: Play) -> None:
    job = restarting(play)

    job.master.cancel()

    assert job.wait() is JobStatus.CANCELED
    assert job.master.failure() is None
    assert job.started.empty()


def test_cancel_ends_a_job_whose_attempt_is_failing(play: Play) -> None:
    job = play(RESTARTS)
    attempt = job.running()
    attempt.ends_when_cancelled = False
    attempt.fail()
    await_status(job, JobStatus.FAILING)

    job.master.cancel()
    attempt.end(None)

    assert job.wait() is JobStatus.CANCELED
    assert job.started.empty()


@pytest.mark.parametrize("phase", ["before tasks", "while tasks come up", "while it runs"])
def test_cancel_ends_a_later_attempt(play: Play, phase: str) -> None:
    job = play(RESTARTS)
    job.running().fail()
    attempt = job.next_attempt()
    if phase == "while tasks come up":
        attempt.connect(0).expect(Registered)
    elif phase == "while it runs":
        attempt.come_up()

    job.master.cancel()

    assert job.wait() is JobStatus.CANCELED


def test_a_job_that_ended_cannot_be_cancelled_into_another_state(play: Play) -> None:
    job = play({})
    job.running().finish()
    assert job.wait() is JobStatus.FINISHED

    job.master.cancel()

    assert job.wait() is JobStatus.FINISHED


def test_a_task_of_an_earlier_attempt_is_not_registered(play: Play) -> None:
    job = play(RESTARTS)
    first = job.running()
    first.fail()
    second = job.next_attempt()

    zombie = second.connect(0, attempt=0)

    assert zombie.expect(Rejected).reason == "attempt 0 is over, attempt 1 runs"
    second.come_up()
    assert job.master.status() is JobStatus.RUNNING


def test_every_attempt_has_a_secret_of_its_own(play: Play) -> None:
    job = play(RESTARTS)
    first = job.running()
    first.fail()
    second = job.next_attempt()

    assert first.access is not None
    assert second.access is not None
    assert first.access.secret != second.access.secret


def test_what_an_earlier_attempt_still_says_is_not_heard(play: Play) -> None:
    job = play(RESTARTS)
    first = job.running()
    zombie = first.tasks[1]
    first.fail()
    second = job.next_attempt()
    second.come_up()

    zombie.say(StatusChanged(TaskStatus.FAILED))
    first.end(Failure("ExternalError", "late"))
    second.tasks[0].say(Metrics({"": {"busy": 1.0}}))
    second.finish()

    assert job.wait() is JobStatus.FINISHED
    assert len(job.master.failures()) == 1


def test_accumulators_and_metrics_are_those_of_the_attempt(play: Play) -> None:
    job = play(RESTARTS)
    first = job.running()
    first.tasks[0].say(Accumulators(pickle.dumps({"records": 100})))
    first.tasks[0].say(Metrics({"": {"busy": 1.0}}))
    first.fail()
    second = job.next_attempt()
    second.come_up()

    assert job.master.metrics() == {}
    for task in second.tasks:
        task.say(Accumulators(pickle.dumps({"records": 1})))
    second.finish()

    assert job.wait() is JobStatus.FINISHED
    assert job.master.accumulators() == {"records": 2}


def test_values_that_the_client_has_not_taken_survive_the_attempt_that_sent_them(
    play: Play,
) -> None:
    entered, go_on = threading.Event(), threading.Event()
    taken: list[Any] = []

    def handler(subtask: int, values: Sequence[Any]) -> None:
        entered.set()
        go_on.wait(PATIENCE)
        taken.extend(values)

    job = play(RESTARTS, handlers={OPERATOR: handler})
    first = job.running()
    for n in range(3):
        first.tasks[0].say(run(n, n))
    assert entered.wait(PATIENCE)
    first.fail()
    second = job.next_attempt()
    second.come_up()
    second.tasks[0].say(run(0, "again"))
    go_on.set()
    second.finish()

    assert job.wait() is JobStatus.FINISHED
    assert taken == [0, 1, 2, "again"]


def test_what_is_committed_reaches_the_client_once(play: Play) -> None:
    taken: list[Any] = []
    job = play(RESTARTS, handlers={OPERATOR: lambda _, values: taken.extend(values)})
    first = job.running()
    first.tasks[0].say(run(0, "a", commit="1-0-0"))
    first.fail()
    second = job.next_attempt()
    second.come_up()

    second.tasks[0].say(run(0, "a", commit="1-0-0"))
    second.tasks[0].say(run(1, "b", commit="2-0-0"))
    for _ in range(2):
        second.tasks[0].expect(Credit)
    second.finish()

    assert job.wait() is JobStatus.FINISHED
    assert taken == ["a", "b"]


def test_a_client_that_is_far_behind_holds_the_next_attempt_back(play: Play) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def handler(subtask: int, values: Sequence[Any]) -> None:
        entered.set()
        go_on.wait(PATIENCE)

    config = RESTARTS | {"riverrun.collect.window-bytes": "100 b"}
    job = play(config, handlers={OPERATOR: handler})
    first = job.running()
    for task in first.tasks:
        task.say(run(0, "x" * 90))
    assert entered.wait(PATIENCE)
    first.fail()
    await_status(job, JobStatus.RESTARTING)

    assert job.started.empty()
    go_on.set()
    assert job.next_attempt().number == 1


def test_a_job_whose_core_breaks_between_attempts_ends_all_the_same(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = restarting(play)

    def broken(event: object, now: float) -> None:
        raise RuntimeError("a law was broken")

    monkeypatch.setattr(job.master._state, "handle", broken)
    job.master.cancel()

    assert job.wait() is JobStatus.FAILED
    failure = job.master.failure()
    assert failure is not None
    assert failure.headline() == "RuntimeError: a law was broken"
