"""A job that stopped with a savepoint is not resumed from an older checkpoint."""

from __future__ import annotations

import pytest

from riverrun.checkpoint.owner import JobTakenOver
from riverrun.checkpoint.stop_mark import MARK, JobStopped
from riverrun.checkpoint.store import CheckpointStore
from riverrun.storage.memory import MemoryStorage
from tests.unit.checkpoint.stored_checkpoints import JOB, checkpoint

SAVEPOINT = "memory://here/savepoints/savepoint-1"


def store(storage: MemoryStorage) -> CheckpointStore:
    """The store of the next JobMaster."""
    made = CheckpointStore(storage, "memory://here/root", JOB)
    made.claim()
    return made


def running(storage: MemoryStorage) -> CheckpointStore:
    """The store of the next JobMaster, which runs the job."""
    made = store(storage)
    made.begin()
    return made


def test_whoever_resumes_the_job_is_told_of_the_savepoint() -> None:
    storage = MemoryStorage()
    first = store(storage)
    first.write(checkpoint(3))
    first.mark_stopped(SAVEPOINT, 4)

    with pytest.raises(JobStopped, match=f"{SAVEPOINT}.*start from the savepoint") as stopped:
        store(storage).check_not_stopped()
    assert stopped.value.savepoint == SAVEPOINT
    assert store(storage).leftovers() == ()


def test_an_owner_who_died_before_it_looked_does_not_hide_the_mark() -> None:
    storage = MemoryStorage()
    running(storage).mark_stopped(SAVEPOINT, 4)
    store(storage)

    with pytest.raises(JobStopped):
        store(storage).check_not_stopped()


def test_a_mark_counts_no_more_when_the_job_went_on() -> None:
    storage = MemoryStorage()
    first = store(storage)
    first.mark_stopped(SAVEPOINT, 4)
    first.write(checkpoint(5))

    store(storage).check_not_stopped()


def test_a_mark_counts_no_more_when_its_savepoint_was_given_up() -> None:
    storage = MemoryStorage()
    first = store(storage)
    first.mark_stopped(SAVEPOINT, 4)
    first.unmark_stopped("another")
    first.unmark_stopped(SAVEPOINT)
    first.unmark_stopped(SAVEPOINT)

    store(storage).check_not_stopped()


def test_the_mark_of_an_owner_who_was_replaced_before_counts_for_nobody() -> None:
    storage = MemoryStorage()
    first = running(storage)
    running(storage)
    with pytest.raises(JobTakenOver):
        first.mark_stopped(SAVEPOINT, 4)

    store(storage).check_not_stopped()


def test_a_mark_that_was_written_in_part_was_never_acted_upon() -> None:
    storage = MemoryStorage()
    first = store(storage)
    first.mark_stopped(SAVEPOINT, 4)
    mark = f"{first.folder}/{MARK}"
    storage.write(mark, storage.read(mark)[:10])

    store(storage).check_not_stopped()
    store(storage).unmark_stopped(SAVEPOINT)
