"""Parquet files that are written until they are large enough, one at a time for each partition.

Batches wait in memory until they make a row group. Files are opened late and closed early, so that a task
holds few of them and a bounded amount of memory, however many partitions there are.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["DataFiles", "RollingParquet"]

_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 32 << 20
_WAITING_BYTES: Final = 96 << 20
"""What all partitions together may hold in memory before the largest is written."""
_OPEN_FILES: Final = 64


class DataFiles(Protocol):
    """Where data files go, and what is to be known of each."""

    def create(self, partition: tuple[Any, ...]) -> tuple[str, Any]:
        """Begin a file: its path, and what to write to."""

    def facts(
        self, path: str, partition: tuple[Any, ...], size: int, metadata: pq.FileMetaData
    ) -> Any:
        """What a file that is complete is remembered by."""


@dataclass(slots=True)
class _Part:
    """A partition: batches that wait, and the file they go to, once there is one."""

    waiting: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    path: str = ""
    out: Any = None
    writer: pq.ParquetWriter | None = None


class RollingParquet:
    """Writes batches of one schema to files.

    Args:
        files: where files go.
        schema: of all batches.
        target_size: from how many bytes on a file is closed.
        compression: as Parquet names it.
    """

    def __init__(
        self, files: DataFiles, schema: pa.Schema, *, target_size: int, compression: str
    ) -> None:
        self._files = files
        self._schema = schema
        self._target_size = target_size
        self._compression = compression
        self._parts: dict[tuple[Any, ...], _Part] = {}
        self._waiting = 0
        self._closed: list[Any] = []

    def add(self, partition: tuple[Any, ...], batch: pa.RecordBatch) -> None:
        """Write rows of a partition, now or later."""
        part = self._parts.get(partition)
        if part is None:
            part = self._parts[partition] = _Part()
        size = batch.nbytes
        part.waiting.append(batch)
        part.rows += batch.num_rows
        part.size += size
        self._waiting += size
        if part.rows >= _GROUP_ROWS or part.size >= min(_GROUP_BYTES, self._target_size):
            self._write(partition, part)
        while self._waiting > _WAITING_BYTES:
            largest = max(self._parts, key=lambda each: self._parts[each].size)
            self._write(largest, self._parts[largest])

    def close_all(self) -> list[Any]:
        """Complete all files; the facts of every file since the last call."""
        for partition, part in list(self._parts.items()):
            self._write(partition, part)
            self._close(partition, part)
        closed, self._closed = self._closed, []
        return closed

    def abandon(self) -> None:
        """Let go of files that are not complete; nobody will ever know them."""
        parts, self._parts = self._parts, {}
        for part in parts.values():
            if part.writer is not None:
                part.writer.is_open = False  # or it would write on when it is collected
            if part.out is not None:
                with suppress(OSError, pa.ArrowException):  # the store may be what failed
                    part.out.close()

    def _write(self, partition: tuple[Any, ...], part: _Part) -> None:
        if not part.rows:
            return
        if part.writer is None:
            self._make_room()
            part.path, part.out = self._files.create(partition)
            part.writer = pq.ParquetWriter(
                part.out,
                self._schema,
                compression=self._compression,
                store_decimal_as_integer=True,
            )
        part.writer.write_table(pa.Table.from_batches(part.waiting, self._schema))
        self._waiting -= part.size
        part.waiting, part.rows, part.size = [], 0, 0
        if part.out.tell() >= self._target_size:
            self._close(partition, part)

    def _make_room(self) -> None:
        """Close the file that was opened first, if there are too many."""
        opened = [each for each, part in self._parts.items() if part.writer is not None]
        if len(opened) >= _OPEN_FILES:
            part = self._parts[opened[0]]
            self._write(opened[0], part)
            self._close(opened[0], part)

    def _close(self, partition: tuple[Any, ...], part: _Part) -> None:
        writer = part.writer
        if writer is not None:
            writer.close()
            part.writer = None
            size = part.out.tell()
            part.out.close()
            metadata = writer.writer.metadata
            self._closed.append(self._files.facts(part.path, partition, size, metadata))
        self._parts.pop(partition, None)
