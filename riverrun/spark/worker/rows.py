"""Frames out of Arrow batches, frames into Arrow batches: the rows of an exchange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from riverrun.protocol.frames import FILLER, WideFrame
from riverrun.protocol.local_frames import is_reference
from riverrun.protocol.parts import PartJoiner, in_parts
from riverrun.spark.worker.arenas import ConsumerArenas
from riverrun.spark.worker.nearby import Nearby

Frame: TypeAlias = bytes | memoryview | WideFrame

_SCHEMA: Final = pa.schema(
    [pa.field("target", pa.int32(), nullable=False), pa.field("frame", pa.binary(), nullable=False)]
)
_BATCH_BYTES: Final = 1 << 20


def frames_of(
    batch: pa.RecordBatch, joiner: PartJoiner, arenas: ConsumerArenas | None = None
) -> Iterator[memoryview]:
    """The frames that are complete with ``batch``; only those in parts are copied. Fillers are left out.

    References are replaced by the frames that they stand for: behind this nobody knows of them.
    """
    column = batch.column(1)
    for index in range(len(column)):
        buffer = column[index].as_buffer()
        if buffer is None or not buffer.size:
            continue
        row = memoryview(buffer)
        if arenas is not None and is_reference(row):
            yield arenas.frame(row)
        elif (frame := joiner.add(row)) is not None:
            yield frame


def batches_of(
    rows: Sequence[tuple[int, Frame]], nearby: Nearby | None = None
) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the ``(target, frame)`` rows, in order; each of about a megabyte at most.

    With ``nearby`` frames may be replaced by references. Those are small, so they leave together: a batch
    costs Spark much more than a row.
    """
    batch = _Batch(set() if nearby is None else nearby.unfilled)
    for target, frame in rows:
        reference = None
        if nearby is not None and nearby.suits(target, len(frame)):
            reference = nearby.place(target, frame)
            if reference is None:
                # Consumers give back what has reached them only.
                yield from batch.sent()
                reference = nearby.place_patiently(target, frame)
        for row in in_parts(frame) if reference is None else (reference,):
            batch.add(target, row)
            if batch.size >= _BATCH_BYTES:
                yield from batch.taken()
    yield from batch.taken()


class _Batch:
    """Rows that leave together."""

    def __init__(self, unfilled: set[int]) -> None:
        self._targets: list[int] = []
        self._rows: list[Any] = []
        self._unfilled = unfilled
        self.size = 0

    def add(self, target: int, row: bytes | memoryview) -> None:
        """Add a row."""
        self._targets.append(target)
        self._rows.append(row)
        (self._unfilled.add if len(row) else self._unfilled.discard)(target)
        self.size += len(row)

    def taken(self) -> Iterator[pa.RecordBatch]:
        """What there is; nothing is left."""
        if self._targets:
            targets, rows = self._targets, self._rows
            self._targets, self._rows, self.size = [], [], 0
            yield _batch(targets, rows)

    def sent(self) -> Iterator[pa.RecordBatch]:
        """As ``taken``, with fillers, so that Spark hands over all that was ever taken from here."""
        for target in sorted(self._unfilled):
            self.add(target, FILLER)
        return self.taken()


def empty_batch() -> pa.RecordBatch:
    """A batch without rows: what a stage without output hands to Spark."""
    return pa.RecordBatch.from_arrays(
        [pa.array([], pa.int32()), pa.array([], pa.binary())], schema=_SCHEMA
    )


def _batch(targets: list[int], frames: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(targets, pa.int32()), pa.array(frames, pa.binary())], schema=_SCHEMA
    )
