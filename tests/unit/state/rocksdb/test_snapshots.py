"""What a checkpoint uploads, and what is left on the local disk."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.rocksdb.frozen import FrozenRocksDB
from riverrun.storage.storage import StorageError
from tests.unit.state.rocksdb.conftest import Bench

VALUE = ValueStateDescriptor("value")


def fill(backend: RocksDBBackend, keys: range, value: Any = 0) -> None:
    state: Any = backend.state(VALUE)
    for key in keys:
        backend.key = key
        state.update(value)


def tables(snapshot: KeyedSnapshot) -> set[str]:
    return {part.name for part in snapshot.parts if part.name.endswith(".sst")}


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_completed_checkpoint_spares_the_next_one_its_files(bench: Bench) -> None:
    backend = bench.backend()
    fill(backend, range(100))
    first = bench.snapshot(backend, 1)
    bench.shelf.uploads.clear()

    fill(backend, range(5), value=1)
    second = bench.snapshot(backend, 2)

    assert tables(first) < tables(second)
    assert set(bench.shelf.uploads) == tables(second) - tables(first)
    blobs = {part.name: part.blob for part in first.parts if part.shared}
    assert blobs.items() <= {part.name: part.blob for part in second.parts}.items()


def test_files_of_an_aborted_checkpoint_are_uploaded_again(bench: Bench) -> None:
    backend = bench.backend()
    fill(backend, range(100))
    frozen = backend.freeze(1)
    frozen.write(bench.shelf)
    backend.checkpoint_aborted(1)
    bench.shelf.uploads.clear()

    second = bench.snapshot(backend, 2)

    assert set(bench.shelf.uploads) == tables(second)


def test_files_of_a_checkpoint_still_under_way_are_uploaded_again(bench: Bench) -> None:
    backend = bench.backend()
    fill(backend, range(100))
    backend.freeze(1).write(bench.shelf)
    bench.shelf.uploads.clear()

    second = backend.freeze(2).write(bench.shelf)

    assert set(bench.shelf.uploads) == tables(second)


def test_a_checkpoint_that_completes_after_a_later_one_changes_nothing(bench: Bench) -> None:
    backend = bench.backend()
    fill(backend, range(100))
    first = backend.freeze(1)
    first.write(bench.shelf)
    second = bench.snapshot(backend, 2)
    backend.checkpoint_completed(1)

    third = bench.snapshot(backend, 3)

    blobs = {part.name: part.blob for part in second.parts if part.shared}
    assert {part.name: part.blob for part in third.parts if part.shared} == blobs


def test_a_write_that_ends_after_its_abort_leaves_nothing_to_rely_on(bench: Bench) -> None:
    backend = bench.backend()
    fill(backend, range(100))
    frozen = backend.freeze(1)
    backend.checkpoint_aborted(1)
    frozen.write(bench.shelf)
    backend.checkpoint_completed(1)
    bench.shelf.uploads.clear()

    second = bench.snapshot(backend, 2)

    assert set(bench.shelf.uploads) == tables(second)


def test_without_increments_every_checkpoint_has_files_of_its_own(bench: Bench) -> None:
    backend = bench.backend(incremental=False)
    fill(backend, range(100))
    first = bench.snapshot(backend, 1)
    second = bench.snapshot(backend, 2)

    assert not any(part.shared for part in (*first.parts, *second.parts))
    assert tables(first) == tables(second)
    assert not {part.blob for part in first.parts} & {part.blob for part in second.parts}


def test_the_next_checkpoint_after_a_restore_refers_to_owned_files_only(bench: Bench) -> None:
    backend = bench.backend()
    fill(backend, range(100))
    first = bench.snapshot(backend, 1)

    bench.shelf.uploads.clear()
    owned = bench.snapshot(bench.restored(first), 2)
    assert not bench.shelf.uploads
    assert tables(owned) == tables(first)

    foreign = bench.snapshot(bench.restored(first, owned=False), 2)
    assert set(bench.shelf.uploads) == tables(foreign)


def test_one_per_cent_of_changes_uploads_a_few_per_cent_of_the_state(bench: Bench) -> None:
    backend = bench.backend()
    noise = random.Random(7)
    state: Any = backend.state(VALUE)
    for key in range(20_000):
        backend.key = key
        state.update(noise.randbytes(50))
    full = bench.snapshot(backend, 1).full_bytes

    sizes = []
    for checkpoint in range(2, 22):
        before = set(bench.shelf.files)
        for _ in range(200):
            backend.key = noise.randrange(20_000)
            state.update(noise.randbytes(50))
        bench.snapshot(backend, checkpoint)
        sizes.append(sum(len(bench.shelf.files[path]) for path in set(bench.shelf.files) - before))

    # RocksDB merges what it wrote at first in the background, when it finds the time: once, not each time.
    assert median(sizes) < full * 0.03
    assert sum(sizes) < full * 2


class History:
    """Random uses and checkpoints of one backend."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.backend = bench.backend(cache_bytes=20_000)
        self.noise = random.Random(1)
        self.waiting: dict[int, FrozenRocksDB] = {}
        self.checkpoint = 0

    def step(self) -> None:
        steps = [self.use, self.use, self.use, self.freeze]
        if self.waiting:
            steps += [self.write, self.complete, self.abort, self.discard]
        self.noise.choice(steps)()

    def use(self) -> None:
        entries: Any = self.backend.state(MapStateDescriptor("map"))
        elements: Any = self.backend.state(ListStateDescriptor("list"))
        for _ in range(20):
            self.backend.key = self.noise.randrange(50)
            entries.put(self.noise.randrange(20), self.noise.randbytes(40))
            elements.add(1)
            if self.noise.random() < 0.1:
                entries.clear()
                elements.clear()

    def freeze(self) -> None:
        self.checkpoint += 1
        self.waiting[self.checkpoint] = self.backend.freeze(self.checkpoint)

    def write(self) -> None:
        self.waiting.pop(self._one()).write(self.bench.shelf)

    def complete(self) -> None:
        self.backend.checkpoint_completed(self._one())

    def abort(self) -> None:
        self.backend.checkpoint_aborted(self._one())

    def discard(self) -> None:
        frozen = self.waiting.pop(self._one())
        frozen.discard()
        frozen.discard()

    def _one(self) -> int:
        return self.noise.choice(list(self.waiting))


def test_nothing_is_left_on_disk_after_a_long_random_history(bench: Bench) -> None:
    history = History(bench)
    history.use()
    for _ in range(400):
        history.step()
    while history.waiting:
        history.discard()

    folder = history.backend._settings.folder
    assert {path.split("/")[0] for path in files_below(folder)} == {"db"}
    assert not list((folder / "snapshots").iterdir())
    there = {path.name for path in (folder / "db").glob("*.sst")}
    used = {file["name"].strip("/") for file in history.backend._store.open()._db.live_files()}
    assert len(there - used) <= 8, "only what a compaction replaced just now"

    history.backend.close()
    assert not folder.exists()


def test_a_backend_that_holds_nothing_writes_nothing(bench: Bench) -> None:
    backend = bench.backend()
    backend.state(VALUE)

    snapshot = bench.snapshot(backend)

    assert snapshot.parts == ()
    assert [meta.name for meta in snapshot.states] == ["value"]
    assert not backend._settings.folder.exists()
    restored = bench.restored(snapshot)
    assert list(restored.keys("value")) == []


def test_a_snapshot_whose_links_are_gone_fails_with_a_storage_error(bench: Bench) -> None:
    backend = bench.backend()
    fill(backend, range(10))
    frozen = backend.freeze(3)
    frozen.discard()

    with pytest.raises(StorageError, match="the snapshot of checkpoint 3 is gone"):
        frozen.write(bench.shelf)
