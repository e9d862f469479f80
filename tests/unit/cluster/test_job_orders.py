"""Whatever happens in whatever order: only legal moves, one attempt at a time, and one end."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_master.job_state import JobState
from riverrun.cluster.job_master.restart_strategy import FixedDelay
from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt
from riverrun.core.lifecycle import JOB_MOVES, JobStatus
from tests.unit.cluster.played_job import graph

BOOM = Failure("ValueError", "boom")
FATAL = Failure("StateRefused", "does not fit", retryable=False)
HANDLER = Failure("KeyError", "the client's own", retryable=False)


class World:
    """An attempt, a store and a client that do what they may do next, at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.state = JobState("spend", FixedDelay(self.random.randint(0, 4), 50), graph(2))
        self.now = 0.0
        self.attempt: JobStatus | None = JobStatus.INITIALIZING
        self.cause: Failure | None = None
        self.asked: list[ev.JobEvent] = []
        self.started: list[Attempt] = [Attempt(0)]
        self.ends: list[ev.EndJob] = []
        self.cancelled = False
        self.wishes = 0
        self.answered: list[int] = []
        self.stopped = 0
        self.failed = 0

    def facts(self) -> list[ev.JobEvent]:
        """What may happen next."""
        possible: list[ev.JobEvent] = [ev.TimePassed(), *self.asked]
        if self.random.random() < 0.05:
            possible += [ev.CancelRequested(), ev.ClientFailed(HANDLER)]
        if self.random.random() < 0.2:
            wanted = ev.RescaleWanted(self.wishes + 1, graph(self.random.randint(1, 3)))
            possible += [wanted, ev.RescaleWithdrawn("something else")]
        match self.attempt:
            case JobStatus.INITIALIZING:
                possible = [ev.AttemptMoved(JobStatus.CREATED)]
            case JobStatus.CREATED:
                possible += [ev.AttemptMoved(s) for s in (JobStatus.RUNNING, JobStatus.FAILING)]
            case JobStatus.RUNNING:
                possible += [ev.AttemptUp()] * 4
                possible += [ev.AttemptMoved(JobStatus.FAILING)] * 3
                possible.append(ev.AttemptOver(JobStatus.FINISHED, None))
            case JobStatus.FAILING if self.cause is None:
                possible += [ev.CauseSettled(f) for f in (BOOM, BOOM, BOOM, FATAL)]
            case JobStatus.FAILING:
                possible.append(ev.AttemptOver(JobStatus.FAILED, self.cause))
            case JobStatus.CANCELLING:
                possible.append(ev.AttemptOver(JobStatus.CANCELED, None))
        return possible

    def step(self) -> None:
        fact = self.random.choice(self.facts())
        self.now += self.random.choice([0, 1, 30])
        if fact in self.asked:
            self.asked.remove(fact)
            fact = self.outcome(fact)
        match fact:
            case ev.AttemptMoved(status):
                self.attempt = status
            case ev.CauseSettled(failure):
                self.cause = failure
                self.failed += 1
            case ev.PreparationFailed():
                self.failed += 1
            case ev.RescaleWanted(wish):
                self.wishes = wish
            case ev.AttemptOver():
                self.attempt, self.cause = None, None
            case ev.CancelRequested():
                self.cancelled = True
        for decision in self.state.handle(fact, self.now):
            self.carry_out(decision)

    def outcome(self, fact: ev.JobEvent) -> ev.JobEvent:
        """What comes of something that was asked for: usually what was expected."""
        match fact:
            case ev.AttemptPrepared() if self.random.random() < 0.3:
                return ev.PreparationFailed(self.random.choice([BOOM, FATAL]))
            case ev.AttemptPrepared() if self.random.random() < 0.2:
                return ev.AttemptPrepared(self.state.graph, "does not fit")
            case ev.RescaleCheckpointed(number) if self.random.random() < 0.2:
                return ev.RescaleCheckpointed(number, "declined")
            case _:
                return fact

    def carry_out(self, decision: ev.JobDecision) -> None:
        assert not self.ends, "nothing is decided after the end"
        match decision:
            case ev.CancelAttempt():
                assert self.attempt is not None
                if self.attempt in (JobStatus.CREATED, JobStatus.RUNNING):
                    self.attempt = JobStatus.CANCELLING
                    self.state.handle(ev.AttemptMoved(JobStatus.CANCELLING), self.now)
            case ev.StopAttempt():
                assert self.attempt is JobStatus.RUNNING
                self.stopped += 1
                self.attempt = JobStatus.CANCELLING
                self.state.handle(ev.AttemptMoved(JobStatus.CANCELLING), self.now)
                assert self.state.status is JobStatus.RESTARTING
            case ev.CheckpointForRescale(number):
                assert self.attempt is JobStatus.RUNNING
                self.asked.append(ev.RescaleCheckpointed(number, None))
            case ev.AnswerRescale(wish):
                self.answered.append(wish)
            case ev.AwaitRoom():
                self.asked.append(ev.RoomThere())
            case ev.PrepareAttempt(number):
                assert number == self.started[-1] + 1
                self.asked.append(ev.AttemptPrepared())
            case ev.StartAttempt(number):
                assert self.attempt is None, "one attempt at a time"
                assert number == self.started[-1] + 1
                self.started.append(number)
                self.attempt = JobStatus.INITIALIZING
            case ev.EndJob():
                assert self.attempt is None, "an attempt outlives its job"
                self.ends.append(decision)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=400)
def test_a_job_moves_as_flinks_do_and_ends_once(seed: int) -> None:
    world = World(seed)

    for _ in range(200):
        if world.ends:
            break
        world.step()

    story = world.state.story
    assert all(to in JOB_MOVES[of] for of, to in pairwise(story))
    assert [end.status for end in world.ends] == [s for s in story if s.is_terminal_state()]
    assert len(set(world.answered)) == len(world.answered), "one answer for each wish"
    assert set(world.answered) <= set(range(1, world.wishes + 1))
    restarts = len(world.started) - 1
    assert restarts <= world.stopped + world.failed
    for end in world.ends:
        assert sorted(world.answered) == list(range(1, world.wishes + 1)), "and no wish without"
        assert (end.failure is not None) == (end.status is JobStatus.FAILED)
        assert end.status is not JobStatus.CANCELED or world.cancelled


@given(seed=st.integers(0, 2**32))
@settings(max_examples=200)
def test_a_cancelled_job_starts_nothing_any_more(seed: int) -> None:
    world = World(seed)
    while not world.cancelled and not world.ends:
        world.step()
    started = len(world.started)

    for _ in range(100):
        if not world.ends:
            world.step()

    assert len(world.started) == started
    assert world.ends, "a cancelled job ends"
