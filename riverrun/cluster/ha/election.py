"""Who leads: decided from what was seen of the lease and from time that passed. No I/O, no clock.

Times are milliseconds of a clock of the contender's own that never goes back; clocks of different
contenders need not agree, only run at nearly the same rate. A leader may act until ``renew_ms`` after it
*began* the last renewal that succeeded. Others take the lease when they have seen it unchanged for
``lease_ms``. They saw it after it was written, and it was written after the renewal began, so the leader
has stopped before anybody else begins, as long as no clock runs faster than another by more than
``lease_ms / renew_ms``.

    leader    |begins renewal ......... may act ......... renew_ms|
    store          |written
    standby              |seen ............. unchanged ............. lease_ms|takes it
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from riverrun.cluster.ha.lease import Found, Lease


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things take, in milliseconds; ``retry_ms < renew_ms < lease_ms``."""

    lease_ms: int
    renew_ms: int
    retry_ms: int


class Loss(Enum):
    """Why a leader leads no more."""

    EXPIRED = auto()
    """It could not renew its lease in time."""
    TAKEN = auto()
    """The lease is another's, or gone."""
    RESIGNED = auto()
    """It wanted to."""


@dataclass(frozen=True, slots=True)
class Elected:
    """This contender leads, with an epoch that no leader before had."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Deposed:
    """This contender leads no more."""

    epoch: int
    loss: Loss


Change: TypeAlias = Elected | Deposed


@dataclass(frozen=True, slots=True)
class Look:
    """Read the lease."""


@dataclass(frozen=True, slots=True)
class Put:
    """Write ``lease`` in the place of version ``replaced``; a higher epoch may be put in to acquire it."""

    lease: Lease
    replaced: str | None
    acquires: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing before ``until``."""

    until: float


Step: TypeAlias = Look | Put | Wait


class Election:
    """One contender. Whoever drives it does one step at a time and reports what came of it.

    Every report returns how the contender's role changed by it, if it did.
    """

    def __init__(self, holder: str, address: str, timing: Timing) -> None:
        self._holder = holder
        self.address = address
        """Where clients find this contender; in the lease from the next renewal on."""
        self._timing = timing
        self._seen = Found(None, None)
        self._since = 0.0
        """When ``_seen`` was first seen."""
        self._current = False
        """Whether ``_seen`` is what is there, as far as anybody can know."""
        self._patience = 0
        """How long a lease that is gone now would have been respected."""
        self._highest = 0
        self._epoch: int | None = None
        self._deadline = 0.0
        self._not_before = 0.0
        self._stands_back_until = 0.0

    @property
    def epoch(self) -> int | None:
        """The epoch of this contender if it leads."""
        return self._epoch

    @property
    def deadline(self) -> float | None:
        """When a leader stops to be one unless it renews its lease; ``None`` for others."""
        return None if self._epoch is None else self._deadline

    @property
    def seen(self) -> Lease | None:
        """The lease as it was last seen."""
        return self._seen.lease

    def may_act(self, now: float) -> bool:
        """Whether this contender leads at ``now``, whatever it has been told so far."""
        return self._epoch is not None and now < self._deadline

    def next(self, now: float) -> Step:
        """What to do now."""
        not_before = max(self._not_before, 0 if self._epoch else self._stands_back_until)
        if now < not_before:
            return Wait(not_before)
        if not self._current:
            return Look()
        if self._epoch is not None:
            return Put(self._written(self._epoch), self._seen.version, acquires=False)
        if now >= self._free_at():
            return Put(self._written(self._highest + 1), self._seen.version, acquires=True)
        return Look()

    def on_time(self, now: float) -> Change | None:
        """Time passed."""
        if self._epoch is not None and now >= self._deadline:
            return self._lose(self._epoch, Loss.EXPIRED)
        return None

    def on_read(self, now: float, found: Found) -> Change | None:
        """A look gave ``found``; ``now`` is after it."""
        change = self.on_time(now)
        self._see(now, found)
        if self._epoch is None:
            self._not_before = self._next_look(now)
            return change
        lease = found.lease
        if lease is not None and lease.holder == self._holder and lease.epoch == self._epoch:
            # Its writing was reported as failed, and yet it was done; it counts from the next one.
            self._not_before = now
            return change
        self._not_before = self._next_look(now)
        return self._lose(self._epoch, Loss.TAKEN)

    def on_written(self, now: float, put: Put, version: str, began: float) -> Change | None:
        """What ``put`` says is in the store; its writing began at ``began`` and ended before ``now``."""
        self._see(now, Found(put.lease, version))
        self._not_before = began + self._timing.retry_ms
        deadline = began + self._timing.renew_ms
        if now >= deadline:
            return self.on_time(now)
        if self._epoch == put.lease.epoch:
            self._deadline = deadline
            return None
        if not put.acquires:
            return None  # Deposed while it was written: the lease must be acquired anew.
        self._epoch, self._deadline = put.lease.epoch, deadline
        return Elected(put.lease.epoch)

    def on_conflict(self, now: float) -> Change | None:
        """A ``Put`` was refused: the lease is not what it was."""
        self._current = False
        self._not_before = now
        return self.on_time(now)

    def on_failure(self, now: float) -> Change | None:
        """The store failed at a step; whether it was done is not known."""
        self._current = False
        self._not_before = now + self._timing.retry_ms
        return self.on_time(now)

    def resign(self, now: float) -> Change | None:
        """Lead no more, and let others go first for as long as a lease lasts.

        Whoever drives this releases the lease then, once nothing acts any more.
        """
        self._stands_back_until = now + self._timing.lease_ms
        self._current = False
        return None if self._epoch is None else self._lose(self._epoch, Loss.RESIGNED)

    def _lose(self, epoch: int, loss: Loss) -> Deposed:
        self._epoch = None
        return Deposed(epoch, loss)

    def _see(self, now: float, found: Found) -> None:
        self._current = True
        if found.version == self._seen.version:
            return
        if self._seen.lease is not None:
            self._patience = self._seen.lease.duration_ms
        self._seen, self._since = found, now
        if found.lease is not None:
            self._highest = max(self._highest, found.lease.epoch)

    def _free_at(self) -> float:
        """When the lease that was last seen may be taken."""
        lease = self._seen.lease
        if lease is None:
            # Somebody may have deleted it under a leader that does not know it yet.
            return self._since + self._patience
        if lease.released or lease.holder == self._holder:
            return self._since
        return self._since + lease.duration_ms

    def _next_look(self, now: float) -> float:
        return max(now, min(now + self._timing.retry_ms, self._free_at()))

    def _written(self, epoch: int) -> Lease:
        mine = self._seen.lease
        beat = mine.beat + 1 if mine is not None and mine.epoch == epoch else 0
        return Lease(
            epoch=epoch,
            holder=self._holder,
            address=self.address,
            beat=beat,
            duration_ms=self._timing.lease_ms,
        )
