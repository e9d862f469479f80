"""A snapshot: a folder of hard links, of which the background part uploads what the store lacks.

Timers that were in memory come in a file of their own, in the format of the hashmap backend, and so do entries
that have no rows or other ones.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import merge
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec

from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot, StateMeta
from riverrun.state.backend import BackendSettings, groups_of
from riverrun.state.hashmap.entries import section_blocks, table_blocks
from riverrun.state.hashmap.frozen import file_of
from riverrun.state.hashmap.snapshot_file import FileBuilder, RawSection
from riverrun.state.hashmap.table import FrozenTable
from riverrun.state.hashmap.timers import FrozenTimers
from riverrun.state.interchange import StateBlock
from riverrun.state.rocksdb.cached import Unwritten
from riverrun.state.rocksdb.catalog import NAME, SnapshotFacts
from riverrun.state.rocksdb.database import Database
from riverrun.state.rocksdb.entries import row_blocks
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.rocksdb.store import remove_folder
from riverrun.state.rocksdb.tuning import reading_options
from riverrun.state.rocksdb.uploads import Uploads
from riverrun.state.schema import schema_from
from riverrun.storage.os_errors import reported
from riverrun.storage.snapshot_files import SnapshotFiles
from riverrun.storage.storage import StorageError

TABLE: Final = ".sst"
TIMERS: Final = "TIMERS"
"""The name of the part with the timers that were in memory."""
ENTRIES: Final = "ENTRIES"
"""The name of the part with entries that count instead of their rows."""
_NEEDED: Final = ("MANIFEST-", "CURRENT", "OPTIONS-")


@dataclass(frozen=True, slots=True)
class FrozenRocksDB:
    """The rows of a backend at one moment."""

    settings: BackendSettings
    checkpoint: int
    folder: Path | None
    """The hard links; None when there are no rows."""
    states: tuple[StateMeta, ...]
    facts: SnapshotFacts
    uploads: Uploads
    unwritten: Sequence[Unwritten]
    """Of a savepoint: entries that have no rows, or other ones."""
    held: Sequence[FrozenTable]
    """The same of a checkpoint."""
    timers: Sequence[FrozenTimers]
    unclaimed: Sequence[RawSection]
    """Restored timers that were in memory and that nobody asked for."""

    def entries(self) -> Generator[StateBlock, None, None]:
        """Every entry once, by state and in it by key group."""
        if self.held:
            raise ValueError(
                "it was frozen for a checkpoint; freeze for a savepoint to have entries"
            )
        settings = self.settings
        near = self._near()
        newer = {one.schema.meta.name: one.entries for one in self.unwritten}
        with self._opened() as database:
            for number, meta in zip(self.facts.numbers, self.states, strict=True):
                found = [blocks for known, blocks in near if known == meta]
                near = [(known, blocks) for known, blocks in near if known != meta]
                if database is not None:
                    schema, most = schema_from(meta), self.facts.max_parallelism
                    rows = RowFormat(schema, number, most, settings.operator)
                    hidden = newer.get(meta.name)
                    found.append(row_blocks(database, rows, groups_of(settings), hidden))
                yield from merge(*found, key=_group_of)
        for _, blocks in near:
            yield from blocks

    def write(self, files: SnapshotFiles) -> KeyedSnapshot:
        """Upload the files that no completed checkpoint has."""
        if self.unwritten:
            raise ValueError("it was frozen for a savepoint; freeze for a checkpoint to have files")
        parts = (*self._parts(files), *self._entries(files), *self._timers(files))
        self.uploads.wrote(self.checkpoint, parts)
        self.discard()
        return KeyedSnapshot(
            backend=NAME,
            first_group=self.settings.first_group,
            last_group=self.settings.last_group,
            states=self.states,
            parts=parts,
            meta=msgspec.msgpack.encode(self.facts),
            full_bytes=sum(part.blob.size for part in parts),
        )

    def discard(self) -> None:
        """Remove the links, and share no values and timers any more."""
        for frozen in (*self._in_memory(), *self.held):
            frozen.thaw()
        if self.folder is not None:
            remove_folder(self.folder)

    def _in_memory(self) -> list[Unwritten | FrozenTimers]:
        return [*self.unwritten, *self.timers]

    def _near(self) -> list[tuple[StateMeta, Iterator[StateBlock]]]:
        """The entries and timers that were in memory."""
        settings = self.settings
        asked = [
            (frozen.schema.meta, table_blocks(frozen, settings.max_parallelism))
            for frozen in self._in_memory()
        ]
        waiting = [
            (section.meta, section_blocks([section], groups_of(settings), settings.operator))
            for section in self.unclaimed
        ]
        return asked + waiting

    @contextmanager
    def _opened(self) -> Iterator[Database | None]:
        """The database of the links, to be read."""
        if self.folder is None:
            yield None
            return
        database = Database(self.folder, reading_options(), read_only=True)
        try:
            yield database
        finally:
            database.close()

    def _parts(self, files: SnapshotFiles) -> Iterator[KeyedPart]:
        shared = self.settings.incremental
        there = self.uploads.there() if shared else {}
        for path in self._files():
            if path.suffix != TABLE:
                yield KeyedPart(path.name, files.put(_bytes_of(path), shared=False), shared=False)
                continue
            known = there.get(path.name)
            if known is not None and known.blob.size == _size_of(path):
                yield known
            else:
                yield KeyedPart(path.name, files.upload(path, shared=shared), shared)

    def _entries(self, files: SnapshotFiles) -> Iterator[KeyedPart]:
        """By way of the disk: memory has no room for all of them a second time."""
        if not self.held:
            return
        path = self.settings.folder / "snapshots" / f"entries-{self.checkpoint}-{uuid4()}"
        try:
            with reported("writing", str(path)):
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as file:
                    file_of(self.held, (), self.settings, FileBuilder(file.write)).finish()
            yield KeyedPart(ENTRIES, files.upload(path, shared=False), shared=False)
        finally:
            path.unlink(missing_ok=True)

    def _timers(self, files: SnapshotFiles) -> Iterator[KeyedPart]:
        file = file_of(self.timers, self.unclaimed, self.settings)
        if not file.is_empty:
            yield KeyedPart(TIMERS, files.put(file.finish(), shared=False), shared=False)

    def _files(self) -> list[Path]:
        """The files that make a database, the tables first."""
        if self.folder is None:
            return []
        try:
            found = sorted(self.folder.iterdir())
        except OSError as error:
            raise StorageError(
                f"{self.folder}: the snapshot of checkpoint {self.checkpoint} is gone: {error}"
            ) from error
        tables = [path for path in found if path.suffix == TABLE]
        return tables + [path for path in found if path.name.startswith(_NEEDED)]


def _group_of(block: StateBlock) -> int:
    return block.group


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise StorageError(f"{path}: the file cannot be read: {error}") from error


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: the file cannot be read: {error}") from error
