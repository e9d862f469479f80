"""A snapshot: a folder of hard links, of which the background part uploads what the store lacks.

Timers that were in memory come in a file of their own, in the format of the hashmap backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot, StateMeta
from riverrun.state.backend import BackendSettings
from riverrun.state.hashmap.frozen import file_of
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.hashmap.timers import FrozenTimers
from riverrun.state.rocksdb.catalog import NAME, SnapshotFacts
from riverrun.state.rocksdb.store import remove_folder
from riverrun.state.rocksdb.uploads import Uploads
from riverrun.storage.snapshot_files import SnapshotFiles
from riverrun.storage.storage import StorageError

TABLE: Final = ".sst"
TIMERS: Final = "TIMERS"
"""The name of the part with the timers that were in memory."""
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
    timers: Sequence[FrozenTimers]
    unclaimed: Sequence[RawSection]
    """Restored timers that were in memory and that nobody asked for."""

    def write(self, files: SnapshotFiles) -> KeyedSnapshot:
        """Upload the files that no completed checkpoint has."""
        parts = (*self._parts(files), *self._timers(files))
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
        """Remove the links, and share no timers any more."""
        for frozen in self.timers:
            frozen.thaw()
        if self.folder is not None:
            remove_folder(self.folder)

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
