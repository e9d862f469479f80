"""Frames out of Arrow batches, frames into Arrow batches: the rows of an exchange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

_SCHEMA: Final = pa.schema(
    [pa.field("target", pa.int32(), nullable=False), pa.field("frame", pa.binary(), nullable=False)]
)


def frames_of(batch: pa.RecordBatch) -> Iterator[memoryview]:
    """The frames in ``batch``, without copying; fillers are left out."""
    column = batch.column(1)
    for index in range(len(column)):
        buffer = column[index].as_buffer()
        if buffer is not None and buffer.size:
            yield memoryview(buffer)


def batch_of(rows: Sequence[tuple[int, Any]]) -> pa.RecordBatch:
    """One Arrow batch of ``(target, frame)`` rows, in order."""
    targets, frames = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(targets, pa.int32()), pa.array(frames, pa.binary())], schema=_SCHEMA
    )


def empty_batch() -> pa.RecordBatch:
    """A batch without rows: what a stage without output hands to Spark."""
    return pa.RecordBatch.from_arrays(
        [pa.array([], pa.int32()), pa.array([], pa.binary())], schema=_SCHEMA
    )
