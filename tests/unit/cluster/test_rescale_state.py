"""What follows from the wish to rescale a job: by facts alone."""

from __future__ import annotations

import pytest

from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_master.job_state import JobState
from riverrun.cluster.job_master.restart_strategy import FixedDelay, NoRestart, RestartStrategy
from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt
from riverrun.core.lifecycle import JobStatus
from tests.unit.cluster.played_job import graph

BOOM = Failure("ValueError", "boom", task="Map", subtask=1)
HANDLER = Failure("KeyError", "the client's own", retryable=False)
TWO, THREE, FOUR = graph(2), graph(3), graph(4)
SINCE = "another rescale was asked for since"


def feed(state: JobState, *events: ev.JobEvent, at: float = 0.0) -> list[ev.JobDecision]:
    return [decision for event in events for decision in state.handle(event, at)]


def running(strategy: RestartStrategy | None = None) -> JobState:
    state = JobState("spend", strategy or FixedDelay(attempts=2, delay_ms=100), TWO)
    moves = (ev.AttemptMoved(JobStatus.CREATED), ev.AttemptMoved(JobStatus.RUNNING))
    feed(state, *moves, ev.AttemptUp())
    return state


def stopping() -> JobState:
    """A job whose attempt is being stopped, to go on with three subtasks."""
    state = running()
    feed(state, ev.RescaleWanted(1, THREE), ev.RescaleCheckpointed(1, None))
    feed(state, ev.AttemptMoved(JobStatus.CANCELLING))
    return state


def come_up(state: JobState) -> list[ev.JobDecision]:
    moves = (ev.AttemptMoved(JobStatus.CREATED), ev.AttemptMoved(JobStatus.RUNNING))
    return feed(state, *moves, ev.AttemptUp())


def fails(failure: Failure = BOOM) -> list[ev.JobEvent]:
    return [
        ev.AttemptMoved(JobStatus.FAILING),
        ev.CauseSettled(failure),
        ev.AttemptOver(JobStatus.FAILED, failure),
    ]


def test_a_rescale_goes_through_a_checkpoint_a_stop_and_an_attempt_with_the_new_graph() -> None:
    state = running()

    assert feed(state, ev.RescaleWanted(7, THREE)) == [ev.CheckpointForRescale(1)]
    assert state.status is JobStatus.RUNNING
    assert feed(state, ev.RescaleCheckpointed(1, None)) == [ev.StopAttempt()]
    assert feed(state, ev.AttemptMoved(JobStatus.CANCELLING)) == []
    assert (state.status, state.will_restart) == (JobStatus.RESTARTING, True)
    over = ev.AttemptOver(JobStatus.CANCELED, None)
    assert feed(state, over, at=50) == [ev.AwaitRoom()]
    assert feed(state, ev.RoomThere()) == [ev.PrepareAttempt(Attempt(1))]
    assert (state.next_graph, state.graph) == (THREE, TWO)
    assert feed(state, ev.AttemptPrepared(THREE)) == [ev.StartAttempt(Attempt(1))]
    assert come_up(state) == [ev.AnswerRescale(7, None)]
    assert (state.graph, state.next_graph) == (THREE, THREE)
    story = ["INITIALIZING", "CREATED", "RUNNING", "RESTARTING", "CREATED", "RUNNING"]
    assert [status.value for status in state.story] == story


def test_a_rescale_is_no_failure_and_asks_no_restart_strategy() -> None:
    state = running(NoRestart())
    feed(state, ev.RescaleWanted(1, THREE), ev.RescaleCheckpointed(1, None))
    feed(state, ev.AttemptMoved(JobStatus.CANCELLING), ev.AttemptOver(JobStatus.CANCELED, None))

    assert state.status is JobStatus.RESTARTING
    assert state.failures() == ()


def test_without_its_checkpoint_the_job_goes_on_as_it_was() -> None:
    state = running()
    feed(state, ev.RescaleWanted(1, THREE))

    assert feed(state, ev.RescaleCheckpointed(1, "declined")) == [ev.AnswerRescale(1, "declined")]
    assert (state.status, state.next_graph) == (JobStatus.RUNNING, TWO)


def test_a_job_that_runs_so_already_is_not_stopped() -> None:
    state = running()

    assert feed(state, ev.RescaleWanted(1, graph(2))) == [ev.AnswerRescale(1, None)]


def test_the_last_wish_wins_and_the_checkpoint_on_its_way_serves_it() -> None:
    state = running()
    feed(state, ev.RescaleWanted(1, THREE))

    assert feed(state, ev.RescaleWanted(2, FOUR)) == [ev.AnswerRescale(1, SINCE)]
    assert feed(state, ev.RescaleCheckpointed(1, None)) == [ev.StopAttempt()]
    assert state.next_graph is FOUR


def test_a_wish_for_what_is_there_withdraws_the_wish_before() -> None:
    state = running()
    feed(state, ev.RescaleWanted(1, THREE), ev.RescaleWanted(2, graph(2)))

    assert feed(state, ev.RescaleCheckpointed(1, None)) == [ev.AnswerRescale(2, None)]
    assert state.status is JobStatus.RUNNING


def test_tasks_that_stopped_with_the_checkpoint_are_started_again_whatever_is_wanted_by_then() -> (
    None
):
    state = running()
    feed(state, ev.RescaleWanted(1, THREE), ev.RescaleWanted(2, graph(2)))

    outcome = ev.RescaleCheckpointed(1, None, final=True)
    assert feed(state, outcome) == [ev.StopAttempt()]


def test_a_wish_while_the_attempt_is_stopped_is_fulfilled_by_the_next_one() -> None:
    state = stopping()

    assert feed(state, ev.RescaleWanted(2, FOUR)) == [ev.AnswerRescale(1, SINCE)]
    feed(state, ev.AttemptOver(JobStatus.CANCELED, None), ev.RoomThere())
    feed(state, ev.AttemptPrepared(FOUR))
    assert come_up(state) == [ev.AnswerRescale(2, None)]


def test_a_wish_while_the_next_attempt_is_prepared_waits_until_it_runs() -> None:
    state = stopping()
    feed(state, ev.AttemptOver(JobStatus.CANCELED, None), ev.RoomThere())

    assert feed(state, ev.RescaleWanted(2, FOUR)) == [ev.AnswerRescale(1, SINCE)]
    feed(state, ev.AttemptPrepared(THREE))
    assert come_up(state) == [ev.CheckpointForRescale(2)]


def test_an_attempt_that_cannot_have_the_graph_keeps_its_own_and_says_why() -> None:
    state = stopping()
    feed(state, ev.AttemptOver(JobStatus.CANCELED, None), ev.RoomThere())

    decided = feed(state, ev.AttemptPrepared(TWO, "does not fit"))
    assert decided == [ev.AnswerRescale(1, "does not fit"), ev.StartAttempt(Attempt(1))]
    assert come_up(state) == []
    assert state.graph is TWO


@pytest.mark.parametrize("stage", ["asked", "checkpointed"])
def test_a_job_that_fails_meanwhile_starts_again_with_the_new_graph(stage: str) -> None:
    state = running()
    feed(state, ev.RescaleWanted(1, THREE))
    feed(state, *fails())
    outcome = None if stage == "checkpointed" else "the attempt ended"
    assert feed(state, ev.RescaleCheckpointed(1, outcome)) == []

    assert len(state.failures()) == 1
    assert feed(state, ev.TimePassed(), ev.RoomThere(), at=100) == [
        ev.AwaitRoom(),
        ev.PrepareAttempt(Attempt(1)),
    ]
    feed(state, ev.AttemptPrepared(THREE))
    assert come_up(state) == [ev.AnswerRescale(1, None)]


def test_a_wish_before_every_task_runs_waits_for_them() -> None:
    state = JobState("spend", NoRestart(), TWO)
    feed(state, ev.AttemptMoved(JobStatus.CREATED))

    assert feed(state, ev.RescaleWanted(1, THREE)) == []
    assert feed(state, ev.AttemptMoved(JobStatus.RUNNING)) == []
    assert feed(state, ev.AttemptUp()) == [ev.CheckpointForRescale(1)]


def test_a_wish_during_a_restart_needs_no_checkpoint() -> None:
    state = running()
    feed(state, *fails())

    assert feed(state, ev.RescaleWanted(1, THREE)) == []
    assert state.next_graph is THREE


def test_a_failure_of_the_new_attempt_does_not_bring_the_old_graph_back() -> None:
    state = stopping()
    feed(state, ev.AttemptOver(JobStatus.CANCELED, None), ev.RoomThere())
    feed(state, ev.AttemptPrepared(THREE), ev.AttemptMoved(JobStatus.CREATED))
    feed(state, *fails())

    assert (state.status, state.next_graph) == (JobStatus.RESTARTING, THREE)
    feed(state, ev.TimePassed(), ev.RoomThere(), ev.AttemptPrepared(THREE), at=100)
    assert come_up(state) == [ev.AnswerRescale(1, None)]


def test_a_cancellation_ends_a_job_that_is_being_stopped() -> None:
    state = stopping()

    assert feed(state, ev.CancelRequested()) == [ev.CancelAttempt()]
    assert (state.status, state.will_restart) == (JobStatus.CANCELLING, False)
    over = ev.AttemptOver(JobStatus.CANCELED, None)
    assert feed(state, over) == [
        ev.AnswerRescale(1, "the job is CANCELED"),
        ev.EndJob(JobStatus.CANCELED, None),
    ]


def test_a_client_that_fails_ends_a_job_that_is_being_stopped() -> None:
    state = stopping()
    feed(state, ev.ClientFailed(HANDLER))

    assert feed(state, ev.AttemptOver(JobStatus.CANCELED, None)) == [
        ev.AnswerRescale(1, "the job is FAILED"),
        ev.EndJob(JobStatus.FAILED, HANDLER),
    ]


def test_a_job_that_ends_answers_the_wish() -> None:
    state = running(NoRestart())
    feed(state, ev.RescaleWanted(1, THREE))

    assert ev.AnswerRescale(1, "the job is FAILED") in feed(state, *fails())


def test_a_job_that_finishes_before_its_checkpoint_answers_the_wish() -> None:
    state = running()
    feed(state, ev.RescaleWanted(1, THREE), ev.WorkDone())

    assert feed(state, ev.RescaleCheckpointed(1, None)) == []
    assert feed(state, ev.RescaleWanted(2, FOUR)) == [ev.AnswerRescale(2, "its work is done")]
    assert feed(state, ev.AttemptOver(JobStatus.FINISHED, None)) == [
        ev.AnswerRescale(1, "the job is FINISHED"),
        ev.EndJob(JobStatus.FINISHED, None),
    ]


def test_a_job_that_is_to_stop_is_not_rescaled() -> None:
    state = running()
    feed(state, ev.RescaleWanted(1, THREE))

    assert feed(state, ev.RescaleWithdrawn("it stops")) == [ev.AnswerRescale(1, "it stops")]
    assert feed(state, ev.RescaleCheckpointed(1, None)) == []
    assert (state.status, state.next_graph) == (JobStatus.RUNNING, TWO)


def test_a_job_that_is_cancelled_takes_no_wish() -> None:
    state = running()
    feed(state, ev.CancelRequested())

    [answer] = feed(state, ev.RescaleWanted(1, THREE))
    assert isinstance(answer, ev.AnswerRescale)
    assert "will not go on" in str(answer.reason)
