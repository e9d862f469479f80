"""Slots: held by one job or by none, sought in order, given back once."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)

from riverrun.cluster.resources.seeking import FixedNeed, Refuse, Room, Take, Verdict, Wait
from riverrun.cluster.resources.slot_book import SlotBook
from riverrun.cluster.resources.slot_desk import Answer, Denied, Granted, SlotDesk
from riverrun.cluster.resources.task_managers import TaskManager, TaskManagerRegistry
from riverrun.core.errors import InternalError, TooFewSlots
from riverrun.core.ids import JobId, Millis

TIMEOUT_MS = 100


def job(number: int) -> JobId:
    return JobId(f"{number:032x}")


def manager(name: str, slots: int = 4, used: int = 0) -> TaskManager:
    return TaskManager(name, "host", 7000, 2, slots, used, 100, 10, 5)


def desk(slots: int, executors: int = 1, *, can_grow: bool = True) -> SlotDesk:
    made = SlotDesk(can_grow=can_grow, task_cpus="0.5")
    made.observe(slots, executors)
    return made


def need(slots: int, began: float = 0) -> FixedNeed:
    return FixedNeed(slots, TIMEOUT_MS, began)


# task managers


def test_task_managers_come_stay_and_are_lost() -> None:
    registry = TaskManagerRegistry()

    first = registry.observe([manager("0"), manager("1")], Millis(10))
    assert [each.id for each in first.came] == ["0", "1"]
    assert not registry.observe([manager("1", used=3), manager("0")], Millis(20))
    second = registry.observe([manager("2"), manager("1", used=3)], Millis(30))

    assert [each.id for each in second.came] == ["2"]
    assert [(each.id, each.lost_at) for each in second.left] == [("0", 30)]
    assert [(each.id, each.slots_free) for each in registry.there()] == [("1", 1), ("2", 4)]
    assert [each.id for each in registry.lost()] == ["0"]


# the book


def test_a_job_may_always_hold_fewer_even_when_slots_were_lost() -> None:
    book = SlotBook(10)
    assert book.claim(job(1), 8)
    book.total = 4

    assert book.free == 0
    assert book.room_for(job(1)) == 4
    assert book.claim(job(1), 6)
    assert not book.claim(job(1), 7)
    assert book.held == {job(1): 6}


def test_nothing_is_not_a_claim() -> None:
    with pytest.raises(ValueError, match="asked for 0 slots"):
        SlotBook(1).claim(job(1), 0)


# seeking


def test_a_job_is_refused_at_once_where_nothing_can_come() -> None:
    room = Room(total=2, free=2, executors=1, task_cpus="1", can_grow=False)

    verdict = need(6).consider(room, 0)

    assert isinstance(verdict, Refuse)
    for figure in ("needs 6 task slots", "has 2", "spark.task.cpus is 1", "0.330 would make room"):
        assert figure in str(verdict.error)


def test_a_job_waits_for_slots_of_others_even_where_nothing_can_come() -> None:
    room = Room(total=8, free=2, executors=1, can_grow=False)

    verdict = need(6).consider(room, 0)

    assert verdict == Wait(
        100,
        "waiting for 6 slots, 8 are there on 1 executor and 6 of them are used by other jobs",
    )


def test_who_waited_too_long_is_refused_with_the_figures() -> None:
    verdict = need(6).consider(Room(total=8, free=2, executors=3), TIMEOUT_MS)

    assert isinstance(verdict, Refuse)
    assert "there are 3, other jobs use 6 of 8 slots" in str(verdict.error)


# the desk


def test_slots_are_granted_in_order_but_a_large_job_does_not_hold_up_a_small_one() -> None:
    counter = desk(4)
    assert counter.seek(job(1), need(3), 0) == Granted(job(1), 3)
    assert counter.seek(job(2), need(4), 1) is None
    assert counter.seek(job(3), need(1), 2) == Granted(job(3), 1)
    assert counter.seek(job(4), need(2), 3) is None
    assert counter.serve(4) == ()

    counter.leave(job(1))

    assert counter.serve(5) == (Granted(job(4), 2),)
    assert list(counter.waiting()) == [job(2)]
    assert counter.waiting()[job(2)].since == 1
    assert counter.deadline() == TIMEOUT_MS


def test_a_job_that_is_started_again_comes_before_those_that_wait() -> None:
    counter = desk(4)
    counter.seek(job(1), need(4), 0)
    counter.seek(job(2), need(1), 1)

    assert counter.seek(job(1), need(4), 2) == Granted(job(1), 4)
    assert list(counter.waiting()) == [job(2)]


def test_jobs_that_lost_an_executor_do_not_wait_for_each_other() -> None:
    counter = desk(20, 2)
    counter.seek(job(1), need(10), 0)
    counter.seek(job(2), need(10), 0)
    counter.observe(10, 1)

    assert counter.seek(job(1), need(10), 1) is None
    assert counter.seek(job(2), need(10), 1) == Granted(job(2), 10)
    counter.leave(job(2))
    assert counter.serve(2) == (Granted(job(1), 10),)


def test_a_refused_job_waits_no_more_and_holds_nothing() -> None:
    counter = desk(4)
    counter.seek(job(1), need(5), 0)

    (answer,) = counter.serve(TIMEOUT_MS)

    assert isinstance(answer, Denied)
    assert answer.error.needed == 5
    assert not counter.waiting()
    assert counter.free == 4


def test_a_running_job_takes_more_slots_before_it_needs_them() -> None:
    counter = desk(6)
    counter.seek(job(1), need(2), 0)
    counter.seek(job(2), need(2), 0)

    counter.resize(job(1), 4)
    with pytest.raises(TooFewSlots, match="needs 5 task slots"):
        counter.resize(job(1), 5)

    assert counter.held == {job(1): 4, job(2): 2}


def test_nobody_seeks_twice() -> None:
    counter = desk(1)
    counter.seek(job(1), need(2), 0)

    with pytest.raises(InternalError, match="waits for slots already"):
        counter.seek(job(1), need(2), 0)


class Desk(RuleBasedStateMachine):
    """Jobs seek, run, are rescaled, start again and end, while executors come and go."""

    jobs: Bundle[JobId] = Bundle("jobs")

    @initialize(slots=st.integers(0, 12), can_grow=st.booleans())
    def begin(self, slots: int, can_grow: bool) -> None:
        self.desk = desk(slots, can_grow=can_grow)
        self.now = 0.0
        self.count = 0
        self.held: dict[JobId, int] = {}
        self.wanted: dict[JobId, tuple[int, float]] = {}

    @rule(target=jobs)
    def comes(self) -> JobId:
        self.count += 1
        return job(self.count)

    @rule(who=jobs, slots=st.integers(1, 8))
    def seeks(self, who: JobId, slots: int) -> None:
        if who in self.wanted:
            return
        held = self.held.pop(who, 0)
        fits = slots <= max(0, self.desk.total - sum(self.held.values()))
        answer = self.desk.seek(who, need(slots, self.now), self.now)
        if fits:
            assert answer == Granted(who, slots)
        self.wanted[who] = (slots, self.now)
        if answer is not None:
            self.note(answer)
        assert held == 0 or who not in self.desk.held or answer is not None

    @rule(who=jobs, slots=st.integers(1, 8))
    def is_rescaled(self, who: JobId, slots: int) -> None:
        if who not in self.held:
            self.desk.resize(who, slots)
            return
        room = self.desk.room(who).free
        try:
            self.desk.resize(who, slots)
        except TooFewSlots:
            assert slots > room
            return
        assert slots <= max(room, self.held[who])
        self.held[who] = slots

    @rule(slots=st.integers(0, 12))
    def executors_come_and_go(self, slots: int) -> None:
        self.desk.observe(slots, slots // 2)

    @rule(passes=st.sampled_from([0, 1, 50, 200]))
    def time_passes(self, passes: int) -> None:
        self.now += passes
        for answer in self.desk.serve(self.now):
            self.note(answer)
        room = self.desk.total - sum(self.held.values())
        for slots, began in self.wanted.values():
            assert slots > room
            assert self.now < began + TIMEOUT_MS

    @rule(who=consumes(jobs))
    def ends(self, who: JobId) -> None:
        self.wanted.pop(who, None)
        assert self.desk.leave(who) == self.held.pop(who, 0)
        assert self.desk.leave(who) == 0

    def note(self, answer: Answer) -> None:
        slots, began = self.wanted.pop(answer.job)
        if isinstance(answer, Granted):
            assert answer.slots == slots
            assert slots + sum(self.held.values()) <= self.desk.total
            self.held[answer.job] = slots
        else:
            hopeless = not self.desk.room(answer.job).can_grow and slots > self.desk.total
            assert hopeless or self.now >= began + TIMEOUT_MS

    @invariant()
    def no_slot_is_lost_or_held_twice(self) -> None:
        assert self.desk.held == self.held
        assert set(self.desk.waiting()) == set(self.wanted)
        assert self.desk.free == max(0, self.desk.total - sum(self.held.values()))


TestDesk = Desk.TestCase
TestDesk.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_who_asks_for_everything_at_random_never_makes_the_desk_promise_too_much() -> None:
    random = Random(7)

    class Greedy:
        minimum = 1

        def consider(self, room: Room, now: float) -> Verdict:
            return Take(random.randint(1, room.free)) if room.free else Wait(None, "more")

    counter = desk(16)
    for number in range(200):
        counter.seek(job(number), Greedy(), 0)
        counter.leave(job(random.randint(0, number)))
        counter.serve(0)
        assert sum(counter.held.values()) <= 16
