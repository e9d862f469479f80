"""A task's checkpoints: barriers and orders of the coordinator in, snapshots and barriers out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from riverrun.core.clock import Clock
from riverrun.graph.deployment import TaskDeployment
from riverrun.protocol.barriers import decode_options
from riverrun.protocol.elements import Barrier, EndOfChannel
from riverrun.protocol.snapshots import SnapshotTimes
from riverrun.runtime.barriers import (
    Action,
    BarrierHandler,
    Forget,
    LogsComplete,
    Release,
    TakeSnapshot,
)
from riverrun.runtime.chain import Chain
from riverrun.runtime.inputs import InputChannel, Inputs, Waiting
from riverrun.runtime.output import EdgeOutput
from riverrun.runtime.snapshot import TaskSnapshot


class TaskCheckpoints:
    """Carries out what the barrier handler decides; used from the task thread only."""

    def __init__(
        self,
        deployment: TaskDeployment,
        chain: Chain,
        inputs: Inputs,
        outputs: Sequence[EdgeOutput],
        clock: Clock,
    ) -> None:
        self._deployment = deployment
        self._chain = chain
        self._inputs = inputs
        self._outputs = outputs
        self._clock = clock
        self._handler = BarrierHandler(inputs.channels)
        self._gathering: TaskSnapshot | None = None
        """An unaligned snapshot whose channel state is not complete."""
        self._first_after_end: int | None = None
        self._ready: list[TaskSnapshot] = []
        self._held: TakeSnapshot | None = None
        """Of a savepoint that the streams are to end before, as long as they have not."""
        self._stops_at: int | None = None
        self.input_over = False
        """Whether the task has processed all its input; set by the task, see ``take_held``."""
        self.was_drained = False
        """Whether the input is over only because the job stops; set by the task, if it is a source."""
        self.last_alignment_ms = 0.0

    @property
    def blocked(self) -> set[int]:
        """Channels from which nothing may be taken now."""
        return self._handler.blocked

    @property
    def suspended(self) -> bool:
        """Whether the savepoint that the job stops with was taken: nothing may be emitted any more."""
        return self._stops_at is not None

    def take(self) -> list[TaskSnapshot]:
        """Snapshots that are ready to be written."""
        ready, self._ready = self._ready, []
        return ready

    def deadline(self) -> float | None:
        """When ``run_due`` has something to do, in monotonic milliseconds."""
        return self._handler.deadline()

    def run_due(self, now: float) -> None:
        """Turn checkpoints unaligned whose barriers take too long."""
        self._act(self._handler.time_out(now))

    def arrive(self, channel: InputChannel, element: Waiting) -> None:
        """An element was received: it waits for its turn, unless it is a barrier that does not wait."""
        if isinstance(element, Barrier):
            now = self._clock.monotonic()
            if self._handler.acts_when_noticed(element):
                self._act(self._handler.barrier(channel.index, element, now))
                return
            self._handler.noticed(element, now)
        elif self._gathering is not None and self._handler.logs(channel.index):
            self._gathering.logs.add(channel, element)
        self._inputs.append(channel, element)
        if isinstance(element, EndOfChannel):
            self._act(self._handler.ending(channel.index, self._clock.monotonic()))

    def barrier(self, channel: InputChannel, barrier: Barrier) -> None:
        """Everything before ``barrier`` on its channel was processed."""
        self._act(self._handler.barrier(channel.index, barrier, self._clock.monotonic()))

    def channel_ended(self, channel: InputChannel) -> None:
        """Everything on ``channel`` was processed, and nothing will follow."""
        self._act(self._handler.ended(channel.index, self._clock.monotonic()))

    def trigger(self, barrier: Barrier) -> None:
        """The coordinator wants this task to begin with the checkpoint."""
        self._act(self._handler.trigger(barrier, self._clock.monotonic()))

    def completed(self, checkpoint: int) -> bool:
        """``checkpoint`` can be relied on; whether the task may leave now."""
        self._chain.checkpoint_completed(checkpoint)
        if checkpoint == self._stops_at:
            return True
        return self._first_after_end is not None and checkpoint >= self._first_after_end

    def aborted(self, checkpoint: int) -> None:
        """``checkpoint`` will never exist; a task that was to stop with it goes on."""
        self._act(self._handler.abort(checkpoint))
        if checkpoint == self._stops_at:
            self._stops_at = None
        if self._held is not None and self._held.barrier.checkpoint == checkpoint:
            self._held = None
        self._chain.checkpoint_aborted(checkpoint)

    def close(self) -> None:
        """Drop what was not handed over."""
        for snapshot in (*self._ready, *([self._gathering] if self._gathering else [])):
            snapshot.discard()
        self._ready, self._gathering = [], None

    def take_held(self) -> None:
        """The input is over: take the savepoint that waited for that."""
        held, self._held = self._held, None
        if held is not None:
            self._snapshot(held)

    def _act(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case TakeSnapshot():
                    self._snapshot(action)
                case Release():
                    self._inputs.release()
                case LogsComplete():
                    self._logs_complete()
                case Forget(checkpoint):
                    self._forget(checkpoint)
                case _:
                    assert_never(action)

    def _snapshot(self, action: TakeSnapshot) -> None:
        barrier = action.barrier
        options = decode_options(barrier.options)
        if options.drains and not self.input_over:
            self._held = action
            return
        finished = self.input_over and not self.was_drained
        savepoint = options.savepoint
        started = self._clock.monotonic()
        delay = self._clock.now() - barrier.timestamp - action.alignment_ms
        frozen = self._chain.freeze(
            barrier.checkpoint,
            barrier.timestamp,
            finished=finished,
            savepoint=savepoint is not None,
        )
        for output in self._outputs:
            output.control(barrier)
        snapshot = TaskSnapshot(
            checkpoint=barrier.checkpoint,
            deployment=self._deployment,
            states=frozen,
            times=SnapshotTimes(
                start_delay_ms=max(0.0, delay),
                alignment_ms=action.alignment_ms,
                sync_ms=self._clock.monotonic() - started,
                aligned_bytes=self._inputs.deferred_bytes,
                unaligned=action.unaligned,
            ),
            finished=finished,
            savepoint=savepoint,
        )
        if options.stops:
            self._stops_at = barrier.checkpoint
        self._inputs.deferred_bytes = 0
        self.last_alignment_ms = action.alignment_ms
        if self.input_over and self._first_after_end is None:
            self._first_after_end = barrier.checkpoint
        if not action.unaligned:
            self._ready.append(snapshot)
            return
        snapshot.logs, found = self._inputs.overtake(barrier.checkpoint, action.past)
        self._gathering = snapshot
        for channel in found:
            self._act(self._handler.arrived(channel, barrier.checkpoint, self._clock.monotonic()))

    def _logs_complete(self) -> None:
        if self._gathering is not None:
            self._ready.append(self._gathering)
            self._gathering = None

    def _forget(self, checkpoint: int) -> None:
        if self._gathering is not None and self._gathering.checkpoint == checkpoint:
            self._gathering.discard()
            self._gathering = None
