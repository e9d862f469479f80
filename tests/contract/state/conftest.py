"""Backends of every kind over files in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import pytest

from riverrun.core.clock import ManualClock
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.type_info import TypeInformation
from riverrun.state.backend import BackendSettings, KeyedStateBackend
from riverrun.state.backends import create_backend
from riverrun.storage.blobs import Blob, FileRef, InlineBlob
from riverrun.storage.storage import FileMissing

GROUPS = 16
INLINE = 64


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


BACKENDS = ["hashmap"]
if _is_there("rocksdict") and _is_there("riverrun.state.rocksdb.backend"):
    BACKENDS.append("rocksdb")


class MemoryFiles:
    """Files of snapshots in a dict."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.shared: set[str] = set()
        self.written = 0

    def put(self, data: bytes | memoryview, *, shared: bool) -> Blob:
        self.written += len(data)
        return InlineBlob(bytes(data)) if len(data) <= INLINE else self._keep(bytes(data), shared)

    def upload(self, source: Path, *, shared: bool) -> FileRef:
        data = source.read_bytes()
        self.written += len(data)
        return self._keep(data, shared)

    def read(self, blob: Blob) -> bytes:
        if isinstance(blob, InlineBlob):
            return blob.data
        if blob.path not in self.files:
            raise FileMissing(f"{blob.path} is not there")
        return self.files[blob.path]

    def fetch(self, blob: Blob, target: Path) -> None:
        target.write_bytes(self.read(blob))

    def keep_only(self, snapshots: Sequence[KeyedSnapshot]) -> None:
        """Delete what none of the snapshots refers to, as the registry of checkpoints does."""
        used = {
            part.blob.path
            for snapshot in snapshots
            for part in snapshot.parts
            if isinstance(part.blob, FileRef)
        }
        self.files = {path: data for path, data in self.files.items() if path in used}

    def _keep(self, data: bytes, shared: bool) -> FileRef:
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        path = f"memory/{len(self.files)}-{digest}"
        self.files[path] = data
        if shared:
            self.shared.add(path)
        return FileRef(path, len(data), digest)


class MakeBackend(Protocol):
    """Makes backends; the test closes none of them."""

    def __call__(
        self,
        first: int = ...,
        last: int = ...,
        *,
        incremental: bool = ...,
        key_type: TypeInformation | None = ...,
        kind: str | None = ...,
    ) -> KeyedStateBackend: ...


@dataclass
class Workshop:
    """Everything that a test of backends needs, without fixtures."""

    folder: Path
    kind: str
    clock: ManualClock = field(default_factory=lambda: ManualClock(1_000_000))
    files: MemoryFiles = field(default_factory=MemoryFiles)
    made: list[KeyedStateBackend] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def backend(
        self,
        first: int = 0,
        last: int = GROUPS - 1,
        *,
        incremental: bool = False,
        key_type: TypeInformation | None = None,
        kind: str | None = None,
    ) -> KeyedStateBackend:
        backend = create_backend(
            kind or self.kind,
            BackendSettings(
                operator="counter",
                operator_id="ab" * 16,
                subtask=0,
                first_group=first,
                last_group=last,
                max_parallelism=GROUPS,
                clock=self.clock,
                folder=self.folder / f"backend-{len(self.made)}",
                key_type=key_type,
                incremental=incremental,
                memory_bytes=16 << 20,
                options=self.options,
            ),
        )
        self.made.append(backend)
        return backend

    def snapshot(self, backend: KeyedStateBackend, checkpoint: int = 1) -> KeyedSnapshot:
        """Freeze and write at once, and say that the checkpoint is complete."""
        frozen = backend.freeze(checkpoint)
        snapshot = frozen.write(self.files)
        frozen.discard()
        backend.checkpoint_completed(checkpoint)
        return snapshot

    def restored(
        self, snapshots: Sequence[KeyedSnapshot], *, owned: bool = True, **how: Any
    ) -> KeyedStateBackend:
        backend = self.backend(**how)
        backend.restore(snapshots, self.files, owned=owned)
        return backend

    def close(self) -> None:
        for backend in self.made:
            backend.close()


@pytest.fixture(params=BACKENDS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workshop]:
    """A workshop for each backend."""
    workshop = Workshop(tmp_path, request.param)
    yield workshop
    workshop.close()


@pytest.fixture
def backend(shop: Workshop) -> KeyedStateBackend:
    """An empty backend with all key groups."""
    return shop.backend()


ReadAll = Callable[[KeyedStateBackend, Any], dict[Any, Any]]


def read_all(backend: KeyedStateBackend, descriptor: Any, *, namespaced: bool = False) -> Any:
    """What every key sees of a state: a dict from the key, or (key, namespace), to plain values."""
    state: Any = backend.state(descriptor, namespaced=namespaced)
    found = {}
    for address in list(backend.keys(descriptor.name)):
        backend.key, backend.namespace = address if namespaced else (address, None)
        found[address] = seen(state)
    return found


def seen(state: Any) -> Any:
    """The current key's state as a plain value."""
    if hasattr(state, "items"):
        return dict(state.items())
    if hasattr(state, "add_all"):
        return list(state.get())
    return state.value() if hasattr(state, "value") else state.get()
