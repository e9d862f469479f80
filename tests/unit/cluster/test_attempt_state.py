from __future__ import annotations

from collections.abc import Sequence

import pytest

from riverrun.cluster.job_master import events as ev
from riverrun.cluster.job_master.attempt_state import AttemptState
from riverrun.cluster.job_master.decisions import (
    CancelEngine,
    CancelTasks,
    Decision,
    Disconnect,
    DrainDelivery,
    DropDelivery,
    Finish,
    StartTasks,
)
from riverrun.cluster.job_master.tasks import TaskKey, TaskRecord
from riverrun.cluster.job_master.timing import Timing
from riverrun.core.errors import Failure
from riverrun.core.ids import Millis, SubtaskId, VertexId
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.graph.execution_graph import Placement, Subtask
from riverrun.protocol.control import FailureOrigin

A, B = TaskKey(0, 0), TaskKey(1, 0)
TIMING = Timing(
    registration_timeout_ms=1000,
    failure_grace_ms=100,
    cancel_grace_ms=50,
    cancel_retry_ms=70,
    stragglers_grace_ms=200,
    drain_grace_ms=300,
)
BOOM = Failure("ValueError", "boom", operator="Map")
SPARK = Failure("ExternalError", "Python worker exited unexpectedly")
FINISHED = Finish(JobStatus.FINISHED, None)
CANCELED = Finish(JobStatus.CANCELED, None)


def make(keys: Sequence[TaskKey] = (A, B)) -> AttemptState:
    records = [
        TaskRecord(key, "Map", Subtask(SubtaskId(VertexId("v"), n), "Map", Millis(0)))
        for n, key in enumerate(keys)
    ]
    return AttemptState("spend", records, TIMING)


def feed(state: AttemptState, *events: ev.Event, at: float = 0.0) -> list[Decision]:
    return [decision for event in events for decision in state.handle(event, at)]


def registered(*tasks: TaskKey) -> list[ev.Event]:
    return [ev.TaskRegistered(task, Placement("here", 10 + n)) for n, task in enumerate(tasks)]


def running() -> AttemptState:
    state = make()
    feed(state, ev.JobStarted(), *registered(A, B))
    for task in (A, B):
        feed(state, ev.TaskStatusReported(task, TaskStatus.RUNNING))
    return state


def ended(task: TaskKey, outcome: TaskStatus = TaskStatus.FINISHED) -> list[ev.Event]:
    return [ev.TaskEndReported(task, outcome), ev.ConnectionLost(task)]


def failed(task: TaskKey, failure: Failure = BOOM) -> ev.Event:
    return ev.TaskFailureReported(task, failure, FailureOrigin.USER)


def test_a_job_runs_once_every_task_is_registered() -> None:
    state = make()

    assert feed(state, ev.JobStarted(), *registered(A)) == []
    assert feed(state, *registered(B)) == []
    assert state.story == (JobStatus.INITIALIZING, JobStatus.CREATED, JobStatus.RUNNING)


def test_records_flow_once_every_task_is_ready() -> None:
    state = make()
    feed(state, ev.JobStarted(), *registered(A, B))

    assert feed(state, ev.TaskStatusReported(A, TaskStatus.RUNNING)) == []
    assert feed(state, ev.TaskStatusReported(B, TaskStatus.RUNNING)) == [StartTasks()]


def test_a_job_finishes_when_engine_tasks_and_client_are_done() -> None:
    state = running()

    assert feed(state, *ended(A), *ended(B)) == []
    assert feed(state, ev.EngineEnded(None)) == [DrainDelivery()]
    assert state.status is JobStatus.RUNNING
    assert feed(state, ev.DeliveryDrained()) == [FINISHED]
    assert state.deadline() is None


def test_last_words_may_come_after_the_engines_end() -> None:
    state = running()

    assert feed(state, *ended(A), ev.EngineEnded(None)) == []
    assert feed(state, ev.TaskEndReported(B, TaskStatus.FINISHED)) == [DrainDelivery()]
    assert feed(state, ev.DeliveryDrained()) == []
    assert feed(state, ev.ConnectionLost(B)) == [FINISHED]


def test_a_slow_client_does_not_make_a_finished_job_spin_or_fail() -> None:
    state = running()
    feed(state, *ended(A), *ended(B), ev.EngineEnded(None))

    assert feed(state, ev.TimePassed(), at=1e6) == []
    assert state.deadline() is None
    assert feed(state, ev.DeliveryDrained(), at=2e6) == [FINISHED]


def test_a_connection_that_stays_open_after_the_end_does_not_hold_the_job() -> None:
    state = running()
    goodbyes = [ev.TaskEndReported(task, TaskStatus.FINISHED) for task in (A, B)]
    feed(state, *goodbyes, ev.EngineEnded(None), ev.DeliveryDrained())

    assert state.deadline() == TIMING.stragglers_grace_ms
    assert feed(state, ev.TimePassed(), at=TIMING.stragglers_grace_ms) == [FINISHED]


def test_a_task_that_never_reports_its_end_fails_the_job() -> None:
    state = running()
    feed(state, *ended(A), ev.EngineEnded(None))

    feed(state, ev.TimePassed(), at=200)
    feed(state, ev.TimePassed(), at=300)

    assert state.failure is not None
    assert "1 tasks did not report their end" in state.failure.message
    assert state.status is JobStatus.FAILING


def test_a_users_failure_is_settled_at_once_and_stops_the_others() -> None:
    state = running()

    first = feed(state, failed(A))
    assert first == [CancelTasks("the job failed: operator 'Map': ValueError: boom")]
    assert feed(state, *ended(A, TaskStatus.FAILED)) == []
    assert feed(state, *ended(B, TaskStatus.CANCELED)) == [CancelEngine()]
    assert feed(state, ev.EngineEnded(SPARK)) == [DrainDelivery()]
    assert feed(state, ev.DeliveryDrained()) == [Finish(JobStatus.FAILED, BOOM)]


def test_a_lost_connection_waits_for_the_cause_that_another_task_reports() -> None:
    state = running()

    assert feed(state, ev.ConnectionLost(B)) == []
    assert (state.status, state.failure) == (JobStatus.FAILING, None)
    feed(state, failed(A), at=99)

    assert state.failure == BOOM


def test_a_consequence_is_beaten_by_what_it_is_a_consequence_of() -> None:
    state = running()
    torn = Failure("ExternalError", "input ended in the middle")

    feed(state, ev.TaskFailureReported(B, torn, FailureOrigin.CONSEQUENCE))
    feed(state, ev.EngineEnded(SPARK), at=10)
    assert state.failure is None
    feed(state, failed(A), at=20)

    assert state.failure == BOOM


def test_without_a_cause_the_first_lost_worker_is_named_with_what_the_engine_said() -> None:
    state = running()

    feed(state, ev.ConnectionLost(B), ev.EngineEnded(SPARK))
    assert state.failure is None
    feed(state, ev.ConnectionLost(A), at=50)

    assert state.failure is not None
    assert state.failure.headline() == (
        "task 'Map', subtask 1: WorkerLost: the Python worker (pid 11 on here) went away: "
        "killed or out of memory?"
    )
    assert state.failure.hint == "the engine said: ExternalError: Python worker exited unexpectedly"


def test_the_grace_ends_the_search_for_a_cause() -> None:
    state = running()
    feed(state, ev.ConnectionLost(B))

    assert state.deadline() == 100
    assert feed(state, ev.TimePassed(), at=100)[0] == CancelTasks(
        "the job failed: task 'Map', subtask 1: WorkerLost: the Python worker (pid 11 on here) "
        "went away: killed or out of memory?"
    )
    feed(state, failed(A), at=101)

    assert state.failure is not None
    assert state.failure.type_name == "WorkerLost"


def test_an_engine_that_refuses_the_job_fails_it_with_its_own_words() -> None:
    state = make()
    feed(state, ev.JobStarted())

    assert feed(state, ev.EngineEnded(SPARK)) == [DrainDelivery()]
    assert feed(state, ev.DeliveryDrained()) == [Finish(JobStatus.FAILED, SPARK)]


def test_a_silent_task_is_disconnected_and_fails_the_job() -> None:
    state = running()

    assert feed(state, ev.HeartbeatMissed(A, 50_000)) == [Disconnect(A)]
    assert feed(state, ev.ConnectionLost(A)) == []
    feed(state, ev.TimePassed(), at=100)

    assert state.failure is not None
    assert "was silent for 50.0 s" in state.failure.message


def test_tasks_that_do_not_come_up_fail_the_job_with_their_names() -> None:
    state = make()
    feed(state, ev.JobStarted(), *registered(A))

    assert feed(state, ev.TimePassed(), at=1000) == [
        CancelTasks(
            "the job failed: ExternalError: 1 of 2 tasks did not start within 1 s "
            "(missing: task 'Map' subtask 1)"
        ),
        CancelEngine(),
    ]


def test_cancel_lets_tasks_leave_then_ends_the_engine() -> None:
    state = running()

    assert feed(state, ev.CancelRequested()) == [
        DropDelivery(),
        CancelTasks("the job was cancelled"),
    ]
    assert feed(state, *ended(A, TaskStatus.CANCELED)) == []
    assert feed(state, ev.TaskEndReported(B, TaskStatus.CANCELED)) == [CancelEngine()]
    assert feed(state, ev.ConnectionLost(B)) == []
    assert feed(state, ev.EngineEnded(SPARK)) == [CANCELED]


def test_cancel_does_not_wait_long_for_tasks_and_repeats_itself() -> None:
    state = running()
    feed(state, ev.CancelRequested())

    assert feed(state, ev.TimePassed(), at=49) == []
    assert feed(state, ev.TimePassed(), at=50) == [CancelEngine()]
    assert feed(state, ev.TimePassed(), at=119) == []
    assert feed(state, ev.TimePassed(), at=120) == [CancelEngine()]


def test_cancel_while_tasks_are_starting_ends_the_engine_at_once() -> None:
    state = make()
    feed(state, ev.JobStarted(), *registered(A))

    assert feed(state, ev.CancelRequested()) == [
        DropDelivery(),
        CancelTasks("the job was cancelled"),
        CancelEngine(),
    ]
    assert state.refusal(B, "Map", 1) == "the job is CANCELLING"
    assert feed(state, ev.ConnectionLost(A), ev.EngineEnded(None)) == [CANCELED]


def test_cancel_before_the_start_works() -> None:
    state = make()

    feed(state, ev.CancelRequested(), ev.JobStarted())

    assert feed(state, ev.EngineEnded(None)) == [CANCELED]


def test_what_dies_while_the_job_is_cancelled_is_no_failure() -> None:
    state = running()
    feed(state, ev.CancelRequested())

    feed(state, failed(A), ev.ConnectionLost(A), ev.ConnectionLost(B))

    assert feed(state, ev.EngineEnded(SPARK)) == [CANCELED]


def test_cancelling_a_failing_job_keeps_its_failure() -> None:
    state = running()
    feed(state, failed(A), ev.CancelRequested(), *ended(A, TaskStatus.FAILED))

    end = feed(state, ev.ConnectionLost(B), ev.EngineEnded(SPARK), ev.DeliveryDrained())

    assert end[-1] == Finish(JobStatus.FAILED, BOOM)


def test_a_failing_client_handler_fails_the_job_with_its_error() -> None:
    state = running()

    feed(state, ev.DeliveryFailed(BOOM), *ended(A, TaskStatus.CANCELED))
    end = feed(state, *ended(B, TaskStatus.CANCELED), ev.EngineEnded(None))

    assert end[-1] == Finish(JobStatus.FAILED, BOOM)


def test_a_client_that_does_not_take_a_failed_jobs_values_is_not_waited_for() -> None:
    state = running()
    feed(state, failed(A), ev.ConnectionLost(A), ev.ConnectionLost(B), ev.EngineEnded(SPARK))

    assert feed(state, ev.TimePassed(), at=299) == []
    assert feed(state, ev.TimePassed(), at=300) == [DropDelivery(), Finish(JobStatus.FAILED, BOOM)]


def test_an_end_that_nobody_asked_for_fails_the_job() -> None:
    state = running()
    feed(state, *ended(A, TaskStatus.CANCELED))

    feed(state, ev.TimePassed(), at=100)

    assert state.failure is not None
    assert state.failure.message == "the task ended in CANCELED without saying why"


def test_a_reported_move_that_there_is_not_fails_the_job() -> None:
    state = running()
    feed(state, ev.TaskStatusReported(A, TaskStatus.DEPLOYING))

    feed(state, ev.TimePassed(), at=100)

    assert state.failure is not None
    assert "RUNNING -x-> DEPLOYING" in state.failure.message


def test_nothing_is_decided_after_the_end() -> None:
    state = running()
    feed(state, *ended(A), *ended(B), ev.EngineEnded(None), ev.DeliveryDrained())

    after = feed(state, ev.CancelRequested(), failed(A), ev.EngineEnded(SPARK), ev.TimePassed())

    assert after == []
    assert state.status is JobStatus.FINISHED


@pytest.mark.parametrize(
    ("key", "task", "subtask", "reason"),
    [
        (TaskKey(7, 0), "Map", 0, "the job has no task 'Map' subtask 0"),
        (A, "Other", 0, "the job has no task 'Other' subtask 0"),
        (A, "Map", 1, "the job has no task 'Map' subtask 1"),
        (A, "Map", 0, "task 'Map' subtask 0 is registered already, as pid 10 on here"),
    ],
)
def test_a_task_that_is_not_expected_is_refused(
    key: TaskKey, task: str, subtask: int, reason: str
) -> None:
    state = make()
    feed(state, ev.JobStarted(), *registered(A))

    refusal = state.refusal(key, task, subtask)

    assert refusal is not None
    assert refusal.startswith(reason)
    assert state.refusal(B, "Map", 1) is None
