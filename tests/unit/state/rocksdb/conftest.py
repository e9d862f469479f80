"""Backends on disk over files in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.clock import ManualClock
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.state.backend import BackendSettings
from riverrun.state.rocksdb import held
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.rocksdb.restless import Restless
from riverrun.storage.blobs import Blob, FileRef, InlineBlob
from riverrun.storage.storage import FileMissing

GROUPS = 8


class Shelf:
    """Files of snapshots in a dict; checks no digests, so that damage reaches the backend."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.uploads: list[str] = []
        """Names of the local files that were uploaded."""

    def put(self, data: bytes | memoryview, *, shared: bool) -> Blob:
        return self._keep(bytes(data), shared)

    def upload(self, source: Path, *, shared: bool) -> FileRef:
        self.uploads.append(source.name)
        return self._keep(source.read_bytes(), shared)

    def read(self, blob: Blob) -> bytes:
        assert not isinstance(blob, InlineBlob)
        if blob.path not in self.files:
            raise FileMissing(f"{blob.path} is not there")
        return self.files[blob.path]

    def fetch(self, blob: Blob, target: Path) -> None:
        target.write_bytes(self.read(blob))

    def _keep(self, data: bytes, shared: bool) -> FileRef:
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        path = f"store/{'shared' if shared else 'own'}-{len(self.files)}"
        self.files[path] = data
        return FileRef(path, len(data), digest)


class Bench:
    """Makes backends and snapshots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(1_000_000)
        self.shelf = Shelf()
        self.made: list[RocksDBBackend] = []

    def backend(
        self, first: int = 0, last: int = GROUPS - 1, *, cache_bytes: int | None = None, **how: Any
    ) -> RocksDBBackend:
        """A backend; ``cache_bytes`` makes its cache far smaller than any budget would."""
        settings: dict[str, Any] = {
            "operator": "counter",
            "operator_id": "counter",
            "subtask": 0,
            "first_group": first,
            "last_group": last,
            "max_parallelism": GROUPS,
            "clock": self.clock,
            "folder": self.folder / f"backend-{len(self.made)}",
            "memory_bytes": 8 << 20,
            "incremental": True,
        }
        backend = RocksDBBackend(BackendSettings(**{**settings, **how}))
        if cache_bytes is not None:
            backend._surroundings.budget._limit = cache_bytes
        self.made.append(backend)
        return backend

    def snapshot(self, backend: RocksDBBackend, checkpoint: int = 1) -> KeyedSnapshot:
        """Freeze, write and complete."""
        frozen = backend.freeze(checkpoint)
        snapshot = frozen.write(self.shelf)
        frozen.discard()
        backend.checkpoint_completed(checkpoint)
        return snapshot

    def restored(
        self, *snapshots: KeyedSnapshot, owned: bool = True, first: int = 0, last: int = GROUPS - 1
    ) -> RocksDBBackend:
        backend = self.backend(first, last)
        backend.restore(snapshots, self.shelf, owned=owned)
        return backend


@contextmanager
def holding(*, holds: bool = True) -> Iterator[None]:
    """Meanwhile every checkpoint takes what has no rows as it is, or, with False, none does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held, "_FEW", 1)
        patch.setattr(Restless, "are", lambda *_: holds)
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench whose backends are closed at the end."""
    made = Bench(tmp_path)
    yield made
    for backend in made.made:
        backend.close()
