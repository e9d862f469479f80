"""The end of a chain: one ``EdgeOutput`` per outgoing edge, and the outbox they all write to.

When a frame leaves: the buffer is full; the buffer timeout passed; a control element was emitted; or a full
frame leaves for another input of the same consumer, which would be ahead of what waits here otherwise.
Under load the timeout stretches (a busy task fills its frames anyway), so frames grow by themselves; a
task with time to spare does not wait for all of it.
Each flush that may be the last for a while is followed by a filler row to the same target, because
Spark holds the last row of a channel back until another one comes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import OutEdge, TaskDeployment
from riverrun.graph.partitioning import Broadcast, Forward, Global
from riverrun.protocol.elements import Element
from riverrun.protocol.frames import FILLER, WideFrame, encode_control
from riverrun.runtime.buffers import (
    Channel,
    ChannelBuffer,
    DebloatedBuffer,
    FlushTiming,
    Producer,
)
from riverrun.runtime.column_partitioners import column_spread
from riverrun.runtime.debloating import UNLIMITED
from riverrun.runtime.failures import OperatorFailed, operator_failed
from riverrun.runtime.partitioners import spread
from riverrun.runtime.settings import TaskSettings
from riverrun.serde.columns import ColumnRun, plain_rows, plain_times, time_array
from riverrun.serde.runs import ArrowRunCodec, codec_for
from riverrun.serde.stable_hash import KeyHashError


class Outbox:
    """Frames ready to leave, in order; the shell takes them after each turn."""

    __slots__ = ("bytes_out", "frames")

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes | WideFrame]] = []
        self.bytes_out = 0

    def take(self) -> list[tuple[int, bytes]]:
        """Everything waiting; the outbox is empty afterwards."""
        return [
            (target, frame.joined() if isinstance(frame, WideFrame) else frame)
            for target, frame in self.take_wide()
        ]

    def take_wide(self) -> list[tuple[int, bytes | WideFrame]]:
        """As ``take``, but large frames are left in pieces."""
        frames, self.frames = self.frames, []
        return frames


class EdgeOutput:
    """Sends the output of one operator over one edge."""

    def __init__(
        self,
        edge: OutEdge,
        *,
        producer: Producer,
        frame_bytes: int,
        outbox: Outbox,
        rng: random.Random,
        debloated: bool = False,
    ) -> None:
        self.edge = edge
        codec = codec_for(edge.type_info, rows=not edge.takes_columns)
        channels = [
            Channel(producer, edge.edge, consumer, edge.targets[consumer])
            for consumer in edge.consumers
        ]
        # Channels of a broadcast carry the same content: one buffer, encoded once, serves them all.
        together = isinstance(edge.partitioning, Broadcast)
        groups = [channels] if together else [[channel] for channel in channels]
        make = DebloatedBuffer if debloated else ChannelBuffer
        self._buffers = [make(group, codec, frame_bytes, producer.operator) for group in groups]
        self._debloated = [each for each in self._buffers if isinstance(each, DebloatedBuffer)]
        self._spread = spread(edge, self._buffers, rng)
        self._spread_columns = column_spread(edge, self._buffers, rng)
        self._column_layout = (
            codec.layout
            if isinstance(codec, ArrowRunCodec) and self._spread_columns is not None
            else None
        )
        self._holds_columns = False
        self._name = f"key selector or partitioner of {edge.target_name or 'an edge'}"
        self._runs_user_code = not isinstance(edge.partitioning, Forward | Broadcast | Global)
        self._timing = FlushTiming(edge.buffer_timeout_ms, len(channels))
        self._outbox = outbox
        self._rng = rng
        self._timed = False
        self._beside: list[EdgeOutput] = []

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Buffer a run, and send what is full."""
        timed = timestamps is not None
        if timed is not self._timed:
            for buffer in self._buffers:
                buffer.seal()
            self._timed = timed
        columns = self._column_layout is not None and (
            isinstance(values, ColumnRun) and values.layout is self._column_layout
        )
        if columns is not self._holds_columns:
            for buffer in self._buffers:
                buffer.seal()
            self._holds_columns = columns
        if self._runs_user_code:
            self._spread_user(values, timestamps)
        else:
            self._spread_any(values, timestamps)
        for buffer in self._buffers:
            if buffer.count >= buffer.limit:
                buffer.seal()
                if buffer.full:
                    for other in self._beside:
                        other.send_beside(buffer)
                    self._send(buffer, filler=False)

    def go_beside(self, others: Mapping[EdgeId, EdgeOutput]) -> None:
        """Learn which outputs feed other inputs of the same consumers; ``others`` are all of the task."""
        self._beside = [others[edge] for edge in self.edge.beside]

    def send_beside(self, ahead: ChannelBuffer) -> None:
        """Send what waits for a consumer of ``ahead``, the buffer of another output, before that leaves."""
        consumers = {channel.consumer for channel in ahead.channels}
        for buffer in self._buffers:
            if not buffer.empty and not consumers.isdisjoint(c.consumer for c in buffer.channels):
                self._send(buffer, filler=False)

    def control(self, element: Element) -> None:
        """Send ``element`` to every channel, after all that was emitted before it."""
        encoded = encode_control(element)
        for buffer in self._buffers:
            buffer.control(encoded)
            self._send(buffer, filler=True)
        self._timing.flushed()

    def mark(self, element: Element) -> None:
        """Put ``element`` into one channel drawn at random; it waits with the records (latency markers)."""
        self._rng.choice(self._buffers).control(encode_control(element))

    def deadline(self, now: float, *, busy: bool) -> float | None:
        """When ``flush_due`` has something to do; ``None``: not before more is emitted.

        Starts the clock for what was buffered since the last call.
        """
        if not self._timing.waiting and all(b.empty and not b.owes_filler for b in self._buffers):
            return None
        return self._timing.deadline(now, busy=busy)

    def flush(self) -> None:
        """Send everything that waits, each followed by a filler."""
        for buffer in self._buffers:
            if not buffer.empty:
                self._send(buffer, filler=True)
            elif buffer.owes_filler:
                self._fill(buffer)
        self._timing.flushed()

    @property
    def buffered(self) -> int:
        """How many records wait in the buffers."""
        return sum(buffer.count for buffer in self._buffers)

    @property
    def room(self) -> int:
        """How many records may be emitted before a consumer has to catch up; not above 0: none."""
        return min((buffer.room for buffer in self._debloated), default=UNLIMITED)

    def granted(self, consumer: int, until: int, frame_bytes: int) -> None:
        """``consumer`` takes so many records of its channel in all, in frames of about this size."""
        for buffer in self._debloated:
            if any(channel.consumer == consumer for channel in buffer.channels):
                buffer.granted(consumer, until, frame_bytes)

    def _send(self, buffer: ChannelBuffer, *, filler: bool) -> None:
        frames = buffer.take()
        self._outbox.frames += frames
        self._outbox.bytes_out += sum(len(frame) for _, frame in frames)
        buffer.owes_filler = True
        if filler:
            self._fill(buffer)

    def _fill(self, buffer: ChannelBuffer) -> None:
        self._outbox.frames += [(channel.target, FILLER) for channel in buffer.channels]
        buffer.owes_filler = False

    def _spread_any(self, values: list[Any], timestamps: list[int] | None) -> None:
        if not len(values):
            return
        if self._holds_columns:
            assert isinstance(values, ColumnRun) and self._spread_columns is not None  # noqa: S101, PT018
            self._spread_columns(values, None if timestamps is None else time_array(timestamps))
        else:
            self._spread(plain_rows(values), plain_times(timestamps))

    def _spread_user(self, values: list[Any], timestamps: list[int] | None) -> None:
        try:
            self._spread_any(values, timestamps)
        except OperatorFailed:
            raise
        except TypeError as error:
            if str(error).startswith("unhashable type"):
                failed = operator_failed(self._name, error)
                kind = str(error).removeprefix("unhashable type: ").strip("'")
                raise failed from KeyHashError(kind, failed.record or "")
            raise operator_failed(self._name, error) from error
        except Exception as error:
            raise operator_failed(self._name, error) from error


def outputs_of(
    deployment: TaskDeployment, settings: TaskSettings, outbox: Outbox
) -> list[EdgeOutput]:
    """The outputs of a task, one for each of its outgoing edges."""
    rng = random.Random(settings.seed)  # noqa: S311  (shares records out; no secret)
    outputs = [
        EdgeOutput(
            edge,
            producer=Producer(
                deployment.operators[edge.operator].name, deployment.subtask, deployment.attempt
            ),
            frame_bytes=settings.frame_bytes,
            outbox=outbox,
            rng=rng,
            debloated=settings.debloat is not None,
        )
        for edge in deployment.outputs
    ]
    by_edge = {output.edge.edge: output for output in outputs}
    for output in outputs:
        output.go_beside(by_edge)
    return outputs
