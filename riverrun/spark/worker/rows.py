"""Frames out of Arrow batches, frames into Arrow batches: the rows of an exchange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from riverrun.protocol.parts import PartJoiner, in_parts

_SCHEMA: Final = pa.schema(
    [pa.field("target", pa.int32(), nullable=False), pa.field("frame", pa.binary(), nullable=False)]
)
_BATCH_BYTES: Final = 1 << 20


def frames_of(batch: pa.RecordBatch, joiner: PartJoiner) -> Iterator[memoryview]:
    """The frames that are complete with ``batch``; only those in parts are copied. Fillers are left out."""
    column = batch.column(1)
    for index in range(len(column)):
        buffer = column[index].as_buffer()
        if buffer is not None and buffer.size:
            frame = joiner.add(memoryview(buffer))
            if frame is not None:
                yield frame


def batches_of(rows: Sequence[tuple[int, Any]]) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the ``(target, frame)`` rows, in order; each of about a megabyte at most."""
    targets: list[int] = []
    frames: list[Any] = []
    size = 0
    for target, frame in rows:
        for part in in_parts(frame):
            targets.append(target)
            frames.append(part)
            size += len(part)
            if size >= _BATCH_BYTES:
                yield _batch(targets, frames)
                targets, frames, size = [], [], 0
    if targets:
        yield _batch(targets, frames)


def empty_batch() -> pa.RecordBatch:
    """A batch without rows: what a stage without output hands to Spark."""
    return pa.RecordBatch.from_arrays(
        [pa.array([], pa.int32()), pa.array([], pa.binary())], schema=_SCHEMA
    )


def _batch(targets: list[int], frames: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(targets, pa.int32()), pa.array(frames, pa.binary())], schema=_SCHEMA
    )
