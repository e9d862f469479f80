"""Never two who may act, always a next one: whatever is late, lost, paused or dead."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.cluster.ha.election import (
    Deposed,
    Elected,
    Election,
    Look,
    Loss,
    Put,
    Wait,
)
from riverrun.cluster.ha.lease import Found, Lease
from tests.unit.cluster.ha.election_world import FASTEST, SLOWEST, TIMING, Contender, Trip, World

OTHER = Lease(epoch=4, holder="other", duration_ms=1000)


def made() -> Election:
    return Election("me", "http://me", TIMING)


def leader(at: float = 0) -> Election:
    """Elected with epoch 1, by a write that began at ``at``."""
    election = made()
    election.on_read(at, Found(None, None))
    put = election.next(at)
    assert isinstance(put, Put)
    assert election.on_written(at + 10, put, "v1", began=at) == Elected(1)
    return election


def test_a_lease_that_nobody_has_is_taken_at_once() -> None:
    election = made()
    assert election.next(5) == Look()

    election.on_read(6, Found(None, None))

    put = election.next(6)
    assert isinstance(put, Put)
    assert (put.lease.epoch, put.lease.holder, put.replaced) == (1, "me", None)
    assert put.lease.address == "http://me"
    assert election.on_written(10, put, "v1", began=6) == Elected(1)
    assert election.deadline == 6 + TIMING.renew_ms
    assert election.next(10) == Wait(6 + TIMING.retry_ms)


def test_anothers_lease_is_taken_when_it_was_seen_unchanged_for_its_duration() -> None:
    election = made()
    election.on_read(100, Found(OTHER, "7"))
    assert election.next(100) == Wait(300)
    election.on_read(1000, Found(OTHER, "7"))
    assert election.next(1099) == Wait(1100)

    put = election.next(1100)

    assert isinstance(put, Put)
    assert (put.lease.epoch, put.replaced, put.acquires) == (5, "7", True)


def test_a_renewal_of_the_other_starts_the_wait_anew() -> None:
    election = made()
    election.on_read(100, Found(OTHER, "7"))
    election.on_read(1000, Found(OTHER, "8"))

    assert election.next(1200) == Look()
    election.on_read(1999, Found(OTHER, "8"))
    assert election.next(1999) == Wait(2000)


def test_a_released_lease_is_taken_at_once() -> None:
    election = made()
    released = Lease(epoch=4, holder="other", duration_ms=1000, released=True)

    election.on_read(100, Found(released, "7"))

    assert isinstance(election.next(100), Put)


def test_a_lease_that_disappears_is_respected_for_as_long_as_it_would_have_been() -> None:
    election = made()
    election.on_read(100, Found(OTHER, "7"))
    election.on_read(200, Found(None, None))

    assert isinstance(election.next(400), Look)
    assert isinstance(election.next(1199), Look)
    put = election.next(1200)

    assert isinstance(put, Put)
    assert put.lease.epoch == 5


def test_a_leader_acts_until_its_last_renewal_is_too_old() -> None:
    election = leader()
    put = election.next(200)
    assert isinstance(put, Put)
    assert (put.lease.epoch, put.lease.beat, put.acquires) == (1, 1, False)
    assert election.on_written(300, put, "v2", began=200) is None

    assert election.may_act(949)
    assert not election.may_act(950)
    assert election.on_time(949) is None
    assert election.on_time(950) == Deposed(1, Loss.EXPIRED)
    assert election.on_time(951) is None


def test_a_leader_that_finds_another_in_its_place_stops_at_once() -> None:
    election = leader()
    election.on_conflict(210)
    assert election.next(210) == Look()

    assert election.on_read(220, Found(OTHER, "v9")) == Deposed(1, Loss.TAKEN)

    assert not election.may_act(220)


def test_a_leader_whose_lease_was_deleted_stops_at_once() -> None:
    election = leader()
    election.on_failure(210)

    assert election.on_read(450, Found(None, None)) == Deposed(1, Loss.TAKEN)


def test_a_renewal_that_was_done_though_it_was_reported_as_failed_is_no_loss() -> None:
    election = leader()
    put = election.next(200)
    assert isinstance(put, Put)
    election.on_failure(300)
    assert election.next(500) == Look()

    assert election.on_read(510, Found(put.lease, "v2")) is None

    assert election.deadline == TIMING.renew_ms
    again = election.next(510)
    assert isinstance(again, Put)
    assert (again.replaced, again.lease.beat) == ("v2", 2)


def test_a_write_that_took_longer_than_the_leader_may_act_elects_nobody() -> None:
    election = made()
    election.on_read(0, Found(None, None))
    put = election.next(0)
    assert isinstance(put, Put)

    assert election.on_written(TIMING.renew_ms, put, "v1", began=0) is None

    again = election.next(TIMING.renew_ms)
    assert isinstance(again, Put)
    assert (again.lease.epoch, again.acquires) == (2, True)


def test_a_renewal_that_comes_back_after_the_loss_does_not_bring_the_leader_back() -> None:
    election = leader()
    put = election.next(200)
    assert isinstance(put, Put)
    assert election.on_time(TIMING.renew_ms) == Deposed(1, Loss.EXPIRED)

    assert election.on_written(TIMING.renew_ms + 1, put, "v2", began=200) is None

    assert not election.may_act(TIMING.renew_ms + 1)
    again = election.next(TIMING.renew_ms + 1)
    assert isinstance(again, Put)
    assert (again.lease.epoch, again.acquires) == (2, True)


def test_who_resigns_lets_others_go_first() -> None:
    election = leader()

    assert election.resign(300) == Deposed(1, Loss.RESIGNED)

    assert not election.may_act(300)
    assert election.next(300) == Wait(300 + TIMING.lease_ms)
    assert election.resign(300) is None


def test_a_renewal_that_comes_back_after_the_resignation_changes_nothing() -> None:
    election = leader()
    put = election.next(200)
    assert isinstance(put, Put)
    election.resign(210)

    assert election.on_written(220, put, "v2", began=200) is None

    assert election.next(500) == Wait(210 + TIMING.lease_ms)


@st.composite
def contenders(draw: st.DrawFn) -> list[Contender]:
    rates = st.floats(SLOWEST, FASTEST)
    return [
        Contender(f"c{n}", draw(rates), draw(st.floats(0, 10_000)))
        for n in range(draw(st.integers(1, 4)))
    ]


delays = st.one_of(st.floats(0, 50), st.floats(0, 2500))
trips = st.builds(
    Trip, delays, delays, st.sampled_from(["", "", "", "", "request", "answer", "late"])
)
disturbances = st.lists(
    st.tuples(
        st.floats(0, 12_000),
        st.integers(0, 3),
        st.one_of(st.just(None), st.floats(0, 4000)),  # a crash, or a pause
    ),
    max_size=8,
)


def disturb(world: World, what: list[tuple[float, int, float | None]]) -> None:
    for at, who, length in what:
        contender = world.contenders[who % len(world.contenders)]

        def event(c: Contender = contender, length: float | None = length) -> None:
            if length is not None:
                world.pause(c, length)
            elif sum(not other.crashed for other in world.contenders) > 1:
                c.crashed = True

        world.at(at, event)


@settings(max_examples=60)
@given(contenders(), st.lists(trips, max_size=60), disturbances)
def test_there_are_never_two_leaders_and_always_a_next_one(
    group: list[Contender],
    first: list[Trip],
    what: list[tuple[float, int, float | None]],
) -> None:
    smooth: Iterator[Trip] = itertools.repeat(Trip())
    world = World(group, itertools.chain(first, smooth))
    disturb(world, what)

    world.run(20_000)
    trouble = world.now + sum(trip.there + trip.back for trip in first)
    world.run(trouble + 3 * TIMING.lease_ms / SLOWEST)

    # All is calm now: there is one, and there stays one.
    [last] = world.leaders()
    world.run(world.now + 5000)
    assert world.leaders() == [last]
    epochs = world.elected()
    assert len(set(epochs)) == len(epochs)
    assert last.election.epoch == max(epochs)


@pytest.mark.parametrize("paused_for", [700, 1200, 30_000])
def test_a_leader_that_was_paused_for_longer_than_its_lease_never_acts_again_with_its_epoch(
    paused_for: float,
) -> None:
    group = [Contender("a", 1.0, 0), Contender("b", 1.0, 5000)]
    world = World(group, itertools.repeat(Trip()))
    world.run(1000)
    [old] = world.leaders()
    epoch = old.election.epoch

    world.pause(old, paused_for)
    world.run(1000 + paused_for)

    if paused_for > TIMING.renew_ms:
        assert old not in world.leaders() or old.election.epoch != epoch
    world.run(world.now + 3000)
    assert len(world.leaders()) == 1


def test_with_clocks_that_differ_more_than_the_margin_the_law_would_not_hold() -> None:
    """The simulation finds what it must find: otherwise its silence would mean nothing."""
    slow, fast = Contender("slow", 0.5, 0), Contender("fast", 1.6, 0)
    world = World([slow, fast], itertools.repeat(Trip()))
    world.run(50)
    assert world.leaders() == [slow]
    world.pause(slow, 3000)

    with pytest.raises(AssertionError, match="slow"):
        world.run(3000)
