"""Jobs outlive their leaders, and a deposed leader changes nothing, whenever it wakes up."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.cluster.ha.job_store import JobStore, NotLeading
from riverrun.cluster.ha.stored_jobs import Artifact, Recovered, StoredJob
from riverrun.core.errors import ProgramError
from riverrun.core.lifecycle import JobStatus
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.storage import FileCorrupt, StorageError

ROOT = "memory://ha/cluster"


class Interrupted(MemoryStorage):
    """Lets something else happen right before or after one of its operations."""

    def __init__(self) -> None:
        super().__init__()
        self.countdown = -1
        self.meanwhile: Callable[[], None] = lambda: None

    def interrupt(self, after: int, meanwhile: Callable[[], None]) -> None:
        self.countdown, self.meanwhile = after, meanwhile

    def write(self, location: str, data: bytes | memoryview, *, new: bool = False) -> None:
        self._count()
        super().write(location, data, new=new)
        self._count()

    def delete(self, locations: object) -> None:
        self._count()
        super().delete(locations)  # type: ignore[arg-type]
        self._count()

    def read(self, location: str) -> bytes:
        self._count()
        return super().read(location)

    def list(self, folder: str) -> list[str]:
        self._count()
        found = super().list(folder)
        self._count()
        return found

    def _count(self) -> None:
        if self.countdown == 0:
            self.countdown = -1
            self.meanwhile()
        elif self.countdown > 0:
            self.countdown -= 1


def job(name: str, at: int = 0) -> StoredJob:
    return StoredJob(
        job_id=name,
        name=f"the {name}",
        graph=b"graph of " + name.encode(),
        config={"s3.secret-key": "x"},
        restore_from="/savepoints/1",
        artifacts=(Artifact(name="lib.zip", sha256="ab", location="/artifacts/lib.zip"),),
        submitted=at,
    )


def store(storage: MemoryStorage) -> JobStore:
    return JobStore(storage, ROOT, lambda: 7)


def led(storage: MemoryStorage, epoch: int) -> tuple[JobStore, Recovered]:
    made = store(storage)
    return made, made.take_over(epoch)


CHANGES: dict[str, Callable[[JobStore], None]] = {
    "add": lambda jobs: jobs.add(job("new")),
    "mark": lambda jobs: jobs.mark("old", JobStatus.RUNNING),
    "finish": lambda jobs: jobs.finish("old", JobStatus.FINISHED),
    "remove": lambda jobs: jobs.remove("old"),
}


def test_the_first_leader_finds_nothing() -> None:
    jobs, found = led(MemoryStorage(), 1)

    assert found == Recovered()
    assert jobs.entries() == ()
    assert jobs.highest_epoch() == 1


def test_a_new_leader_gets_the_jobs_as_they_were_submitted_oldest_first() -> None:
    storage = MemoryStorage()
    jobs, _ = led(storage, 3)
    jobs.add(job("b", at=20))
    jobs.add(job("a", at=10))
    jobs.mark("a", JobStatus.RUNNING)

    _, found = led(storage, 5)

    assert found.jobs == (job("a", at=10), job("b", at=20))
    assert found.entries["a"].status is JobStatus.RUNNING
    assert found.entries["b"].status is JobStatus.INITIALIZING
    assert (found.ended, found.damaged) == ((), ())


def test_a_job_that_has_ended_is_not_run_again_and_its_end_is_known() -> None:
    storage = MemoryStorage()
    jobs, _ = led(storage, 1)
    jobs.add(job("a"))
    jobs.finish("a", JobStatus.FAILED, b"why")
    jobs.mark("a", JobStatus.RUNNING)
    jobs.finish("a", JobStatus.FINISHED)

    _, found = led(storage, 2)

    assert found.jobs == ()
    [ended] = found.ended
    assert (ended.status, ended.result, ended.changed) == (JobStatus.FAILED, b"why", 7)
    assert [file for file in storage.list(ROOT) if "/submissions/" in file] == []


def test_a_removed_job_leaves_nothing() -> None:
    storage = MemoryStorage()
    jobs, _ = led(storage, 1)
    before = storage.list(ROOT)
    jobs.add(job("a"))

    jobs.remove("a")

    assert storage.list(ROOT) == before
    assert led(storage, 2)[1] == Recovered()


def test_files_of_earlier_leaders_go_and_what_jobs_need_stays() -> None:
    storage = MemoryStorage()
    for epoch in range(1, 6):
        jobs, _ = led(storage, epoch)
        jobs.add(job(f"of-{epoch}"))
    jobs.finish("of-2", JobStatus.FINISHED)

    _, found = led(storage, 6)

    assert [each.job_id for each in found.jobs] == ["of-1", "of-3", "of-4", "of-5"]
    names = {file.removeprefix(f"{ROOT}/") for file in storage.list(ROOT)}
    assert {name for name in names if name.startswith("jobs/")} == {
        "jobs/6/_complete",
        *(f"jobs/6/of-{n}" for n in range(1, 6)),
    }
    assert {name for name in names if name.startswith("submissions/")} == {
        f"submissions/{n}/of-{n}" for n in (1, 3, 4, 5)
    }


@pytest.mark.parametrize("epoch", [1, 2])
def test_jobs_are_taken_over_with_a_higher_epoch_only(epoch: int) -> None:
    storage = MemoryStorage()
    led(storage, 2)

    with pytest.raises(NotLeading, match=f"epoch {epoch} and another one leads with epoch 2"):
        led(storage, epoch)


def test_who_has_not_taken_the_jobs_over_changes_nothing() -> None:
    storage = MemoryStorage()
    jobs = store(storage)

    for change in (CHANGES["add"], CHANGES["remove"], JobStore.check):
        with pytest.raises(NotLeading, match="has not taken them over"):
            change(jobs)

    assert storage.list(ROOT) == []


@pytest.mark.parametrize("change", CHANGES)
def test_a_deposed_leader_changes_nothing(change: str) -> None:
    storage = MemoryStorage()
    old, _ = led(storage, 1)
    old.add(job("old"))
    _, before = led(storage, 2)

    with pytest.raises(NotLeading, match="epoch 1 and another one leads with epoch 2"):
        CHANGES[change](old)

    assert led(storage, 3)[1] == before


def without(change: str, *, done: bool) -> Recovered:
    """What the next leader finds when nobody interrupts."""
    storage = MemoryStorage()
    jobs, _ = led(storage, 1)
    jobs.add(job("old"))
    if done:
        CHANGES[change](jobs)
    return led(storage, 2)[1]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", range(12))
def test_a_leader_deposed_in_the_middle_of_a_change_is_told_or_its_change_counts(
    change: str, moment: int
) -> None:
    storage = Interrupted()
    old, _ = led(storage, 1)
    old.add(job("old"))
    seen: list[Recovered] = []
    storage.interrupt(moment, lambda: seen.append(led(storage, 2)[1]))

    try:
        CHANGES[change](old)
        told = False
    except NotLeading:
        told = True

    if not seen:
        return  # The change has fewer steps.
    untouched, changed = (without(change, done=done) for done in (False, True))
    assert seen[0] in (untouched, changed)
    if not told:
        assert seen[0] == changed
    # Whatever it saw stays true: the deposed leader's last steps take nothing away.
    assert led(storage, 3)[1] == seen[0]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=4), st.booleans())
def test_a_takeover_that_is_overtaken_or_dies_loses_no_job(moments: list[int], dies: bool) -> None:
    """Each leader is interrupted in its takeover by the next one, and goes on afterwards, or is dead."""
    storage = Interrupted()
    first, _ = led(storage, 1)
    for name in ("a", "b"):
        first.add(job(name))
    first.finish("b", JobStatus.FINISHED)
    found: list[Recovered] = []

    class Died(Exception):  # noqa: N818
        pass

    def take(epoch: int, rest: list[int]) -> None:
        if rest:

            def meanwhile() -> None:
                take(epoch + 1, rest[1:])
                if dies:
                    raise Died

            storage.interrupt(rest[0], meanwhile)
        with suppress(NotLeading, Died):
            found.append(led(storage, epoch)[1])

    take(2, moments)
    storage.countdown = -1

    _, last = led(storage, 20)

    assert [each.job_id for each in last.jobs] == ["a"]
    assert [each.job_id for each in last.ended] == ["b"]
    for each in found:
        assert [job.job_id for job in each.jobs] == ["a"]


def damage(storage: MemoryStorage, part: str, name: str, data: bytes | None) -> None:
    [place] = [
        file for file in storage.list(ROOT) if f"/{part}/" in file and file.endswith(f"/{name}")
    ]
    if data is None:
        storage.delete([place])
    else:
        storage.write(place, data)


@pytest.mark.parametrize(
    ("part", "data", "word"),
    [
        ("jobs", b"{", "cannot be read"),
        ("jobs", b'{"job_id": 3}', "cannot be read"),
        ("submissions", b"\xff\x00", "expected .* bytes with digest"),
        ("submissions", None, "no such file"),
    ],
)
def test_a_damaged_job_is_named_and_the_others_recover(
    part: str, data: bytes | None, word: str
) -> None:
    storage = MemoryStorage()
    jobs, _ = led(storage, 1)
    for name in ("a", "b", "c"):
        jobs.add(job(name))
    damage(storage, part, "b", data)

    _, found = led(storage, 2)

    assert [each.job_id for each in found.jobs] == ["a", "c"]
    [damaged] = found.damaged
    assert damaged.job_id == "b"
    assert re.search(word, damaged.reason)
    assert led(storage, 3)[1].damaged[0].job_id == "b"


def test_a_damaged_job_can_be_removed() -> None:
    storage = MemoryStorage()
    jobs, _ = led(storage, 1)
    jobs.add(job("a"))
    damage(storage, "jobs", "a", b"nonsense")
    second, found = led(storage, 2)
    assert found.damaged

    second.remove("a")

    assert led(storage, 3)[1] == Recovered()


def test_an_entry_of_a_newer_format_or_of_another_job_is_not_used() -> None:
    storage = MemoryStorage()
    jobs, _ = led(storage, 1)
    jobs.add(job("a"))
    jobs.add(job("b"))
    content = storage.read(f"{ROOT}/jobs/1/a")
    storage.write(f"{ROOT}/jobs/1/b", content)
    storage.write(f"{ROOT}/jobs/1/a", content.replace(b'"format": 1', b'"format": 2'))

    _, found = led(storage, 2)

    assert found.jobs == ()
    assert [each.reason.partition(";")[0] for each in found.damaged] == [
        "entry of job 'a': expected format 1 at most, found 2",
        "entry of job 'b': expected job 'b', found 'a'",
    ]


@pytest.mark.parametrize("name", ["", "../a", "_complete", "a/b", "a" * 65])
def test_an_id_that_cannot_be_a_file_is_refused(name: str) -> None:
    jobs, _ = led(MemoryStorage(), 1)

    with pytest.raises(ProgramError, match="expected letters and digits"):
        jobs.add(job(name))


def test_a_store_that_cannot_delete_does_not_stop_a_leader() -> None:
    class Stubborn(MemoryStorage):
        def delete(self, locations: object) -> None:
            raise StorageError("deleting: read-only")

    storage = Stubborn()
    jobs, _ = led(storage, 1)
    jobs.add(job("a"))
    jobs.add(job("b"))
    jobs.finish("a", JobStatus.FINISHED)

    _, found = led(storage, 2)

    assert [each.job_id for each in found.jobs] == ["b"]
    assert [each.job_id for each in found.ended] == ["a"]


def test_the_files_of_a_job_are_kept_with_it_until_it_ends(tmp_path: Path) -> None:
    storage = MemoryStorage()
    jobs, _ = led(storage, 1)
    library = tmp_path / "sent"
    library.write_bytes(b"a library")
    digest = hashlib.sha256(b"a library").hexdigest()
    needs = (Artifact(name="lib.zip", sha256=digest), Artifact(name="other", sha256="00"))
    for name in ("a", "b"):
        jobs.add(
            msgspec.structs.replace(job(name), artifacts=needs, details=b"more"), {digest: library}
        )
    jobs.finish("b", JobStatus.FINISHED)

    second, found = led(storage, 2)

    [recovered] = found.jobs
    kept, other = recovered.artifacts
    assert (kept.location, other.location) == (f"{ROOT}/artifacts/1/a/{digest}", "")
    assert recovered.details == b"more"
    second.fetch(kept, tmp_path / "fetched")
    assert (tmp_path / "fetched").read_bytes() == b"a library"
    storage.write(kept.location, b"another")
    with pytest.raises(FileCorrupt, match=r"'lib\.zip'.*expected SHA-256"):
        second.fetch(kept, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    second.remove("a")
    assert [file for file in storage.list(ROOT) if "/artifacts/" in file] == []


def test_files_of_a_job_that_nobody_heard_of_are_swept_by_the_next_leader(tmp_path: Path) -> None:
    storage = Interrupted()
    jobs, _ = led(storage, 1)
    library = tmp_path / "sent"
    library.write_bytes(b"x")
    named = msgspec.structs.replace(job("a"), artifacts=(Artifact(name="l", sha256="ab"),))

    def dies() -> None:
        raise StorageError("gone")

    storage.interrupt(4, dies)
    with pytest.raises(StorageError):
        jobs.add(named, {"ab": library})
    assert [file for file in storage.list(ROOT) if "/artifacts/" in file]

    led(storage, 2)

    assert [file for file in storage.list(ROOT) if "/artifacts/" in file] == []
