"""Record batches without those of their columns that have no value at all, so that these take no room.

What is left out is told by eight bytes in front of the Arrow message: a mark, and a bit for each column that
is there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import pyarrow as pa

__all__ = ["HOLES_MARK", "message", "nulls", "read", "size_of"]

HOLES_MARK: Final = 0x01
"""The first byte where columns were left out; an Arrow message begins with 0xff."""
_HEADER: Final = 8
_MOST_COLUMNS: Final = (_HEADER - 1) * 8
_AT_ONCE: Final = 1 << 12


def size_of(batch: pa.RecordBatch) -> int:
    """How many bytes the values of a batch take on their way, about."""
    return sum(column.nbytes for column in batch.columns if column.null_count < len(column))


def message(batch: pa.RecordBatch) -> bytes:
    """The batch without its schema."""
    empty = [at for at, column in enumerate(batch.columns) if column.null_count == len(column) > 0]
    if not empty or len(empty) == batch.num_columns or batch.num_columns > _MOST_COLUMNS:
        whole: bytes = batch.serialize().to_pybytes()
        return whole
    there = [at for at in range(batch.num_columns) if at not in empty]
    bits = sum(1 << at for at in there)
    header = bytes([HOLES_MARK]) + bits.to_bytes(_HEADER - 1, "little")
    rest: bytes = batch.select(there).serialize().to_pybytes()
    return header + rest


def read(buffer: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """The batch that ``message`` was given."""
    if buffer[0] != HOLES_MARK:
        return pa.ipc.read_record_batch(buffer, schema)
    bits = int.from_bytes(buffer.slice(1, _HEADER - 1).to_pybytes(), "little")
    there = [at for at in range(len(schema)) if bits >> at & 1]
    found = pa.ipc.read_record_batch(
        buffer.slice(_HEADER), pa.schema([schema.field(at) for at in there])
    )
    arrays = [nulls(field.type, found.num_rows) for field in schema]
    for column, at in zip(found.columns, there, strict=True):
        arrays[at] = column
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def nulls(kind: pa.DataType, count: int) -> pa.Array:
    """So many nulls; most often a part of an array that is there already."""
    return _nulls(kind, 1 << max(_AT_ONCE, count - 1).bit_length()).slice(0, count)


@lru_cache(maxsize=64)
def _nulls(kind: pa.DataType, count: int) -> pa.Array:
    return pa.nulls(count, kind)
