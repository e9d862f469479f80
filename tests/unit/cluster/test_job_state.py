from __future__ import annotations

from dataclasses import replace

from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_master.job_state import JobState
from riverrun.cluster.job_master.restart_strategy import FixedDelay, NoRestart, RestartStrategy
from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt
from riverrun.core.lifecycle import JobStatus

BOOM = Failure("ValueError", "boom", task="Map", subtask=1)
FATAL = replace(BOOM, retryable=False)
HANDLER = Failure("KeyError", "the client's own", retryable=False)
CREATED, RUNNING, FAILING = JobStatus.CREATED, JobStatus.RUNNING, JobStatus.FAILING


def make(strategy: RestartStrategy | None = None) -> JobState:
    return JobState("spend", strategy or FixedDelay(attempts=2, delay_ms=100))


def feed(state: JobState, *events: ev.JobEvent, at: float = 0.0) -> list[ev.JobDecision]:
    return [decision for event in events for decision in state.handle(event, at)]


def running(strategy: RestartStrategy | None = None) -> JobState:
    state = make(strategy)
    feed(state, ev.AttemptMoved(CREATED), ev.AttemptMoved(RUNNING))
    return state


def fails(failure: Failure = BOOM) -> list[ev.JobEvent]:
    return [
        ev.AttemptMoved(FAILING),
        ev.CauseSettled(failure),
        ev.AttemptOver(JobStatus.FAILED, failure),
    ]


def restarting(at: float = 0.0) -> JobState:
    state = running()
    feed(state, *fails(), at=at)
    return state


def test_a_failed_attempt_is_followed_by_another_after_the_delay() -> None:
    state = restarting()

    assert (state.status, state.deadline()) == (JobStatus.RESTARTING, 100.0)
    assert feed(state, ev.TimePassed(), at=99) == []
    assert feed(state, ev.TimePassed(), at=100) == [ev.AwaitRoom()]
    assert feed(state, ev.RoomThere(), at=100) == [ev.PrepareAttempt(Attempt(1))]
    assert feed(state, ev.AttemptPrepared(), at=110) == [ev.StartAttempt(Attempt(1))]
    feed(state, ev.AttemptMoved(CREATED), ev.AttemptMoved(RUNNING), at=120)

    assert [status.value for status in state.story] == [
        "INITIALIZING",
        "CREATED",
        "RUNNING",
        "FAILING",
        "RESTARTING",
        "CREATED",
        "RUNNING",
    ]


def test_the_delay_runs_while_the_failed_attempt_is_being_stopped() -> None:
    state = running()
    feed(state, ev.AttemptMoved(FAILING), ev.CauseSettled(BOOM), at=0)

    assert feed(state, ev.AttemptOver(JobStatus.FAILED, BOOM), at=150) == [ev.AwaitRoom()]


def test_without_a_strategy_the_first_failure_ends_the_job_as_it_is() -> None:
    state = running(NoRestart())

    assert feed(state, *fails()) == [ev.EndJob(JobStatus.FAILED, BOOM)]


def test_a_strategy_that_gives_up_says_so_in_the_failure() -> None:
    state = running(FixedDelay(attempts=1, delay_ms=0))
    feed(state, *fails(), ev.RoomThere(), ev.AttemptPrepared())
    feed(state, ev.AttemptMoved(CREATED), ev.AttemptMoved(RUNNING))

    [end] = feed(state, *fails())

    assert isinstance(end, ev.EndJob)
    assert end.failure is not None
    assert end.failure.headline() == BOOM.headline()
    assert (end.failure.hint or "").startswith(
        "the job was not started again: restart strategy 'fixed-delay': failure 2, 1 restarts"
    )


def test_a_failure_that_cannot_get_better_is_not_retried() -> None:
    state = running()

    assert feed(state, *fails(FATAL)) == [ev.EndJob(JobStatus.FAILED, FATAL)]


def test_what_could_not_be_prepared_is_a_failure_like_any_other() -> None:
    state = restarting()
    feed(state, ev.TimePassed(), ev.RoomThere(), at=100)
    store = Failure("StorageError", "no answer")

    assert feed(state, ev.PreparationFailed(store), at=200) == []
    assert (state.status, state.deadline()) == (JobStatus.RESTARTING, 300.0)
    feed(state, ev.TimePassed(), ev.RoomThere(), at=300)
    [end] = feed(state, ev.PreparationFailed(store), at=400)

    assert isinstance(end, ev.EndJob)
    assert end.status is JobStatus.FAILED
    assert [record.failure for record in state.failures()] == [BOOM, store, store]


def test_a_program_that_does_not_fit_its_checkpoint_ends_the_job_at_once() -> None:
    state = restarting()
    feed(state, ev.TimePassed(), ev.RoomThere(), at=100)

    assert feed(state, ev.PreparationFailed(FATAL), at=100) == [ev.EndJob(JobStatus.FAILED, FATAL)]


def test_cancel_while_an_attempt_runs_is_the_attempts_to_carry_out() -> None:
    state = running()

    assert feed(state, ev.CancelRequested()) == [ev.CancelAttempt()]
    feed(state, ev.AttemptMoved(JobStatus.CANCELLING))

    over = feed(state, ev.AttemptOver(JobStatus.CANCELED, None))
    assert over == [ev.EndJob(JobStatus.CANCELED, None)]


def test_cancel_while_an_attempt_fails_prevents_the_next_one() -> None:
    state = running()
    feed(state, ev.AttemptMoved(FAILING), ev.CauseSettled(BOOM))
    assert state.will_restart

    assert feed(state, ev.CancelRequested()) == [ev.CancelAttempt()]
    assert not state.will_restart

    end = feed(state, ev.AttemptOver(JobStatus.FAILED, BOOM))
    assert end == [ev.EndJob(JobStatus.CANCELED, None)]
    assert state.story[-3:] == (FAILING, JobStatus.CANCELLING, JobStatus.CANCELED)


def test_cancelling_a_job_that_fails_for_good_keeps_its_failure() -> None:
    state = running(NoRestart())
    feed(state, ev.AttemptMoved(FAILING), ev.CauseSettled(BOOM), ev.CancelRequested())

    assert feed(state, ev.AttemptOver(JobStatus.FAILED, BOOM)) == [
        ev.EndJob(JobStatus.FAILED, BOOM)
    ]


def test_cancel_ends_a_job_that_waits_for_anything_at_once() -> None:
    canceled = [ev.EndJob(JobStatus.CANCELED, None)]
    waits: list[list[ev.JobEvent]] = [[], [ev.TimePassed()], [ev.TimePassed(), ev.RoomThere()]]

    for events in waits:
        state = restarting()
        feed(state, *events, at=100)
        assert feed(state, ev.CancelRequested(), at=101) == canceled
        assert feed(state, ev.AttemptPrepared(), ev.RoomThere(), ev.TimePassed(), at=999) == []
        assert state.deadline() is None


def test_a_client_that_failed_gets_no_other_attempt() -> None:
    state = running()
    feed(state, ev.AttemptMoved(FAILING), ev.CauseSettled(BOOM), ev.ClientFailed(HANDLER))

    assert not state.will_restart
    assert feed(state, ev.AttemptOver(JobStatus.FAILED, BOOM)) == [
        ev.EndJob(JobStatus.FAILED, HANDLER)
    ]
    assert [record.failure for record in state.failures()] == [BOOM, HANDLER]


def test_a_client_that_fails_between_attempts_ends_the_job() -> None:
    state = restarting()

    assert feed(state, ev.ClientFailed(HANDLER)) == [ev.EndJob(JobStatus.FAILED, HANDLER)]


def test_a_job_that_did_all_its_work_does_not_begin_again() -> None:
    state = running()
    feed(state, ev.WorkDone())

    assert feed(state, *fails()) == [ev.EndJob(JobStatus.FAILED, BOOM)]


def test_a_job_that_cannot_start_is_failed() -> None:
    state = make()

    assert feed(state, ev.StartRefused(FATAL)) == [ev.EndJob(JobStatus.FAILED, FATAL)]
    assert state.story == (JobStatus.INITIALIZING, JobStatus.FAILED)


def test_the_history_tells_when_where_and_in_which_attempt() -> None:
    state = restarting(at=7)
    feed(state, ev.TimePassed(), ev.RoomThere(), ev.AttemptPrepared(), at=200)
    feed(state, ev.AttemptMoved(CREATED), at=200)
    feed(state, ev.Remarked(HANDLER), at=300)

    first, second = state.failures()

    assert (first.at, first.attempt, first.task, first.failure) == (7, 0, "Map", BOOM)
    assert (second.at, second.attempt, second.task) == (300, 1, None)


def test_the_history_is_bounded() -> None:
    state = running()

    for n in range(1000):
        feed(state, ev.Remarked(Failure("ValueError", str(n))))

    assert len(state.failures()) == 100
    assert state.failures()[-1].failure.message == "999"


def test_a_suspended_job_stops_its_attempt_and_ends_suspended() -> None:
    state = running()

    assert feed(state, ev.SuspendRequested()) == [ev.StopAttempt("the job is being suspended")]
    assert feed(state, ev.AttemptMoved(JobStatus.CANCELLING)) == []
    assert state.status is RUNNING
    assert state.will_restart  # what was sent is delivered
    assert feed(state, ev.AttemptOver(JobStatus.CANCELED, None)) == [
        ev.EndJob(JobStatus.SUSPENDED, None)
    ]


def test_a_job_without_an_attempt_is_suspended_at_once() -> None:
    state = restarting()

    assert feed(state, ev.SuspendRequested(), ev.SuspendRequested()) == [
        ev.EndJob(JobStatus.SUSPENDED, None)
    ]


def test_a_failing_job_is_suspended_instead_of_started_again_or_given_up() -> None:
    for strategy in (FixedDelay(attempts=2, delay_ms=100), NoRestart()):
        state = running(strategy)
        feed(state, ev.AttemptMoved(FAILING), ev.CauseSettled(BOOM), ev.SuspendRequested())

        assert feed(state, ev.AttemptOver(JobStatus.FAILED, BOOM)) == [
            ev.EndJob(JobStatus.SUSPENDED, None)
        ]


def test_a_job_that_is_being_cancelled_is_not_suspended() -> None:
    state = running()
    feed(state, ev.CancelRequested(), ev.AttemptMoved(JobStatus.CANCELLING))

    assert feed(state, ev.SuspendRequested()) == []
    assert feed(state, ev.AttemptOver(JobStatus.CANCELED, None)) == [
        ev.EndJob(JobStatus.CANCELED, None)
    ]


def test_a_cancelled_job_is_cancelled_though_it_was_being_suspended() -> None:
    state = running()
    feed(state, ev.SuspendRequested(), ev.AttemptMoved(JobStatus.CANCELLING))
    feed(state, ev.CancelRequested())

    assert feed(state, ev.AttemptOver(JobStatus.CANCELED, None)) == [
        ev.EndJob(JobStatus.CANCELED, None)
    ]


def test_a_job_that_finishes_first_is_finished() -> None:
    state = running()
    feed(state, ev.WorkDone(), ev.SuspendRequested())

    assert feed(state, ev.AttemptOver(JobStatus.FINISHED, None)) == [
        ev.EndJob(JobStatus.FINISHED, None)
    ]
