"""Backends that write savepoints and start from them, over files in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.state.backend import KeyedStateBackend
from riverrun.state.parquet.snapshot import write_keyed
from riverrun.storage.blobs import FileRef
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.savepoint_files import SavedSavepointFiles, SavepointFiles
from tests.contract.state.conftest import Workshop

FOLDER = "memory://savepoints/savepoint-1"


class _Part(SavepointFiles):
    """Files of one backend among several that say they are the same subtask."""

    prefix = ""

    def keep(self, source: Path, name: str) -> FileRef:
        return super().keep(source, f"{self.prefix}/{name}")


@dataclass
class Savepoints:
    """Writes savepoints of a workshop's backends, and restores them."""

    shop: Workshop
    storage: MemoryStorage = field(default_factory=MemoryStorage)
    count: int = 0

    @property
    def saved(self) -> SavedSavepointFiles:
        return SavedSavepointFiles(self.storage, FOLDER)

    def files(self) -> SavepointFiles:
        self.count += 1
        files = _Part(self.storage, FOLDER, self.shop.folder / "scratch")
        files.prefix = f"part-{self.count}"
        return files

    def take(self, backend: KeyedStateBackend, checkpoint: int = 1) -> KeyedSnapshot:
        """Freeze, write, discard, and say that it is complete."""
        frozen = backend.freeze(checkpoint, savepoint=True)
        snapshot = write_keyed(frozen, self.files())
        frozen.discard()
        backend.checkpoint_completed(checkpoint)
        return snapshot

    def restored(self, snapshots: Sequence[KeyedSnapshot], **how: Any) -> KeyedStateBackend:
        backend = self.shop.backend(**how)
        backend.restore(snapshots, self.saved, owned=False)
        return backend

    def path(self, snapshot: KeyedSnapshot, state: str) -> Path:
        """A local copy of the only file of a state."""
        blobs = [part.blob for part in snapshot.parts if part.name == state]
        assert len(blobs) == 1
        assert isinstance(blobs[0], FileRef)
        target = self.shop.folder / "files" / blobs[0].path
        if not target.exists():
            self.saved.fetch(blobs[0], target)
        return target
