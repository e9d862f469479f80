"""Files of a checkpoint: where they go, how they are checked, what is known about them after an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverrun.storage.blobs import FileRef, InlineBlob
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.digests import digest_of
from riverrun.storage.local_copies import LocalCopies
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.storage import FileCorrupt, FileExists, FileMissing, StorageError
from riverrun.testing.faulty_storage import Fault, FaultyStorage

JOB = "memory://x/job"
BIG = b"0123456789" * 10


def writing(storage: MemoryStorage | FaultyStorage, checkpoint: int = 7) -> CheckpointFiles:
    return CheckpointFiles(storage, JOB, checkpoint, inline_limit=10)


def as_file(blob: object) -> FileRef:
    assert isinstance(blob, FileRef)
    return blob


def test_small_bytes_stay_in_the_reference() -> None:
    storage = MemoryStorage()
    files = writing(storage)

    blob = files.put(memoryview(b"0123456789"), shared=True)

    assert blob == InlineBlob(b"0123456789")
    assert SavedCheckpointFiles(storage).read(blob) == b"0123456789"
    assert (storage.list(JOB), files.written(), files.bytes_written) == ([], (), 10)


@pytest.mark.parametrize(("shared", "folder"), [(True, "shared"), (False, "chk-7")])
def test_more_bytes_become_a_file(tmp_path: Path, shared: bool, folder: str) -> None:
    storage = MemoryStorage()
    files = writing(storage)
    (tmp_path / "source").write_bytes(b"abc")

    put = as_file(files.put(BIG, shared=shared))
    sent = files.upload(tmp_path / "source", shared=shared)

    assert storage.list(JOB) == sorted(files.written()) == sorted([put.path, sent.path])
    assert {path.rpartition("/")[0] for path in files.written()} == {f"{JOB}/{folder}"}
    assert (put.size, put.digest) == (100, digest_of(BIG))
    assert (sent.size, sent.digest) == (3, digest_of(b"abc"))
    assert files.bytes_written == 103
    saved = SavedCheckpointFiles(storage)
    assert (saved.read(put), saved.read(sent)) == (BIG, b"abc")


def test_what_a_failed_snapshot_wrote_can_be_deleted_also_what_it_wrote_without_knowing() -> None:
    storage = FaultyStorage(MemoryStorage())
    files = writing(storage)
    files.put(BIG, shared=True)
    storage.plan = lambda _: Fault.ERROR_AFTER
    with pytest.raises(StorageError):
        files.put(BIG, shared=False)
    storage.plan = lambda _: Fault.NONE
    assert len(storage.list(JOB)) == len(files.written()) == 2

    files.discard()

    assert storage.list(JOB) == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (BIG[:-1], "expected 100 bytes, found 99; it was cut off"),
        (BIG[:-1] + b"x", "expected digest .*, found .*; it was changed or damaged"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, found: bytes, words: str) -> None:
    storage = MemoryStorage()
    ref = as_file(writing(storage).put(BIG, shared=False))
    storage.write(ref.path, found)
    saved = SavedCheckpointFiles(storage)

    with pytest.raises(FileCorrupt, match=f"{ref.path}.*{words}"):
        saved.read(ref)
    with pytest.raises(FileCorrupt, match=f"{ref.path}.*{words}"):
        saved.fetch(ref, tmp_path / "target")

    assert not (tmp_path / "target").exists()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    saved = SavedCheckpointFiles(MemoryStorage())

    with pytest.raises(FileMissing, match="'nowhere'"):
        saved.read(FileRef("nowhere", 1, ""))
    with pytest.raises(FileMissing, match="'nowhere'"):
        saved.fetch(FileRef("nowhere", 1, ""), tmp_path / "target")


def test_a_fetch_makes_a_local_file_and_overwrites_none(tmp_path: Path) -> None:
    storage = MemoryStorage()
    saved = SavedCheckpointFiles(storage)
    ref = writing(storage).put(BIG, shared=True)

    saved.fetch(ref, tmp_path / "deep" / "a")
    saved.fetch(InlineBlob(b"inline"), tmp_path / "deep" / "b")

    assert (tmp_path / "deep" / "a").read_bytes() == BIG
    assert (tmp_path / "deep" / "b").read_bytes() == b"inline"
    for blob in (ref, InlineBlob(b"inline")):
        with pytest.raises(FileExists, match="deep/a"):
            saved.fetch(blob, tmp_path / "deep" / "a")


def test_copies_on_the_machine_are_read_instead_of_the_store(tmp_path: Path) -> None:
    storage = FaultyStorage(MemoryStorage())
    copies = LocalCopies(tmp_path / "copies", "job", "map-0")
    files = CheckpointFiles(storage, JOB, 7, inline_limit=0, copies=copies)
    (tmp_path / "source").write_bytes(b"abc")
    refs = [files.put(BIG, shared=True), files.upload(tmp_path / "source", shared=False)]
    storage.plan = lambda _: Fault.ERROR_BEFORE
    saved = SavedCheckpointFiles(storage, LocalCopies(tmp_path / "copies", "job", "map-0"))

    assert [saved.read(ref) for ref in refs] == [BIG, b"abc"]
    saved.fetch(refs[1], tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"abc"


def test_a_damaged_copy_is_passed_over(tmp_path: Path) -> None:
    storage = MemoryStorage()
    copies = LocalCopies(tmp_path / "copies", "job", "map-0")
    ref = CheckpointFiles(storage, JOB, 7, inline_limit=0, copies=copies).put(BIG, shared=True)
    [copy] = (tmp_path / "copies" / "job" / "map-0").iterdir()
    copy.write_bytes(BIG[:-1] + b"x")
    saved = SavedCheckpointFiles(storage, copies)

    assert saved.read(ref) == BIG
    saved.fetch(ref, tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == BIG
    assert (copies.hits, copies.misses) == (0, 2)
