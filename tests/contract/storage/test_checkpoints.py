"""The checkpoints of a job in every kind of store."""

from __future__ import annotations

from contextlib import suppress

from pyarrow import fs as arrow_fs

from riverrun.checkpoint.owner import JobTakenOver
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.store import CheckpointStore
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.open import open_storage
from riverrun.storage.storage import StorageError
from tests.contract.storage.conftest import Place, S3Server
from tests.contract.storage.test_storage import together
from tests.unit.checkpoint.stored_checkpoints import JOB, checkpoint


def take(store: CheckpointStore, place: Place, number: int) -> None:
    files = CheckpointFiles(place.storage, store.folder, number, inline_limit=10)
    store.write(checkpoint(number, [files.put(b"%d" % number * 50, shared=n > 0) for n in (0, 1)]))


def test_a_job_takes_checkpoints_drops_old_ones_and_is_taken_over(place: Place) -> None:
    store = CheckpointStore(place.storage, place.root, JOB)
    store.claim()
    for number in (1, 2, 3):
        take(store, place, number)
    for old in store.list()[1:]:
        store.delete([*(file.path for file in files_of(old.metadata)), old.location])
    CheckpointFiles(place.storage, store.folder, 4, inline_limit=1).put(b"lost", shared=True)

    following = CheckpointStore(place.storage, place.root, JOB)
    assert following.claim() == 2
    usable = following.load_latest_usable().checkpoint
    following.delete(following.leftovers())

    assert usable is not None
    assert usable.id == 3
    saved = SavedCheckpointFiles(place.storage)
    assert {saved.read(file) for file in files_of(usable.metadata)} == {b"3" * 50}
    assert place.storage.list(place.root) == sorted(
        [usable.location, f"{store.folder}/owner/2", *(f.path for f in files_of(usable.metadata))]
    )
    following.delete_all()
    assert place.storage.list(place.root) == []


def test_of_those_who_claim_a_job_at_once_the_last_one_has_it(place: Place) -> None:
    stores = [CheckpointStore(place.storage, place.root, JOB) for _ in range(4)]

    epochs = together(4, lambda n: _claimed(stores[n]))

    assert len(set(epochs)) == 4
    for store, epoch in zip(stores, epochs, strict=True):
        if epoch == max(epochs):
            store.check_owner()
        else:
            assert isinstance(_refusal(store), JobTakenOver)


def _claimed(store: CheckpointStore) -> int:
    """Claim; again when a store that renames was caught in the middle of another's renaming."""
    for _ in range(5):
        with suppress(StorageError):
            return store.claim()
    return store.claim()


def _refusal(store: CheckpointStore) -> JobTakenOver | None:
    try:
        store.check_owner()
    except JobTakenOver as error:
        return error
    return None


def test_dropped_checkpoints_leave_no_empty_objects(shared_s3: S3Server) -> None:
    root = f"{shared_s3.root}/many"
    place = Place(open_storage(root, shared_s3.config()), root)
    store = CheckpointStore(place.storage, place.root, JOB)
    for number in range(1, 6):
        take(store, place, number)
        for old in store.list()[1:]:
            store.delete([*(file.path for file in files_of(old.metadata)), old.location])

    everything = shared_s3.files().get_file_info(
        arrow_fs.FileSelector(root.removeprefix("s3://"), recursive=True)
    )
    folders = {info.base_name for info in everything if info.type == arrow_fs.FileType.Directory}
    assert folders == {JOB, "chk-5", "shared"}
