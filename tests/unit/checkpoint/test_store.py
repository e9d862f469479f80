"""Checkpoints in the store: written last, found again, passed over when damaged, one owner at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from riverrun.checkpoint.owner import JobTakenOver
from riverrun.checkpoint.store import CheckpointStore, NoUsableCheckpoint, load_checkpoint
from riverrun.core.errors import ConfigError
from riverrun.storage.blobs import FileRef
from riverrun.storage.digests import digest_of
from riverrun.storage.local import LocalStorage
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.storage import FileCorrupt, FileExists, FileMissing, StorageError
from riverrun.storage.unfinished import unfinished_name
from riverrun.testing.faulty_storage import Fault, FaultyStorage, StorageOperation
from tests.unit.checkpoint.stored_checkpoints import JOB, checkpoint

ROOT = "memory://here/root"
FOLDER = f"{ROOT}/{JOB}"


def store_in(storage: MemoryStorage | FaultyStorage) -> CheckpointStore:
    return CheckpointStore(storage, ROOT, JOB)


def file(storage: MemoryStorage, name: str) -> FileRef:
    path = f"{FOLDER}/{name}"
    storage.write(path, name.encode())
    return FileRef(path, len(name), digest_of(name.encode()))


def save(store: CheckpointStore, storage: MemoryStorage, number: int, *names: str) -> str:
    location, _ = store.write(checkpoint(number, [file(storage, name) for name in names]))
    return location


def on(kind: str, fault: Fault, name: str = "") -> Callable[[StorageOperation], Fault]:
    return lambda each: fault if each.kind == kind and name in each.location else Fault.NONE


def test_a_checkpoint_is_written_and_loaded() -> None:
    storage = MemoryStorage()
    store = store_in(storage)
    metadata = checkpoint(7, [file(storage, "shared/a")])

    location, size = store.write(metadata)

    assert location == f"{FOLDER}/chk-7/_metadata"
    assert size == storage.sizes(FOLDER)[location]
    for place in (location, f"{FOLDER}/chk-7", f"{FOLDER}/chk-7/"):
        found = store.load(place)
        assert (found.metadata, found.location, found.size) == (metadata, location, size)
    assert store.latest() == found


def test_a_number_is_used_once() -> None:
    storage = MemoryStorage()
    save(store_in(storage), storage, 7)

    with pytest.raises(FileExists, match="chk-7/_metadata"):
        store_in(storage).write(checkpoint(7))


def test_the_newest_comes_first_and_what_is_not_complete_does_not_count() -> None:
    storage = MemoryStorage()
    store = store_in(storage)
    for number in (9, 10, 2):
        save(store, storage, number)
    file(storage, "chk-11/never-completed")
    file(storage, "chk-12/deeper/_metadata")
    storage.write(f"{FOLDER}/chk-13/_metadata", b"damaged")

    assert [each.id for each in store.list()] == [10, 9, 2]
    latest = store.latest()
    assert latest is not None
    assert latest.id == 10
    assert store.next_checkpoint() == 14


def test_an_empty_store_has_nothing_to_start_from() -> None:
    store = store_in(MemoryStorage())

    assert (store.latest(), store.list(), store.leftovers()) == (None, (), ())
    assert store.load_latest_usable().checkpoint is None
    assert store.next_checkpoint() == 1


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ((), "there is no checkpoint or savepoint; was it deleted"),
        (("chk-7/part",), "it has no '_metadata' file, so it is no checkpoint or savepoint"),
        (
            ("chk-7/chk-1/_metadata",),
            r"it is neither a checkpoint nor a savepoint but holds some; give one of \['.*/chk-7/chk-1'\]",
        ),
    ],
)
def test_what_is_no_checkpoint_is_refused_with_the_way_out(
    prepare: tuple[str, ...], words: str
) -> None:
    storage = MemoryStorage()
    for name in prepare:
        file(storage, name)

    with pytest.raises(FileMissing, match=f"'{FOLDER}/chk-7': {words}"):
        load_checkpoint(storage, f"{FOLDER}/chk-7")


def test_a_job_whose_folder_was_moved_goes_on(tmp_path: Path) -> None:
    storage = LocalStorage()
    store = CheckpointStore(storage, f"{tmp_path}/old", JOB)
    path = f"{store.folder}/shared/a"
    storage.write(path, b"x")
    store.write(checkpoint(1, [FileRef(path, 1, digest_of(b"x"))]))
    (tmp_path / "old").rename(tmp_path / "new")

    moved = CheckpointStore(storage, f"file://{tmp_path}/new/", JOB)

    usable = moved.load_latest_usable()
    assert usable.checkpoint is not None
    assert moved.load(f"{tmp_path}/new/{JOB}/chk-1") == usable.checkpoint
    assert moved.leftovers() == ()


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected an absolute path"):
        CheckpointStore(MemoryStorage(), "checkpoints", JOB)


# files that are damaged


def damage_metadata(storage: MemoryStorage) -> None:
    location = f"{FOLDER}/chk-3/_metadata"
    storage.write(location, storage.read(location)[:-10])


def newer_metadata(storage: MemoryStorage) -> None:
    storage.write(f"{FOLDER}/chk-3/_metadata", b'{"riverrun":"checkpoint","version":9}\n')


def delete_file(storage: MemoryStorage) -> None:
    storage.delete([f"{FOLDER}/shared/three"])


def cut_file(storage: MemoryStorage) -> None:
    storage.write(f"{FOLDER}/shared/three", b"thr")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damage_metadata, "chk-3/_metadata.*cut off"),
        (newer_metadata, "chk-3/_metadata.*version 9"),
        (delete_file, "shared/three.*not there.*checkpoint 3"),
        (cut_file, "shared/three.*expected 12 bytes, found 3.*checkpoint 3"),
    ],
)
def test_an_older_checkpoint_stands_in_for_a_damaged_one(
    damage: Callable[[MemoryStorage], None], reason: str
) -> None:
    storage = MemoryStorage()
    store = store_in(storage)
    for number, name in ((1, "one"), (2, "two"), (3, "three")):
        save(store, storage, number, f"shared/{name}", "shared/base")
    damage(storage)

    usable = store.load_latest_usable()

    assert usable.checkpoint is not None
    assert usable.checkpoint.id == 2
    [skipped] = usable.skipped
    assert skipped.location == f"{FOLDER}/chk-3/_metadata"
    assert re.search(reason, skipped.reason)


def test_when_all_are_damaged_the_job_does_not_begin_with_nothing() -> None:
    storage = MemoryStorage()
    store = store_in(storage)
    for number in (2, 3):
        save(store, storage, number, "shared/three")
    delete_file(storage)

    with pytest.raises(NoUsableCheckpoint, match="none of the 2 can be used") as caught:
        store.load_latest_usable()

    assert len(caught.value.skipped) == 2


def test_a_store_that_does_not_answer_is_not_taken_for_a_damaged_checkpoint() -> None:
    inner = MemoryStorage()
    save(store_in(inner), inner, 1)
    storage = FaultyStorage(inner, on("read", Fault.ERROR_BEFORE))

    with pytest.raises(StorageError, match="wants it to fail"):
        store_in(storage).load_latest_usable()


def test_a_checkpoint_can_be_verified_by_itself() -> None:
    storage = MemoryStorage()
    store = store_in(storage)
    good = file(storage, "shared/a")
    store.verify(checkpoint(1, [good, good]))

    with pytest.raises(FileMissing, match="nowhere/b"):
        store.verify(checkpoint(1, [good, FileRef("memory://here/nowhere/b", 1, "")]))
    with pytest.raises(FileCorrupt, match="shared/a"):
        store.verify(checkpoint(1, [FileRef(good.path, 99, "")]))


# who may write


def test_every_claim_has_a_higher_epoch_and_leaves_one_file() -> None:
    storage = MemoryStorage()

    assert [store_in(storage).claim() for _ in range(3)] == [1, 2, 3]
    assert store_in(storage).claim(10) == 10
    assert storage.list(f"{FOLDER}/owner") == [f"{FOLDER}/owner/10"]
    with pytest.raises(JobTakenOver, match="epoch 10"):
        store_in(storage).claim(10)


def test_an_owner_that_was_replaced_can_neither_write_nor_delete() -> None:
    storage = MemoryStorage()
    zombie, owner = store_in(storage), store_in(storage)
    zombie.claim()
    save(zombie, storage, 1, "shared/a")
    owner.claim()

    for act in (
        zombie.check_owner,
        lambda: zombie.write(checkpoint(2)),
        lambda: zombie.delete([f"{FOLDER}/shared/a"]),
        zombie.delete_all,
    ):
        with pytest.raises(JobTakenOver, match=r"has epoch 1 and another one .* epoch 2"):
            act()

    assert [each.id for each in owner.list()] == [1]
    assert storage.exists(f"{FOLDER}/shared/a")
    owner.check_owner()


def test_an_owner_that_is_replaced_while_it_writes_does_not_rely_on_the_checkpoint() -> None:
    inner = MemoryStorage()
    owner = store_in(inner)

    def take_over(_: StorageOperation) -> None:
        owner.claim()

    storage = FaultyStorage(inner, slow=take_over)
    zombie = store_in(storage)
    zombie.claim()
    storage.plan = on("write", Fault.SLOW)

    with pytest.raises(JobTakenOver):
        zombie.write(checkpoint(5))


def test_the_checkpoint_of_an_earlier_owner_is_never_newer_than_one_of_a_later() -> None:
    storage = MemoryStorage()
    zombie, owner = store_in(storage), store_in(storage)
    zombie.claim()
    save(zombie, storage, 1)
    owner.claim()
    save(owner, storage, 2)
    zombie._owner.check = lambda: None  # type: ignore[method-assign]  # (it looked just before)
    save(zombie, storage, 9)

    assert [each.id for each in store_in(storage).list()] == [2, 9, 1]


def test_two_who_claim_at_once_get_different_epochs() -> None:
    inner = MemoryStorage()
    second = store_in(inner)
    taken: list[int] = []

    def take_over(_: StorageOperation) -> None:
        if not taken:
            taken.append(second.claim())

    first = store_in(FaultyStorage(inner, on("write", Fault.SLOW), slow=take_over))

    assert first.claim() == 2
    assert taken == [1]
    with pytest.raises(JobTakenOver):
        second.check_owner()


def test_one_whose_claim_comes_too_late_takes_the_next_epoch() -> None:
    inner = MemoryStorage()
    others = [store_in(inner) for _ in range(2)]
    taken: list[int] = []

    def take_over(_: StorageOperation) -> None:
        while others:
            taken.append(others.pop().claim())

    first = store_in(FaultyStorage(inner, on("write", Fault.SLOW), slow=take_over))

    assert first.claim() == 3
    assert taken == [1, 2]


def test_what_crashed_writers_left_is_swept_with_the_claim(tmp_path: Path) -> None:
    store = CheckpointStore(LocalStorage(str(tmp_path)), str(tmp_path), JOB)
    half = Path(unfinished_name(f"{store.folder}/chk-1/_metadata"))
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    os.utime(half, (0, 0))

    store.claim()

    assert not half.exists()


# errors of the store


@pytest.mark.parametrize("fault", [Fault.ERROR_BEFORE, Fault.PARTIAL])
def test_metadata_that_could_not_be_written_makes_no_checkpoint(fault: Fault) -> None:
    inner = MemoryStorage()
    store = store_in(FaultyStorage(inner, on("write", fault)))

    with pytest.raises(StorageError, match="wants it to fail"):
        store.write(checkpoint(1))

    assert store_in(inner).list() == ()


def test_metadata_that_was_written_although_the_store_failed_makes_one() -> None:
    inner = MemoryStorage()
    store = store_in(FaultyStorage(inner, on("write", Fault.ERROR_AFTER)))

    location, size = store.write(checkpoint(1))

    assert inner.sizes(FOLDER) == {location: size}


def test_when_nobody_knows_whether_metadata_was_written_it_is_an_error() -> None:
    inner = MemoryStorage()

    def plan(operation: StorageOperation) -> Fault:
        return Fault.ERROR_BEFORE if operation.kind == "read" else Fault.ERROR_AFTER

    storage = FaultyStorage(inner, plan)
    with pytest.raises(StorageError, match=r"write '.*_metadata'"):
        store_in(storage).write(checkpoint(1))


# cleaning up


def test_leftovers_are_the_files_that_no_complete_checkpoint_needs() -> None:
    storage = MemoryStorage()
    store = store_in(storage)
    store.claim()
    save(store, storage, 1, "shared/a", "chk-1/own")
    save(store, storage, 2, "shared/a", "shared/b")
    for name in ("shared/lost", "chk-1/lost", "chk-3/half"):
        file(storage, name)

    assert store.leftovers() == tuple(
        f"{FOLDER}/{name}" for name in ("chk-1/lost", "chk-3/half", "shared/lost")
    )


def test_files_that_unreadable_metadata_may_need_are_no_leftovers() -> None:
    storage = MemoryStorage()
    store = store_in(storage)
    save(store, storage, 3, "shared/three", "chk-3/own")
    for name in ("shared/other", "chk-2/half"):
        file(storage, name)
    newer_metadata(storage)

    assert store.leftovers() == (f"{FOLDER}/chk-2/half",)


def test_metadata_is_deleted_before_what_it_refers_to() -> None:
    inner = MemoryStorage()
    storage = FaultyStorage(inner)
    store = store_in(storage)
    location = save(store, inner, 1, "shared/a")
    storage.plan = on("delete", Fault.ERROR_BEFORE, "shared")

    with pytest.raises(StorageError):
        store.delete([f"{FOLDER}/shared/a", location])

    assert inner.list(FOLDER) == [f"{FOLDER}/shared/a"]


def test_emptied_folders_of_checkpoints_go_once_a_later_one_is_complete() -> None:
    inner = MemoryStorage()
    storage = FaultyStorage(inner)
    store = store_in(storage)
    first = save(store, inner, 1, "chk-1/a")
    file(inner, "chk-5/aborted")

    def dropped() -> list[str]:
        return [each.location for each in storage.operations if each.kind == "delete_folder"]

    store.delete([f"{FOLDER}/chk-5/aborted"])
    assert dropped() == []
    save(store, inner, 3)
    store.delete([first, f"{FOLDER}/chk-1/a"])
    assert dropped() == [f"{FOLDER}/chk-1"]
    save(store, inner, 6)
    file(inner, "chk-5/late")
    store.delete([f"{FOLDER}/shared/x"])
    assert inner.exists(f"{FOLDER}/chk-5/late")
    assert dropped() == [f"{FOLDER}/chk-1"]


def test_a_job_that_is_over_leaves_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    store = CheckpointStore(LocalStorage(str(root)), str(root), JOB)
    store.claim()
    store.write(checkpoint(1))

    store.delete_all()

    assert list(root.iterdir()) == []
