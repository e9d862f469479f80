"""The shell around an election: what the listener is told, also when the store hangs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from riverrun.cluster.ha.election import Timing
from riverrun.cluster.ha.file_lease import FileLease
from riverrun.cluster.ha.lease import Found, Lease, LeaseUnreachable
from riverrun.cluster.ha.service import Leader, LeaderElection
from riverrun.core.clock import ManualClock
from riverrun.storage.memory import MemoryStorage

TIMING = Timing(lease_ms=1000, renew_ms=700, retry_ms=200)


@dataclass
class Told:
    """Remembers what it was told; ``fails`` says at which epochs it breaks."""

    news: list[str] = field(default_factory=list)
    fails: set[int] = field(default_factory=set)
    happened: threading.Event = field(default_factory=threading.Event)

    def on_elected(self, epoch: int) -> None:
        self.news.append(f"elected {epoch}")
        self.happened.set()
        if epoch in self.fails:
            raise ValueError("cannot")

    def on_deposed(self, epoch: int) -> None:
        self.news.append(f"deposed {epoch}")


class Store(FileLease):
    """A lease in memory that can be unreachable."""

    def __init__(self, storage: MemoryStorage) -> None:
        super().__init__(storage, "memory://x/lease", duration_ms=1000)
        self.fails = False
        self.closed = False

    def read(self) -> Found:
        if self.fails:
            raise LeaseUnreachable("not there")
        return super().read()

    def write(self, lease: Lease, replaced: str | None) -> str:
        if self.fails:
            raise LeaseUnreachable("not there")
        return super().write(lease, replaced)

    def close(self) -> None:
        self.closed = True


class Process:
    """A contender with a store that answers when it is let."""

    def __init__(
        self,
        clock: ManualClock,
        storage: MemoryStorage,
        name: str,
        highest_epoch: Callable[[], int] = lambda: 0,
    ) -> None:
        self.waiting: deque[Callable[[], None]] = deque()
        self.told = Told()
        self.store = Store(storage)
        self.election = LeaderElection(
            self.store,
            self.told,
            TIMING,
            address=f"http://{name}",
            highest_epoch=highest_epoch,
            clock=clock.monotonic,
            run=self.waiting.append,
        )

    def answer(self) -> None:
        """Let the store do all it was asked for."""
        while self.waiting:
            self.waiting.popleft()()

    def settle(self) -> float | None:
        """Take turns until there is nothing to do now."""
        wait = self.election.turn()
        while self.waiting:
            self.answer()
            wait = self.election.turn()
        return wait

    @property
    def news(self) -> list[str]:
        return self.told.news


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(50_000)


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


def run(clock: ManualClock, millis: int, *processes: Process) -> None:
    for _ in range(millis // 50):
        clock.advance(50)
        for process in processes:
            process.settle()


def test_one_leads_and_both_know_where_it_is(clock: ManualClock, storage: MemoryStorage) -> None:
    one, other = Process(clock, storage, "one"), Process(clock, storage, "other")
    assert one.election.leader_address() is None

    one.settle()
    other.settle()
    run(clock, 10_000, one, other)

    assert (one.news, other.news) == (["elected 1"], [])
    assert one.election.may_act(1)
    assert not one.election.may_act(2)
    assert one.election.leader() == other.election.leader() == Leader(1, "http://one")
    assert other.election.leader_address() == "http://one"


def test_the_standby_takes_over_from_a_leader_that_is_silent(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one, other = Process(clock, storage, "one"), Process(clock, storage, "other")
    one.settle()
    run(clock, 1000, one, other)

    run(clock, 2000, other)

    assert other.news == ["elected 2"]
    assert one.news == ["elected 1"]
    assert not one.election.may_act(1)
    one.settle()
    run(clock, 1000, one, other)
    assert one.news == ["elected 1", "deposed 1"]
    assert one.election.leader_address() == "http://other"


def test_a_leader_is_deposed_in_time_though_the_store_hangs(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one = Process(clock, storage, "one")
    one.settle()
    clock.advance(200)
    wait = one.election.turn()

    assert wait == 500  # The renewal hangs: until the lease of 700 ms has run out.
    clock.advance(499)
    assert one.election.turn() == 1
    assert one.news == ["elected 1"]
    clock.advance(1)
    assert one.election.turn() is None
    assert one.news == ["elected 1", "deposed 1"]
    run(clock, 300, one)  # The store answers again.
    assert one.news == ["elected 1", "deposed 1", "elected 2"]


def test_a_renewal_that_was_done_counts_though_it_is_heard_of_late(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one = Process(clock, storage, "one")
    one.settle()
    clock.advance(600)
    one.election.turn()
    one.answer()
    clock.advance(300)

    one.settle()

    assert one.news == ["elected 1"]
    assert one.election.may_act(1)


def test_a_store_that_fails_is_tried_again(clock: ManualClock, storage: MemoryStorage) -> None:
    one = Process(clock, storage, "one")
    one.store.fails = True
    one.settle()
    run(clock, 1000, one)
    assert one.news == []

    one.store.fails = False
    run(clock, 300, one)
    assert one.news == ["elected 1"]
    one.store.fails = True
    run(clock, 300, one)
    one.store.fails = False
    run(clock, 2000, one)

    assert one.news == ["elected 1"]


def test_who_closes_stops_first_and_then_releases_the_lease(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one, other = Process(clock, storage, "one"), Process(clock, storage, "other")
    one.settle()
    other.settle()

    one.election.close()
    assert one.news == ["elected 1", "deposed 1"]
    assert not one.election.may_act(1)
    one.answer()
    run(clock, 200, other)

    assert one.store.closed
    assert other.news == ["elected 2"]
    one.election.close()
    assert one.news == ["elected 1", "deposed 1"]


def test_who_closes_in_the_middle_of_a_renewal_releases_the_lease_too(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one, other = Process(clock, storage, "one"), Process(clock, storage, "other")
    one.settle()
    clock.advance(200)
    one.election.turn()

    one.election.close()
    one.answer()
    other.settle()

    assert other.news == ["elected 2"]


def test_a_standby_that_closes_does_not_touch_the_lease(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one, other = Process(clock, storage, "one"), Process(clock, storage, "other")
    one.settle()
    other.settle()
    before = one.store.read()

    other.election.close()
    other.answer()

    assert one.store.read() == before


def test_a_leader_that_cannot_lead_lets_another_one(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one, other = Process(clock, storage, "one"), Process(clock, storage, "other")
    one.told.fails = {1}
    one.settle()
    assert one.news == ["elected 1", "deposed 1"]

    run(clock, 300, one, other)
    assert other.news == ["elected 2"]

    other.election.step_down(1)  # of an epoch that is over
    other.settle()
    assert other.news == ["elected 2"]
    other.election.step_down(2)
    other.settle()
    run(clock, 1500, one, other)
    assert other.news == ["elected 2", "deposed 2"]
    assert one.news == ["elected 1", "deposed 1", "elected 3"]


def test_the_epoch_is_higher_than_all_that_anybody_has_seen(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one = Process(clock, storage, "one", highest_epoch=lambda: 41)

    one.settle()

    assert one.news == ["elected 42"]
    assert one.election.leader() == Leader(42, "http://one")


def test_an_address_that_is_known_later_is_published_with_the_next_renewal(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    one = Process(clock, storage, "one")
    one.election.publish("")
    one.settle()
    assert one.election.leader() is None

    one.election.publish("http://one:4711")
    run(clock, 200, one)

    assert one.election.leader() == Leader(1, "http://one:4711")


def test_an_unexpected_error_of_a_store_is_a_failure_like_any_other(
    clock: ManualClock, storage: MemoryStorage
) -> None:
    broken = [True]

    def highest() -> int:
        if broken:
            raise ZeroDivisionError
        return 0

    one = Process(clock, storage, "one", highest_epoch=highest)
    one.settle()
    run(clock, 500, one)
    assert one.news == []

    broken.clear()
    run(clock, 300, one)

    assert one.news == ["elected 1"]


def test_with_threads_and_a_real_clock_it_leads_and_closes() -> None:
    threads = set(threading.enumerate())
    told = Told()
    store = Store(MemoryStorage())
    election = LeaderElection(store, told, Timing(60_000, 50_000, 10_000), address="http://me")

    election.start()
    assert told.happened.wait(30)
    assert election.may_act(1)
    assert election.leader_address() == "http://me"
    election.close()

    assert told.news == ["elected 1", "deposed 1"]
    found = store.read().lease
    assert found is not None
    assert found.released
    assert store.closed
    assert set(threading.enumerate()) == threads


def test_a_store_that_hangs_for_ever_keeps_nobody_from_being_deposed() -> None:
    hanging, go_on = threading.Event(), threading.Event()
    deposed = threading.Event()

    class Hangs(Store):
        def write(self, lease: Lease, replaced: str | None) -> str:
            if replaced is not None:
                hanging.set()
                go_on.wait(60)
            return super().write(lease, replaced)

    class Listener(Told):
        def on_deposed(self, epoch: int) -> None:
            super().on_deposed(epoch)
            deposed.set()

    listener = Listener()
    store = Hangs(MemoryStorage())
    election = LeaderElection(store, listener, Timing(900, 600, 50), address="http://me")
    election.start()

    assert hanging.wait(30)
    assert deposed.wait(30)

    assert listener.news == ["elected 1", "deposed 1"]
    go_on.set()
    election.close()
