"""What every store of a lease does, whatever it is made of."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from riverrun.cluster.ha.election import Elected, Election, Look, Put, Timing
from riverrun.cluster.ha.lease import Found, Lease, LeaseConflict, LeaseStore
from tests.contract.leases.conftest import LeasePlace

FIRST = Lease(
    epoch=1, holder="a", address="http://a:8081", duration_ms=1500, written=1_700_000_000_000
)


def comparable(lease: Lease | None) -> Lease | None:
    """Not every store keeps what only people read."""
    return lease and msgspec.structs.replace(lease, written=0)


def test_there_is_no_lease_before_somebody_writes_one(place: LeasePlace) -> None:
    assert place.connect().read() == Found(None, None)


def test_what_was_written_is_read_by_all(place: LeasePlace) -> None:
    one, other = place.connect(), place.connect()

    version = one.write(FIRST, None)

    for store in (one, other):
        found = store.read()
        assert comparable(found.lease) == comparable(FIRST)
        assert found.version == version


def test_a_version_can_be_replaced_once(place: LeasePlace) -> None:
    one, other = place.connect(), place.connect()
    first = one.write(FIRST, None)
    renewed = msgspec.structs.replace(FIRST, beat=1)
    taken = Lease(epoch=2, holder="b", duration_ms=1500)

    second = one.write(renewed, first)

    assert second != first
    with pytest.raises(LeaseConflict, match="another JobManager"):
        other.write(taken, first)
    with pytest.raises(LeaseConflict):
        other.write(taken, None)
    assert comparable(one.read().lease) == comparable(renewed)
    assert other.write(taken, second) == one.read().version
    with pytest.raises(LeaseConflict):
        one.write(renewed, second)
    found = one.read().lease
    assert found is not None
    assert (found.holder, found.epoch) == ("b", 2)


def test_a_version_from_long_ago_cannot_be_replaced(place: LeasePlace) -> None:
    store, away = place.connect(), place.connect()
    first = version = store.write(FIRST, None)
    for beat in range(1, 25):
        version = store.write(msgspec.structs.replace(FIRST, beat=beat), version)

    with pytest.raises(LeaseConflict):
        away.write(Lease(epoch=2, holder="b", duration_ms=1500), first)

    found = store.read()
    assert found.version == version
    assert found.lease is not None
    assert (found.lease.holder, found.lease.beat) == ("a", 24)
    assert store.write(msgspec.structs.replace(FIRST, beat=25), version)


def test_a_released_lease_is_seen_as_released(place: LeasePlace) -> None:
    store = place.connect()
    version = store.write(FIRST, None)

    store.write(msgspec.structs.replace(FIRST, released=True), version)

    found = store.read().lease
    assert found is not None
    assert (found.released, found.epoch) == (True, 1)


def test_of_many_who_replace_a_version_at_once_one_succeeds(place: LeasePlace) -> None:
    if not place.exact:
        pytest.skip("the simulated server checks and writes in two steps")
    stores = [place.connect() for _ in range(4)]
    version: str | None = None
    together = threading.Barrier(4)

    def attempt(n: int) -> str | None:
        lease = Lease(epoch=1, holder=str(n), duration_ms=1500)
        together.wait()
        try:
            return stores[n].write(lease, version)
        except LeaseConflict:
            return None

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            won = [(n, made) for n, made in enumerate(pool.map(attempt, range(4))) if made]
            [(winner, version)] = won
            found = stores[0].read()
            assert found.version == version
            assert found.lease is not None
            assert found.lease.holder == str(winner)


def turn(election: Election, store: LeaseStore, now: float) -> object:
    """Do the next step of an election with a store that answers at once."""
    match election.next(now):
        case Look():
            return election.on_read(now, store.read())
        case Put() as put:
            try:
                version = store.write(put.lease, put.replaced)
            except LeaseConflict:
                return election.on_conflict(now)
            return election.on_written(now, put, version, now)
        case _:
            return None


def test_a_leader_is_followed_by_the_standby_when_it_is_silent(place: LeasePlace) -> None:
    timing = Timing(lease_ms=1000, renew_ms=700, retry_ms=200)
    leader = Election("a", "http://a", timing)
    standby = Election("b", "http://b", timing)
    here, there = place.connect(), place.connect()

    assert [turn(leader, here, 0) for _ in range(2)] == [None, Elected(1)]
    for now in range(0, 1200, 200):
        assert turn(leader, here, now) is None
        assert turn(standby, there, now + 50) is None
    assert standby.seen is not None
    assert standby.seen.address == "http://a"
    changes = [turn(standby, there, now) for now in range(1200, 2400, 100)]

    assert [change for change in changes if change] == [Elected(2)]
    assert not leader.may_act(1700)
