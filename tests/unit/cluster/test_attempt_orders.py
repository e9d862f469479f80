"""Whatever the order of facts: only legal moves, always an end, and the first cause wins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.cluster.job_master import events as ev
from riverrun.cluster.job_master.attempt_state import AttemptState
from riverrun.cluster.job_master.decisions import Decision, DrainDelivery, Finish
from riverrun.cluster.job_master.tasks import Contact, TaskKey, TaskRecord
from riverrun.cluster.job_master.timing import Timing
from riverrun.core.errors import Failure
from riverrun.core.ids import Millis, SubtaskId, VertexId
from riverrun.core.lifecycle import JOB_MOVES, JobStatus, TaskStatus
from riverrun.graph.execution_graph import Placement, Subtask
from riverrun.protocol.control import FailureOrigin

KEYS = [TaskKey(0, 0), TaskKey(0, 1), TaskKey(1, 0)]
TIMING = Timing(
    registration_timeout_ms=1000,
    failure_grace_ms=100,
    cancel_grace_ms=50,
    cancel_retry_ms=70,
    stragglers_grace_ms=200,
    drain_grace_ms=300,
)
FAILURES = [Failure("ValueError", f"boom {n}") for n in range(4)]

keys = st.sampled_from(KEYS)
failures = st.sampled_from(FAILURES)
facts = st.one_of(
    st.just(ev.JobStarted()),
    st.builds(ev.TaskRegistered, keys, st.just(Placement("here", 7))),
    st.builds(ev.TaskStatusReported, keys, st.sampled_from(TaskStatus)),
    st.builds(ev.TaskFailureReported, keys, failures, st.sampled_from(FailureOrigin)),
    st.builds(ev.TaskEndReported, keys, st.sampled_from(TaskStatus)),
    st.builds(ev.ConnectionLost, keys),
    st.builds(ev.HeartbeatMissed, keys, st.just(1.0)),
    st.builds(ev.EngineEnded, st.none() | failures),
    st.just(ev.CancelRequested()),
    st.builds(ev.DeliveryFailed, failures),
    st.builds(ev.CheckpointsFailed, failures),
    st.just(ev.DeliveryDrained()),
    st.just(ev.TimePassed()),
)
steps = st.lists(st.tuples(facts, st.sampled_from([0.0, 1.0, 60.0, 250.0])), max_size=40)


@dataclass
class Play:
    state: AttemptState
    now: float
    decisions: list[Decision]

    def step(self, fact: ev.Event, wait: float) -> bool:
        """Whether such a fact can reach the JobMaster now; if so it is handled."""
        self.now += wait
        if isinstance(fact, ev.TaskRegistered):
            index = KEYS.index(fact.task)
            if self.state.refusal(fact.task, "Map", index) is not None:
                return False
        elif isinstance(
            fact, ev.TaskStatusReported | ev.TaskFailureReported | ev.TaskEndReported
        ) and (self.state.tasks[fact.task].contact is not Contact.CONNECTED):
            return False
        self.decisions += self.state.handle(fact, self.now)
        return True


def new_play(*, started: bool) -> Play:
    records = [
        TaskRecord(key, "Map", Subtask(SubtaskId(VertexId("v"), n), "Map", Millis(0)))
        for n, key in enumerate(KEYS)
    ]
    play = Play(AttemptState("spend", records, TIMING), 0.0, [])
    if started:
        play.step(ev.JobStarted(), 0)
        for key in KEYS:
            play.step(ev.TaskRegistered(key, Placement("here", 7)), 0)
    return play


def finishes(play: Play) -> list[Finish]:
    return [decision for decision in play.decisions if isinstance(decision, Finish)]


@given(started=st.booleans(), steps=steps)
@settings(max_examples=300)
def test_only_legal_moves_and_one_end_that_stays(
    started: bool,
    steps: list[tuple[ev.Event, float]],
) -> None:
    play = new_play(started=started)

    for fact, wait in steps:
        was = play.state.status
        play.step(fact, wait)
        if was.is_terminal_state():
            assert play.state.status is was

    story = play.state.story
    assert all(to in JOB_MOVES[of] for of, to in pairwise(story))
    assert [f.status for f in finishes(play)] == [s for s in story if s.is_terminal_state()]


@given(started=st.booleans(), steps=steps, success=st.booleans())
@settings(max_examples=300)
def test_a_job_whose_engine_ended_always_comes_to_an_end(
    started: bool,
    steps: list[tuple[ev.Event, float]],
    success: bool,
) -> None:
    play = new_play(started=started)
    for fact, wait in steps:
        play.step(fact, wait)

    play.step(ev.EngineEnded(None if success else FAILURES[0]), 0)
    turns = 0
    while (deadline := play.state.deadline()) is not None:
        play.step(ev.TimePassed(), max(0.0, deadline - play.now))
        turns += 1
        assert turns < 20, "deadlines must run out"
    play.step(ev.DeliveryDrained(), 0)

    assert play.state.status.is_globally_terminal_state()
    (end,) = finishes(play)
    assert (end.failure is not None) == (end.status is JobStatus.FAILED)
    assert all(task.status.is_terminal() for task in play.state.tasks)


@given(steps=steps)
@settings(max_examples=300)
def test_the_first_cause_that_is_reported_before_the_search_ends_wins(
    steps: list[tuple[ev.Event, float]],
) -> None:
    play = new_play(started=True)
    first: Failure | None = None

    for fact, wait in steps:
        searching = play.state.failure is None and play.state.status in (
            JobStatus.RUNNING,
            JobStatus.FAILING,
        )
        handled = play.step(fact, wait)
        match fact:
            case (
                ev.TaskFailureReported(_, failure, FailureOrigin.USER | FailureOrigin.SYSTEM)
                | ev.DeliveryFailed(failure)
                | ev.CheckpointsFailed(failure)
            ) if searching and handled:
                first = failure
        if first is not None:
            assert play.state.failure == first


@given(order=st.permutations([*KEYS, *KEYS, None]), slow=st.booleans())
def test_an_orderly_end_in_any_order_is_a_success(
    order: list[TaskKey | None],
    slow: bool,
) -> None:
    play = new_play(started=True)
    goodbyes: set[TaskKey] = set()

    for key in order:
        if key is None:
            fact: ev.Event = ev.EngineEnded(None)
        elif key in goodbyes:
            fact = ev.ConnectionLost(key)
        else:
            goodbyes.add(key)
            fact = ev.TaskEndReported(key, TaskStatus.FINISHED)
        play.step(fact, 10.0 if slow else 0.0)
    play.step(ev.DeliveryDrained(), 1e6)

    assert play.decisions[-2:] == [DrainDelivery(), Finish(JobStatus.FINISHED, None)]
