"""A contender at work: an election, a store of the lease, a clock, and those who want to know who leads."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec

from riverrun.cluster.ha.election import Change, Elected, Election, Look, Loss, Put, Timing, Wait
from riverrun.cluster.ha.lease import Lease, LeaseConflict, LeaseStore
from riverrun.cluster.io_thread import IoThread
from riverrun.core.errors import ExternalError

log = logging.getLogger(__name__)

Fact: TypeAlias = Callable[[float], Change | None]
"""What is told to the election, with the time at which it is."""

_CLOSE_S: Final = 5.0


class Leader(NamedTuple):
    """Who leads, as far as it was seen."""

    epoch: int
    address: str


class LeaderListener(Protocol):
    """Is told whether this process leads. Called from one thread, and must return at once.

    While it does not return, nobody renews the lease and nobody notices that it has run out.
    """

    def on_elected(self, epoch: int) -> None:
        """This process leads. Whatever it writes must carry ``epoch``."""

    def on_deposed(self, epoch: int) -> None:
        """This process leads no more: stop everything at once. Comes once for each ``on_elected``."""


class LeaderElection:
    """Takes part in an election until it is closed.

    One thread decides, another one waits for the store. So a leader is told that its lease has run out
    also when the store hangs.
    """

    def __init__(  # noqa: PLR0913  (the last two are for tests)
        self,
        leases: LeaseStore,
        listener: LeaderListener,
        timing: Timing,
        *,
        address: str = "",
        highest_epoch: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] | None = None,
        run: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """Nothing happens before ``start``.

        Args:
            leases: closed at the end.
            listener: who is told.
            timing: how long things take.
            address: of this process's REST interface, if it is known before it leads; see ``publish``.
            highest_epoch: asked before the lease is acquired; the new epoch is higher. For what has
                seen epochs that the lease has forgotten, because somebody deleted it.
            clock: milliseconds that never go back, and go on while the machine sleeps.
            run: calls what it is given, some time later, in the order in which it is given.
        """
        self._leases = leases
        self._listener = listener
        self._timing = timing
        self._highest_epoch = highest_epoch
        self._clock = clock or since_boot_ms
        self._io = IoThread("leader-election-store")
        self._run = run or self._io.run
        self._holder = _new_holder()
        self._election = Election(self._holder, address, timing)
        self._facts: deque[Fact] = deque()
        self._busy = False
        self._wishes: set[int] = set()
        """Epochs that are to be resigned from."""
        self._changed = threading.Condition()
        self._closing = False
        self._reachable = True
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to take part."""
        self._thread = threading.Thread(target=self._work, name="leader-election", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Lead no more, tell the others, and let go of the store. A store that hangs is not waited for long."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_S)
        self._resign()
        self._run(self._leases.close)
        self._io.close(_CLOSE_S)

    def may_act(self, epoch: int) -> bool:
        """Whether this process leads with ``epoch`` now: by the clock, whatever the listener has been told."""
        with self._changed:
            return self._election.epoch == epoch and self._election.may_act(self._clock())

    def leader(self) -> Leader | None:
        """Who led when the lease was last looked at; ``None`` when nobody did."""
        with self._changed:
            return leader_of(self._election.seen)

    def leader_address(self) -> str | None:
        """Where the leader's REST interface was when the lease was last looked at."""
        leader = self.leader()
        return leader.address if leader is not None else None

    def publish(self, address: str) -> None:
        """Where this process's REST interface is; in the lease from the next renewal on."""
        with self._changed:
            self._election.address = address

    def step_down(self, epoch: int) -> None:
        """Give up the leadership of ``epoch``, because it cannot be exercised; returns at once.

        Another contender goes first. If there is none, this one is elected again, with a new epoch.
        """
        with self._changed:
            self._wishes.add(epoch)
            self._changed.notify_all()

    def turn(self) -> float | None:
        """Do what is to be done now, without waiting; in how many milliseconds there may be more.

        ``None``: when the store has answered. Called from one thread.
        """
        with self._changed:
            facts, self._facts = self._facts, deque()
            self._busy = self._busy and not facts
        # The store first: a renewal that was done in time counts, though this thread was late to hear of it.
        for fact in (*facts, self._election.on_time):
            self._learn(fact)
        with self._changed:
            wishes, self._wishes = self._wishes, set()
        if self._election.epoch in wishes:
            self._resign()
        with self._changed:
            now = self._clock()
            waits = [] if self._election.deadline is None else [self._election.deadline - now]
            if not self._busy:
                step = self._election.next(now)
                if isinstance(step, Wait):
                    waits.append(step.until - now)
                else:
                    self._busy = True
                    self._run(partial(self._do, step))
        return max(0.0, min(waits)) if waits else None

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._closing:
                    break
            wait = self.turn()
            with self._changed:
                if not self._facts and not self._wishes and not self._closing:
                    self._changed.wait(None if wait is None else wait / 1000)
        self._learn(self._election.resign)

    def _do(self, step: Look | Put) -> None:
        """Called from the thread that waits for the store."""
        began = self._clock()
        try:
            fact = self._looked() if isinstance(step, Look) else self._written(step)
        except LeaseConflict as error:
            log.info("lease was replaced by another reason=%s", error)
            fact = self._election.on_conflict
        except ExternalError as error:
            if self._reachable:
                log.warning("store of the lease failed reason=%s", error)
            self._reachable = False
            self._report(self._election.on_failure)
            return
        except Exception:
            # Not expected of a store; but a contender that gives up silently would be worse.
            log.exception("store of the lease broke")
            self._report(self._election.on_failure)
            return
        took = self._clock() - began
        if took > self._timing.renew_ms / 2:
            log.warning("store of the lease is slow took_ms=%d", took)
        if not self._reachable:
            log.info("store of the lease answers again")
        self._reachable = True
        self._report(fact)

    def _looked(self) -> Fact:
        found = self._leases.read()
        return lambda now: self._election.on_read(now, found)

    def _written(self, put: Put) -> Fact:
        began = self._clock()
        lease = msgspec.structs.replace(put.lease, written=time.time_ns() // 1_000_000)
        if put.acquires:
            epoch = max(lease.epoch, self._highest_epoch() + 1)
            lease = msgspec.structs.replace(lease, epoch=epoch)
        version = self._leases.write(lease, put.replaced)
        done = Put(lease, put.replaced, put.acquires)
        return lambda now: self._election.on_written(now, done, version, began)

    def _report(self, fact: Fact) -> None:
        with self._changed:
            self._facts.append(fact)
            self._changed.notify_all()

    def _learn(self, fact: Fact) -> None:
        with self._changed:
            change = fact(self._clock())
        if change is not None:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        try:
            if isinstance(change, Elected):
                log.info("elected epoch=%d", change.epoch)
                self._listener.on_elected(change.epoch)
            else:
                level = logging.INFO if change.loss is Loss.RESIGNED else logging.WARNING
                log.log(level, "deposed epoch=%d reason=%s", change.epoch, change.loss.name)
                self._listener.on_deposed(change.epoch)
        except Exception:
            # Whatever it was, a leader that does not do its work must not keep others from it.
            log.exception("listener broke change=%s", change)
            if isinstance(change, Elected):
                self.step_down(change.epoch)

    def _resign(self) -> None:
        """Stop first, then say so: whoever reads it may begin at once."""
        self._learn(self._election.resign)
        self._run(self._release)

    def _release(self) -> None:
        """Called from the thread that waits for the store, after all that was asked of it before."""
        try:
            lease, version = self._leases.read()
            if lease is not None and lease.holder == self._holder and not lease.released:
                self._leases.write(msgspec.structs.replace(lease, released=True), version)
        except ExternalError as error:
            log.info("lease not released, it runs out by itself reason=%s", error)


def leader_of(lease: Lease | None) -> Leader | None:
    """Who leads, by the lease."""
    if lease is None or lease.released or not lease.address:
        return None
    return Leader(lease.epoch, lease.address)


def since_boot_ms() -> float:
    """Milliseconds of a clock that never goes back, and goes on while the machine sleeps where it can."""
    # CLOCK_MONOTONIC of Linux stands still meanwhile: a leader would wake up and think that it leads.
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return (time.monotonic() if clock is None else time.clock_gettime(clock)) * 1000.0


def _new_holder() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
