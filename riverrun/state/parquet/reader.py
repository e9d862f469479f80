"""Reads the files of savepoints: row groups that hold the wanted key groups, some thousand rows at a time."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.core.errors import ProgramError
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.state.interchange import StateBlock
from riverrun.state.parquet.columns import (
    GROUP,
    Rows,
    StateColumns,
    blocks_of,
    columns_for,
    columns_in,
)
from riverrun.state.parquet.facts import FileFacts, facts_in
from riverrun.storage.blobs import Blob, FileRef
from riverrun.storage.snapshot_files import SavedFiles
from riverrun.storage.storage import FileCorrupt, StorageError

_STEP: Final = 8192
"""Rows that are decoded together."""


class UnreadableValues(ProgramError):  # noqa: N818
    """Values in a file cannot be made again, because what they are instances of is not there."""

    def __init__(self, file: str, operator: str, state: str, reason: str) -> None:
        super().__init__(file, operator, state, reason)
        self.file, self.operator, self.state, self.reason = file, operator, state, reason

    def __str__(self) -> str:
        return (
            f"file {self.file!r}: state {self.state!r} of operator {self.operator!r} has values that "
            f"cannot be made again: {self.reason}; make their class importable under the name that it "
            f"had when the savepoint was taken"
        )


class OpenTable:
    """A file that is open for reading."""

    def __init__(self, file: pq.ParquetFile, name: str) -> None:
        self._file = file
        self.name = name
        """What messages call it."""
        self.facts: FileFacts = facts_in(file.schema_arrow, name)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        return self._file.schema_arrow

    def row_groups(self, groups: range) -> list[int]:
        """Which row groups may hold rows of these key groups."""
        metadata = self._file.metadata
        place = self.schema.get_field_index(GROUP)
        found = []
        for number in range(metadata.num_row_groups):
            statistics = metadata.row_group(number).column(place).statistics
            known = statistics is not None and statistics.has_min_max
            if not known or (statistics.min < groups.stop and statistics.max >= groups.start):
                found.append(number)
        return found

    def rows(
        self,
        columns: StateColumns,
        *,
        row_groups: list[int] | None = None,
        names: list[str] | None = None,
    ) -> Iterator[Rows]:
        """The rows, some thousand at a time; all, and of all columns, unless it is said which.

        Raises:
            FileCorrupt: the file is damaged.
            UnreadableValues: a pickle in it cannot be read here.
        """
        for batch in self.batches(row_groups, names):
            try:
                yield columns.rows(batch)
            except Exception as error:
                # Whatever it is: unpickling runs the user's code.
                owner, state = self.facts.owner, self.facts.state
                reason = f"{type(error).__name__}: {error}"
                raise UnreadableValues(self.name, owner.operator, state.name, reason) from error

    def blocks(self, groups: range) -> Iterator[StateBlock]:
        """The entries of keyed state that are in ``groups``."""
        meta = self.facts.state
        try:
            columns = columns_in(columns_for(meta, defaultdict(list)), self.schema)
        except ValueError as error:
            raise damaged(self.name, str(error)) from error
        wanted = self.row_groups(groups)
        if wanted:
            for rows in self.rows(columns, row_groups=wanted):
                yield from blocks_of(meta, rows, groups)

    def batches(
        self, row_groups: list[int] | None, names: list[str] | None
    ) -> Iterator[pa.RecordBatch]:
        """The same rows as they are in the file; FileCorrupt when it is damaged."""
        # One row group after the other: a batch of long rows would be made of many of them.
        wanted = range(self._file.num_row_groups) if row_groups is None else row_groups
        for number in wanted:
            batches = self._file.iter_batches(_STEP, row_groups=[number], columns=names)
            while (batch := self._next(batches)) is not None:
                yield batch

    def _next(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise damaged(self.name, str(error)) from error


def damaged(name: str, reason: str) -> FileCorrupt:
    """The file is not what it was when the savepoint was taken."""
    return FileCorrupt(
        f"file {name!r}: it cannot be read as the state of a savepoint: {reason}; it was cut off or "
        f"changed after the savepoint was taken, so use another copy of the savepoint"
    )


@contextmanager
def opened(path: Path, name: str) -> Iterator[OpenTable]:
    """A local file, open; ``name`` is what messages call it.

    Raises:
        FileCorrupt: it is no Parquet file, or none of a savepoint.
    """
    try:
        file = pq.ParquetFile(path, memory_map=True, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise damaged(name, str(error)) from error
    with file:
        yield OpenTable(file, name)


@contextmanager
def fetched(blob: Blob, files: SavedFiles) -> Iterator[OpenTable]:
    """A file of the store, open; it is on this machine for that time."""
    name = blob.path if isinstance(blob, FileRef) else f"{blob.size} bytes kept in the metadata"
    try:
        folder = tempfile.TemporaryDirectory(prefix="riverrun-savepoint-")
    except OSError as error:
        raise StorageError(f"file {name!r}: no folder for it can be made: {error}") from error
    with folder as made:
        path = Path(made) / "state.parquet"
        files.fetch(blob, path)
        with opened(path, name) as table:
            yield table


def iterate(snapshot: KeyedSnapshot, files: SavedFiles, groups: range) -> Iterator[StateBlock]:
    """What the snapshot holds of ``groups``; a large map comes in several blocks."""
    wanted = range(
        max(groups.start, snapshot.first_group), min(groups.stop, snapshot.last_group + 1)
    )
    for part in snapshot.parts if wanted else ():
        with fetched(part.blob, files) as table:
            yield from table.blocks(wanted)
