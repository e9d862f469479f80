"""Which barriers of a checkpoint have come, and what follows: pure decisions, one object per task.

    ALIGNED         block each channel whose barrier was taken; snapshot when all are there
    UNALIGNED       snapshot at the first sign; log what still comes before the other barriers
    AT_LEAST_ONCE   count barriers; snapshot when all are there; nothing waits, nothing is logged

An aligned checkpoint turns unaligned when an unaligned barrier of it comes, or after its timeout. A
barrier is *noticed* when its frame arrives and *taken* when everything before it was processed: an
unaligned barrier acts when it is noticed, any other when it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from riverrun.protocol.barriers import (
    BarrierMode,
    BarrierOptions,
    decode_options,
    encode_options,
)
from riverrun.protocol.elements import Barrier


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """Freeze the state and send ``barrier`` on.

    When it is unaligned, everything received but not processed, and before its barrier on channels
    that are not in ``past``, must be logged.
    """

    barrier: Barrier
    unaligned: bool
    past: frozenset[int]
    """Channels whose barrier was taken in order: nothing that waits on them belongs to the checkpoint."""
    alignment_ms: float
    first_barrier_at: float


@dataclass(frozen=True, slots=True)
class Release:
    """Let blocked channels go on."""


@dataclass(frozen=True, slots=True)
class LogsComplete:
    """Every barrier of the unaligned checkpoint is here: its channel state is complete."""

    checkpoint: int


@dataclass(frozen=True, slots=True)
class Forget:
    """The checkpoint will not be taken here, or not to its end: drop what was kept for it."""

    checkpoint: int


Action: TypeAlias = TakeSnapshot | Release | LogsComplete | Forget


@dataclass(slots=True)
class _Progress:
    barrier: Barrier
    mode: BarrierMode
    began: float
    arrived: set[int] = field(default_factory=set)
    taken: bool = False


class BarrierHandler:
    """Barriers of one task's channels (numbered from 0); returns what to do, in order."""

    def __init__(self, channels: int) -> None:
        self._channels = frozenset(range(channels))
        self._ended: set[int] = set()
        """Channels whose end was taken."""
        self._ending: set[int] = set()
        """Channels whose end was noticed."""
        self._pending: dict[int, _Progress] = {}
        self._latest = 0
        """No checkpoint up to this number is started any more."""
        self._aborted: set[int] = set()
        self._noticed: dict[int, tuple[Barrier, float]] = {}
        self.blocked: set[int] = set()
        """Channels that wait for the barriers of others."""

    @property
    def logging(self) -> int | None:
        """The unaligned checkpoint whose channel state is still being gathered."""
        for checkpoint, progress in self._pending.items():
            if progress.mode is BarrierMode.UNALIGNED:
                return checkpoint
        return None

    def logs(self, channel: int) -> bool:
        """Whether what comes on ``channel`` now belongs to the channel state."""
        checkpoint = self.logging
        return checkpoint is not None and channel not in self._pending[checkpoint].arrived

    def deadline(self) -> float | None:
        """When ``time_out`` has something to do, in monotonic milliseconds."""
        times = [
            at + timeout
            for barrier, at in self._noticed.values()
            if (timeout := decode_options(barrier.options).aligned_timeout_ms) > 0
        ]
        return min(times, default=None)

    def acts_when_noticed(self, barrier: Barrier) -> bool:
        """Whether ``barrier`` is handled on arrival, ahead of what waits in front of it."""
        if self._is_over(barrier.checkpoint):
            return False
        if barrier.checkpoint == self.logging:
            return True
        return decode_options(barrier.options).mode is BarrierMode.UNALIGNED

    def noticed(self, barrier: Barrier, now: float) -> None:
        """An aligned barrier arrived and waits behind elements; its timeout begins."""
        if not self._is_over(barrier.checkpoint):
            self._noticed.setdefault(barrier.checkpoint, (barrier, now))

    def barrier(self, channel: int, barrier: Barrier, now: float) -> list[Action]:
        """The barrier of ``channel`` is handled now (noticed or taken, as ``acts_when_noticed`` says)."""
        checkpoint = barrier.checkpoint
        if self._is_over(checkpoint):
            return []
        actions: list[Action] = []
        progress = self._pending.get(checkpoint)
        mode = decode_options(barrier.options).mode
        if progress is None:
            actions += self._begin(barrier, mode, now)
            progress = self._pending[checkpoint]
        elif mode is BarrierMode.UNALIGNED and progress.mode is BarrierMode.ALIGNED:
            actions += self._turn_unaligned(progress, barrier, now)
        progress.arrived.add(channel)
        if progress.mode is BarrierMode.ALIGNED:
            self.blocked.add(channel)
        return actions + self._complete(progress, now)

    def trigger(self, barrier: Barrier, now: float) -> list[Action]:
        """The coordinator asks this task directly: it snapshots without waiting for a barrier."""
        checkpoint = barrier.checkpoint
        if self._is_over(checkpoint):
            return []
        progress = self._pending.get(checkpoint)
        mode = decode_options(barrier.options).mode
        if progress is None:
            actions = self._begin(barrier, mode, now)
            return actions + self._complete(self._pending[checkpoint], now)
        if mode is BarrierMode.UNALIGNED and progress.mode is BarrierMode.ALIGNED:
            return [
                *self._turn_unaligned(progress, barrier, now),
                *self._complete(progress, now),
            ]
        return []

    def ending(self, channel: int, now: float) -> list[Action]:
        """The end of ``channel`` arrived: an unaligned checkpoint waits for it no longer."""
        self._ending.add(channel)
        checkpoint = self.logging
        return [] if checkpoint is None else self._complete(self._pending[checkpoint], now)

    def ended(self, channel: int, now: float) -> list[Action]:
        """The end of ``channel`` was taken: nobody waits for its barriers any more."""
        self._ending.add(channel)
        self._ended.add(channel)
        actions: list[Action] = []
        for progress in list(self._pending.values()):
            actions += self._complete(progress, now)
        return actions

    def time_out(self, now: float) -> list[Action]:
        """Turn aligned checkpoints unaligned whose barriers take longer than their timeout."""
        actions: list[Action] = []
        for checkpoint, (barrier, at) in list(self._noticed.items()):
            timeout = decode_options(barrier.options).aligned_timeout_ms
            if timeout <= 0 or now < at + timeout:
                continue
            del self._noticed[checkpoint]
            progress = self._pending.get(checkpoint)
            if progress is None:
                actions += self._begin(_unaligned(barrier), BarrierMode.UNALIGNED, now)
                progress = self._pending[checkpoint]
            elif progress.mode is BarrierMode.ALIGNED:
                actions += self._turn_unaligned(progress, _unaligned(barrier), now)
            actions += self._complete(progress, now)
        return actions

    def abort(self, checkpoint: int) -> list[Action]:
        """The coordinator gave the checkpoint up; its barriers, if they still come, mean nothing."""
        if self._is_over(checkpoint):
            return []
        self._aborted.add(checkpoint)
        return self._drop(checkpoint)

    def arrived(self, channel: int, checkpoint: int, now: float) -> list[Action]:
        """A barrier that was waiting on ``channel`` was found while its checkpoint turned unaligned."""
        progress = self._pending.get(checkpoint)
        if progress is None:
            return []
        progress.arrived.add(channel)
        return self._complete(progress, now)

    def _is_over(self, checkpoint: int) -> bool:
        return checkpoint in self._aborted or (
            checkpoint <= self._latest and checkpoint not in self._pending
        )

    def _begin(self, barrier: Barrier, mode: BarrierMode, now: float) -> list[Action]:
        actions: list[Action] = []
        if mode is not BarrierMode.AT_LEAST_ONCE:
            # A channel keeps its order, so barriers of an older one can only miss because it was given up.
            known = {*self._pending, *self._noticed}
            for older in sorted(number for number in known if number < barrier.checkpoint):
                if not self._goes_on_beside(older, barrier):
                    actions += self._drop(older)
        self._latest = max(self._latest, barrier.checkpoint)
        self._aborted = {number for number in self._aborted if number > self._latest}
        _, noticed_at = self._noticed.get(barrier.checkpoint, (barrier, now))
        progress = _Progress(barrier, mode, noticed_at)
        self._pending[barrier.checkpoint] = progress
        if mode is BarrierMode.UNALIGNED:
            progress.taken = True
            actions.append(TakeSnapshot(barrier, True, frozenset(), 0.0, progress.began))  # noqa: FBT003
        return actions

    def _goes_on_beside(self, older: int, barrier: Barrier) -> bool:
        """Whether the older checkpoint is not held up by barriers, so that a savepoint's may come first.

        Savepoints are aligned while checkpoints of the same job need not be.
        """
        progress = self._pending.get(older)
        return (
            progress is not None
            and progress.mode is not BarrierMode.ALIGNED
            and decode_options(barrier.options).savepoint is not None
        )

    def _turn_unaligned(self, progress: _Progress, barrier: Barrier, now: float) -> list[Action]:
        past = frozenset(self.blocked)
        self.blocked.clear()
        progress.mode = BarrierMode.UNALIGNED
        progress.taken = True
        progress.barrier = barrier
        waited = now - progress.began
        return [TakeSnapshot(barrier, True, past, waited, progress.began), Release()]  # noqa: FBT003

    def _complete(self, progress: _Progress, now: float) -> list[Action]:
        checkpoint = progress.barrier.checkpoint
        if checkpoint not in self._pending:
            return []
        gone = self._ending if progress.mode is BarrierMode.UNALIGNED else self._ended
        if not self._channels <= progress.arrived | gone:
            return []
        del self._pending[checkpoint]
        self._noticed.pop(checkpoint, None)
        if progress.mode is BarrierMode.UNALIGNED:
            return [LogsComplete(checkpoint)]
        waited = now - progress.began
        taken = TakeSnapshot(
            progress.barrier,
            False,  # noqa: FBT003
            frozenset(),
            waited if progress.mode is BarrierMode.ALIGNED else 0.0,
            progress.began,
        )
        # Channels wait for the one aligned checkpoint only.
        if progress.mode is not BarrierMode.ALIGNED or not self.blocked:
            return [taken]
        self.blocked.clear()
        return [taken, Release()]

    def _drop(self, checkpoint: int) -> list[Action]:
        self._noticed.pop(checkpoint, None)
        progress = self._pending.pop(checkpoint, None)
        if progress is None:
            return []
        actions: list[Action] = [Forget(checkpoint)]
        if progress.mode is BarrierMode.ALIGNED and self.blocked:
            self.blocked.clear()
            actions.append(Release())
        return actions


def _unaligned(barrier: Barrier) -> Barrier:
    options = decode_options(barrier.options)
    turned = BarrierOptions(BarrierMode.UNALIGNED, 0, options.savepoint)
    return Barrier(barrier.checkpoint, barrier.timestamp, encode_options(turned))
