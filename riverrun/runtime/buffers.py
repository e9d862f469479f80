"""The output buffer of one channel (or of many channels with the same content)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from riverrun.loops import Writer
from riverrun.protocol.frames import (
    FrameHeader,
    WideFrame,
    encode_records,
    records_head,
    times_as_bytes,
    wide_frame,
)
from riverrun.runtime.debloating import ChannelLimits
from riverrun.runtime.failures import OperatorFailed
from riverrun.serde.columns import ColumnRun, Indices, TimeColumn
from riverrun.serde.empty_columns import size_of
from riverrun.serde.runs import RunCodec

_FIRST_LIMIT: Final = 256
_MOST_RECORDS: Final = 2_048
"""Records of one run: encoded while they are still in the CPU's caches. A frame holds many runs."""
_MOST_BYTES: Final = 192 << 10
"""Bytes of one run of columns, about."""
_LARGE_IF_SO_FEW: Final = 4
"""Records are large if fewer of them make a full frame."""
_BUSY_STRETCH: Final = 5
"""How many buffer timeouts a busy task may wait for its frames to fill."""
_SOON: Final = 5
"""Which part of its buffer timeout a task waits that has nothing else to do."""
_SOON_MS_A_CHANNEL: Final = 1.5
"""How long it waits at least for each channel: a frame of few records costs half a millisecond of CPU."""


class FlushTiming:
    """When what waits in the buffers of an edge leaves; times are monotonic milliseconds.

    The buffer timeout is what a record waits at most in a task that has time to spare. Such a task sends
    sooner, as often as it costs little; a busy one waits longer, since its frames fill by themselves.

    >>> timing = FlushTiming(10.0, channels=2)
    >>> timing.deadline(100.0, busy=False), timing.deadline(100.0, busy=True)
    (100.0, 150.0)
    >>> timing.flushed(); timing.deadline(100.5, busy=False)
    103.0
    """

    __slots__ = ("_flushed", "_now", "_since", "_soon", "_timeout")

    def __init__(self, timeout_ms: float, channels: int) -> None:
        self._timeout = timeout_ms
        self._soon = min(timeout_ms, max(timeout_ms / _SOON, channels * _SOON_MS_A_CHANNEL))
        self._since: float | None = None
        self._now = self._flushed = -math.inf

    @property
    def waiting(self) -> bool:
        """Whether the clock runs."""
        return self._since is not None

    def deadline(self, now: float, *, busy: bool) -> float | None:
        """When something that waits has to leave; ``None``: when its frame is full.

        Starts the clock for what was buffered since the last flush.
        """
        self._now = now
        since = self._since
        if since is None:
            self._since = since = now
        if self._timeout < 0:
            return None
        if busy:
            return since + self._timeout * _BUSY_STRETCH
        return max(since, self._flushed + self._soon)

    def flushed(self) -> None:
        """Everything left, at the time of the last look at the deadline or a little later."""
        self._since = None
        self._flushed = self._now


@dataclass(frozen=True, slots=True)
class Producer:
    """Who sends: the operator (for messages), its subtask and the attempt."""

    operator: str
    subtask: int
    attempt: int


class Channel:
    """Where frames go: one consumer subtask, the partition that takes them, the next number."""

    __slots__ = ("_edge", "_producer", "consumer", "sequence", "target")

    def __init__(self, producer: Producer, edge: int, consumer: int, target: int) -> None:
        self._producer, self._edge = producer, edge
        self.consumer, self.target = consumer, target
        self.sequence = 0

    def frame(self, elements: list[bytes | memoryview], size: int) -> bytes | WideFrame:
        """The next frame of this channel, of elements of about ``size`` bytes."""
        producer = self._producer
        header = FrameHeader(
            producer.attempt, self._edge, producer.subtask, self.consumer, self.sequence
        )
        self.sequence += 1
        return wide_frame(header, elements, size)


class ChannelBuffer:
    """Collects runs and the control elements between them until they leave as a frame.

    ``values`` is the run in hand and stays the same list for the life of the buffer: partitioners keep
    its ``append``. ``limit`` is how many records make a full run; it follows the size that records turn
    out to have. A frame is full when its sealed runs have the frame size.

    ``writer`` takes records instead, if ``may_write``: they are bytes at once. Who uses it seals what is in
    ``values`` before; what comes into ``values`` afterwards follows what was written.

    Columns wait beside them, whole, and are put together when they are sealed; a buffer holds either
    records or columns.
    """

    __slots__ = (
        "_codec",
        "_column_times",
        "_columns",
        "_frame_bytes",
        "_most_bytes",
        "_operator",
        "_sealed",
        "_sealed_bytes",
        "channels",
        "column_count",
        "limit",
        "may_write",
        "owes_filler",
        "timestamps",
        "values",
        "writer",
    )

    def __init__(
        self, channels: list[Channel], codec: RunCodec, frame_bytes: int, operator: str
    ) -> None:
        self.channels = channels
        self._operator = operator
        self.values: list[Any] = []
        self.timestamps: list[int] = []
        writer = codec.writer()
        self.may_write = writer is not None
        """Whether records may go to the writer."""
        self.writer = writer or Writer()
        self.limit = _FIRST_LIMIT
        self.owes_filler = False
        self._codec = codec
        self._frame_bytes = frame_bytes
        self._most_bytes = _MOST_BYTES
        self._sealed: list[bytes | memoryview] = []
        self._sealed_bytes = 0
        self._columns: list[ColumnRun] = []
        self._column_times: list[Indices] = []
        self.column_count = 0
        """Records that wait as columns."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to send."""
        return not self.count and not self._sealed

    @property
    def full(self) -> bool:
        """Whether the sealed runs make a frame."""
        return self._sealed_bytes >= self._frame_bytes

    @property
    def count(self) -> int:
        """How many records wait to be sealed."""
        return len(self.values) + self.writer.count + self.column_count

    def add_columns(self, run: ColumnRun, times: Indices | None) -> None:
        """Add a run of columns; there must be no records waiting, nor columns of another kind."""
        self._columns.append(run)
        self.column_count += len(run)
        if times is not None:
            self._column_times.append(times)

    def seal(self) -> None:
        """End the run in hand, so that a control element may follow it."""
        if self._columns:
            self._seal_columns()
        written = self.writer.count
        if written and (taken := self.writer.take()) is not None:
            run, times = taken
            self._add_run(written, [run], times)
        values = self.values
        if not values:
            return
        # Large records one by one: their consumer makes a run's values at once, and those of a second one in the memory
        # of the first if that is free by then.
        at_once = self.limit if self.limit < _LARGE_IF_SO_FEW else len(values)
        for start in range(0, len(values), at_once):
            self._seal_values(
                values[start : start + at_once], self.timestamps[start : start + at_once]
            )
        values.clear()
        self.timestamps.clear()

    def _seal_values(self, values: list[Any], timestamps: list[int]) -> None:
        try:
            pieces = self._codec.encode_pieces(values)
        except (TypeError, ValueError) as error:
            raise OperatorFailed(self._operator, getattr(error, "value_repr", None)) from error
        self._add_run(len(values), pieces, times_as_bytes(timestamps) if timestamps else None)

    def _add_run(self, count: int, pieces: list[bytes], times: bytes | None) -> None:
        size = sum(map(len, pieces))
        self._sealed += records_head(self._codec.tag, count, size, times)
        self._sealed += pieces
        self._sealed_bytes += size
        self.limit = max(1, min(_MOST_RECORDS, self._frame_bytes * count // max(1, size)))

    def _seal_columns(self) -> None:
        runs, times, count = self._columns, self._column_times, self.column_count
        self._columns, self._column_times, self.column_count = [], [], 0
        layout = runs[0].layout
        batch = runs[0].batch if len(runs) == 1 else pa.concat_batches([run.batch for run in runs])
        stamps = None if not times else times[0] if len(times) == 1 else np.concatenate(times)
        size = size_of(batch) if layout.may_have_empty else batch.nbytes
        # Pieces of a few frames: what is in flight should stay small, and so should a turn.
        piece = min(count, max(1, self._most_bytes * count // max(1, size)))
        for start in range(0, count, piece):
            part = ColumnRun(layout, batch.slice(start, piece))
            cut = None if stamps is None else TimeColumn(stamps[start : start + piece])
            run = self._codec.encode(part)
            self._sealed += encode_records(self._codec.tag, len(part), run, cut)
            self._sealed_bytes += len(run)
        self.limit = piece

    def control(self, element: bytes) -> None:
        """Add an encoded control element after everything so far."""
        self.seal()
        self._sealed.append(element)

    def take(self) -> list[tuple[int, bytes | WideFrame]]:
        """Everything in the buffer as frames: (target partition, frame) for each channel."""
        self.seal()
        if not self._sealed:
            return []
        sealed, size = self._sealed, self._sealed_bytes
        frames = [(channel.target, channel.frame(sealed, size)) for channel in self.channels]
        self._sealed = []
        self._sealed_bytes = 0
        return frames


class DebloatedBuffer(ChannelBuffer):
    """A buffer that knows how many records its consumers have room for, and sends frames to their measure."""

    __slots__ = ("_frames", "_largest", "_limits", "_sealed_records")

    def __init__(
        self, channels: list[Channel], codec: RunCodec, frame_bytes: int, operator: str
    ) -> None:
        super().__init__(channels, codec, frame_bytes, operator)
        self._largest = frame_bytes
        self._limits = ChannelLimits([channel.consumer for channel in channels])
        self._frames: dict[int, int] = {}
        self._sealed_records = 0

    @property
    def room(self) -> int:
        """How many records more may be added; not above 0: the consumers are behind."""
        return self._limits.room(self._sealed_records + self.count)

    def granted(self, consumer: int, until: int, frame_bytes: int) -> None:
        """``consumer`` takes so many records in all, in frames of about this size."""
        self._limits.granted(consumer, until)
        self._frames[consumer] = frame_bytes
        before, self._frame_bytes = self._frame_bytes, min(self._largest, *self._frames.values())
        if self._frame_bytes < before:
            self.limit = max(1, self.limit * self._frame_bytes // before)
        self._most_bytes = _MOST_BYTES * self._frame_bytes // self._largest

    def seal(self) -> None:
        self._sealed_records += self.count
        super().seal()
