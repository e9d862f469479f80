"""Savepoints in a store: self-contained, movable, claimed once, deleted with nothing else."""

from __future__ import annotations

import msgspec
import pytest

from riverrun.checkpoint.layout import folder_of, savepoint_folder
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.savepoint_store import (
    SavepointRefused,
    claim_checkpoint,
    delete_elsewhere,
    dispose_savepoint,
    new_savepoint_folder,
    owner_of,
    write_savepoint,
)
from riverrun.checkpoint.store import CheckpointStore, load_checkpoint, verify_checkpoint
from riverrun.core.errors import ConfigError
from riverrun.storage.blobs import FileRef
from riverrun.storage.digests import digest_of
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.storage import FileExists, FileMissing, StorageError
from riverrun.testing.faulty_storage import Fault, FaultyStorage, StorageOperation
from tests.unit.checkpoint.stored_checkpoints import JOB, checkpoint

FOLDER = "memory://here/savepoints/savepoint-012345-0000000000ff"
PLACE = f"{FOLDER}/_metadata"
STATE = "state/op/counts-0.parquet"
OTHER = "f" * 32


def savepoint(*files: FileRef) -> CheckpointMetadata:
    return msgspec.structs.replace(checkpoint(7, files), savepoint=True)


def file(storage: MemoryStorage, location: str, data: bytes = b"content") -> FileRef:
    storage.write(location, data)
    return FileRef(location, len(data), digest_of(data))


def written(storage: MemoryStorage, *more: FileRef) -> CheckpointMetadata:
    """A savepoint with one file of its own, and ``more``."""
    own = msgspec.structs.replace(file(storage, f"{FOLDER}/{STATE}"), path=STATE)
    metadata = savepoint(own, *more)
    assert (
        write_savepoint(storage, FOLDER, metadata, lambda ref: storage.read(ref.path))[0] == PLACE
    )
    return metadata


def test_a_folder_is_named_after_the_job_and_chance() -> None:
    first, second = (new_savepoint_folder("/savepoints", JOB) for _ in range(2))

    assert first != second
    assert savepoint_folder("/savepoints", JOB, int(first[-12:], 16)) == first
    with pytest.raises(ConfigError, match="expected an absolute path"):
        new_savepoint_folder("savepoints", JOB)


def test_files_are_found_where_the_savepoint_is() -> None:
    storage = MemoryStorage()
    written(storage)
    moved = "memory://there/moved"
    for location in storage.list(FOLDER):
        storage.write(location.replace(FOLDER, moved), storage.read(location))
        storage.delete([location])

    found = load_checkpoint(storage, moved)

    assert found.metadata.savepoint
    assert [each.path for each in files_of(found.metadata)] == [f"{moved}/{STATE}"]
    verify_checkpoint(storage, found.metadata)


def test_files_that_are_elsewhere_are_copied() -> None:
    storage = MemoryStorage()
    theirs = file(storage, "memory://here/root/job/chk-6/union", b"of a finished subtask")
    written(storage, theirs, theirs)
    storage.delete([theirs.path])

    found = load_checkpoint(storage, PLACE)

    verify_checkpoint(storage, found.metadata)
    own, copy, again = [each.path for each in files_of(found.metadata)]
    assert all(each.startswith(f"{FOLDER}/") for each in (own, copy))
    assert copy == again
    assert storage.read(copy) == b"of a finished subtask"


def test_a_savepoint_is_never_written_over_another() -> None:
    storage = MemoryStorage()
    written(storage)

    with pytest.raises(FileExists):
        write_savepoint(storage, FOLDER, savepoint(), lambda _: b"")


def test_a_store_that_writes_and_reports_an_error_has_written() -> None:
    def fail(operation: StorageOperation) -> Fault:
        return Fault.ERROR_AFTER if operation.kind == "write" else Fault.NONE

    storage = FaultyStorage(MemoryStorage(), fail)

    assert write_savepoint(storage, FOLDER, savepoint(), lambda _: b"")[0] == PLACE


def test_a_store_that_does_not_write_has_no_savepoint() -> None:
    def fail(operation: StorageOperation) -> Fault:
        return Fault.ERROR_BEFORE if operation.kind == "write" else Fault.NONE

    with pytest.raises(StorageError):
        write_savepoint(FaultyStorage(MemoryStorage(), fail), FOLDER, savepoint(), lambda _: b"")


# whose it is


def test_only_one_job_claims_a_savepoint_but_that_one_again_and_again() -> None:
    storage = MemoryStorage()
    written(storage)
    assert owner_of(storage, PLACE) is None

    claim_checkpoint(storage, PLACE, JOB)
    claim_checkpoint(storage, PLACE, JOB)

    assert owner_of(storage, PLACE) == JOB
    with pytest.raises(SavepointRefused) as refused:
        claim_checkpoint(storage, PLACE, OTHER)
    assert str(refused.value) == (
        f"location {FOLDER!r}: job {OTHER!r} wants to claim it, but job {JOB!r} did so before, and will "
        f"delete it; use claim mode NO_CLAIM, or delete the file {FOLDER + '/_claimed'!r} if that job is "
        f"over"
    )


def test_the_claim_goes_with_the_savepoint() -> None:
    storage = MemoryStorage()
    written(storage)
    claim_checkpoint(storage, PLACE, JOB)
    found = load_checkpoint(storage, PLACE)

    delete_elsewhere(storage, [PLACE, *(each.path for each in files_of(found.metadata))])

    assert storage.list("memory://here") == []


# the end of it


def test_disposing_deletes_its_own_files_and_no_others() -> None:
    storage = MemoryStorage()
    written(storage)
    storage.write(f"{FOLDER}/notes", b"mine")
    storage.write("memory://here/savepoints/other", b"mine")

    assert dispose_savepoint(storage, FOLDER).location == PLACE

    assert storage.list("memory://here") == ["memory://here/savepoints/other", f"{FOLDER}/notes"]


def test_a_claimed_savepoint_is_left_to_its_owner() -> None:
    storage = MemoryStorage()
    written(storage)
    claim_checkpoint(storage, PLACE, JOB)

    with pytest.raises(SavepointRefused, match=f"job '{JOB}' claimed it and deletes it by itself"):
        dispose_savepoint(storage, FOLDER)


def test_a_checkpoint_is_left_to_its_job() -> None:
    storage = MemoryStorage()
    store = CheckpointStore(storage, "memory://here/root", JOB)
    location, _ = store.write(checkpoint(7))

    with pytest.raises(SavepointRefused, match=r"is checkpoint 7 of job .* expected a savepoint"):
        dispose_savepoint(storage, folder_of(location))


def test_where_there_is_none_nothing_is_disposed_of() -> None:
    with pytest.raises(FileMissing, match="there is no checkpoint or savepoint"):
        dispose_savepoint(MemoryStorage(), FOLDER)
