"""Contenders with clocks of their own, a store that answers late or never, pauses and crashes; all simulated."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import msgspec

from riverrun.cluster.ha.election import Change, Elected, Election, Look, Put, Timing, Wait
from riverrun.cluster.ha.lease import Found, Lease

TIMING = Timing(lease_ms=1000, renew_ms=750, retry_ms=200)
# Rates of clocks may differ by 1000/750 = 4/3 between the fastest and the slowest.
SLOWEST, FASTEST = 0.88, 1.15


@dataclass
class Register:
    """The store: one lease with a version."""

    lease: Lease | None = None
    number: int = 0

    def found(self) -> Found:
        return Found(self.lease, str(self.number) if self.lease else None)

    def write(self, lease: Lease, replaced: str | None) -> str | None:
        if self.found().version != replaced:
            return None
        self.lease = lease
        self.number += 1
        return str(self.number)


@dataclass
class Trip:
    """How a request fares: how long until it is done, and until the answer is there; either may be lost."""

    there: float = 1
    back: float = 1
    lost: str = ""
    """``request`` or ``answer``; whoever asked gives up then, after ``back``. With ``late`` it gives up
    after ``back``, and what it asked for is done all the same, after ``there``."""


@dataclass(eq=False)
class Contender:
    """A process that runs an election."""

    name: str
    rate: float
    offset: float
    election: Election = field(init=False)
    paused_until: float = 0
    crashed: bool = False
    busy: bool = False
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.election = Election(self.name, f"http://{self.name}", TIMING)

    def clock(self, at: float) -> float:
        """What the contender's own clock shows at the true time ``at``."""
        return self.offset + at * self.rate

    def true(self, local: float) -> float:
        return (local - self.offset) / self.rate


class World:
    """Runs contenders until a true time. ``trip`` says how each request fares."""

    def __init__(self, contenders: list[Contender], trips: Iterator[Trip]) -> None:
        self.register = Register()
        self.contenders = contenders
        self.now = 0.0
        self._trips = trips
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        for contender in contenders:
            self.at(0, partial(self._turn, contender))

    def at(self, when: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(when, self.now), next(self._order), event))

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
            self.check()
        self.now = until
        self.check()

    def leaders(self) -> list[Contender]:
        """Who may act now: also those that are paused, because they may wake up now."""
        return [
            c for c in self.contenders if not c.crashed and c.election.may_act(c.clock(self.now))
        ]

    def check(self) -> None:
        assert len(self.leaders()) <= 1, [c.name for c in self.leaders()]

    def elected(self) -> list[int]:
        """Epochs of all who were ever elected."""
        return [
            change.epoch
            for c in self.contenders
            for change in c.changes
            if isinstance(change, Elected)
        ]

    def pause(self, contender: Contender, length: float) -> None:
        contender.paused_until = max(contender.paused_until, self.now + length)

    def _when_awake(self, c: Contender, event: Callable[[float], Change | None]) -> None:
        """Report something to the contender, now or when it wakes up; never after a crash."""
        if c.crashed:
            return
        if self.now < c.paused_until:
            self.at(c.paused_until, lambda: self._when_awake(c, event))
            return
        change = event(c.clock(self.now))
        if change is not None:
            c.changes.append(change)
        c.busy = False
        self._turn(c)

    def _turn(self, c: Contender) -> None:
        if c.crashed or c.busy:
            return
        if self.now < c.paused_until:
            self.at(c.paused_until, lambda: self._turn(c))
            return
        local = c.clock(self.now)
        change = c.election.on_time(local)
        if change is not None:
            c.changes.append(change)
        match c.election.next(local):
            case Wait(until):
                # A little later, because clocks with rates are rounded.
                self.at(c.true(until) + 0.001, lambda: self._turn(c))
            case Look():
                c.busy = True
                self._look(c)
            case Put() as put:
                c.busy = True
                self._put(c, put)

    def _look(self, c: Contender) -> None:
        trip = next(self._trips)

        def done() -> None:
            found = self.register.found()
            if trip.lost:
                self.at(self.now + trip.back, lambda: self._when_awake(c, c.election.on_failure))
            else:
                self.at(
                    self.now + trip.back,
                    lambda: self._when_awake(c, lambda now: c.election.on_read(now, found)),
                )

        self.at(self.now + trip.there, done)

    def _put(self, c: Contender, put: Put) -> None:
        trip = next(self._trips)
        began = c.clock(self.now)
        put = Put(msgspec.structs.replace(put.lease), put.replaced, put.acquires)

        def done() -> None:
            version = (
                None if trip.lost == "request" else self.register.write(put.lease, put.replaced)
            )
            if trip.lost != "late":
                tell(version)

        def tell(version: str | None) -> None:
            self.at(
                self.now + trip.back, lambda: self._when_awake(c, lambda now: told(now, version))
            )

        def told(now: float, version: str | None) -> Change | None:
            if trip.lost:
                return c.election.on_failure(now)
            if version is None:
                return c.election.on_conflict(now)
            return c.election.on_written(now, put, version, began)

        if trip.lost == "late":
            tell(None)
        self.at(self.now + trip.there, done)
