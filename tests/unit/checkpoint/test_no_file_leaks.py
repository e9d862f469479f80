"""After a long random history the store holds the files of the retained checkpoints, and no other."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from riverrun.checkpoint.layout import OWNERS
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.shared_files import SharedFiles
from riverrun.checkpoint.store import CheckpointStore
from riverrun.storage.blobs import FileRef
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.local import LocalStorage
from riverrun.storage.storage import StorageError
from riverrun.storage.unfinished import unfinished_name
from riverrun.testing.faulty_storage import Fault, FaultyStorage, random_faults
from tests.unit.checkpoint.stored_checkpoints import JOB, checkpoint

SUBTASKS = range(2)


@dataclass
class InFlight:
    """A checkpoint on its way: what each subtask wrote and refers to."""

    number: int
    files: list[CheckpointFiles] = field(default_factory=list)
    refs: list[FileRef] = field(default_factory=list)


class Job:
    """A JobMaster and its subtasks, as far as files are concerned."""

    def __init__(self, root: Path, seed: int, *, retain: int) -> None:
        self.chance = random.Random(seed)
        self.storage = FaultyStorage(LocalStorage(str(root)))
        self.root = str(root)
        self.retain = retain
        self.known: dict[int, list[FileRef]] = {subtask: [] for subtask in SUBTASKS}
        """The shared files of the last checkpoint that each subtask heard of; it may be an old one."""
        self.start()

    def start(self) -> None:
        """A JobMaster comes up, after another one that may have left anything behind."""
        self.store = CheckpointStore(self.storage, self.root, JOB)
        self.store.claim()
        self.storage.sweep(self.root, 0)
        self.store.delete(self.store.leftovers())
        self.shared = SharedFiles()
        self.in_flight: dict[int, InFlight] = {}
        self.gone: set[str] = set()
        usable = self.store.load_latest_usable()
        assert usable.skipped == ()
        self.complete = sorted(self.store.list(), key=lambda each: each.id)
        for each in self.complete:
            self.shared.register(each.id, [file.path for file in files_of(each.metadata)])
        refs = [] if usable.checkpoint is None else list(files_of(usable.checkpoint.metadata))
        self.known = {each: [ref for ref in refs if "/shared/" in ref.path] for each in SUBTASKS}
        self.numbers = count(self.store.next_checkpoint())

    def trigger(self) -> None:
        made = InFlight(next(self.numbers))
        self.shared.begin(made.number)
        self.in_flight[made.number] = made

    def write_part(self, made: InFlight) -> None:
        """The next subtask writes its part, on top of some of what it knows to be in the store."""
        files = CheckpointFiles(self.storage, self.store.folder, made.number, inline_limit=2)
        made.files.append(files)
        base = self.known[len(made.files) - 1]
        made.refs += self.chance.sample(base, self.chance.randint(0, len(base)))
        for _ in range(self.chance.randint(0, 3)):
            blob = files.put(self.chance.randbytes(5), shared=self.chance.random() < 0.7)
            assert isinstance(blob, FileRef)
            made.refs.append(blob)

    def advance(self, made: InFlight) -> None:
        """One subtask writes, or the checkpoint completes; any failure aborts it."""
        try:
            if len(made.files) < len(SUBTASKS):
                self.write_part(made)
            elif self.gone.intersection(ref.path for ref in made.refs):
                self.abort(made)
            else:
                self.finish(made)
        except StorageError:
            self.abort(made)

    def finish(self, made: InFlight) -> None:
        metadata = checkpoint(made.number, made.refs)
        self.store.write(metadata)
        del self.in_flight[made.number]
        self.shared.register(made.number, [ref.path for ref in made.refs])
        self.complete.append(self.store.load(f"{self.store.folder}/chk-{made.number}"))
        self.complete.sort(key=lambda each: each.id)
        self.delete(self.shared.end(made.number))
        while len(self.complete) > self.retain:
            old = self.complete.pop(0)
            self.delete([old.location, *self.shared.unregister(old.id)])
        for subtask in SUBTASKS:
            if self.chance.random() < 0.7:
                self.known[subtask] = [ref for ref in made.refs if "/shared/" in ref.path]

    def abort(self, made: InFlight) -> None:
        self.in_flight.pop(made.number, None)
        self.shared.register(made.number, [ref.path for ref in made.refs])
        mine = [path for files in made.files for path in files.written()]
        self.delete([f"{self.store.folder}/chk-{made.number}/_metadata", *mine])
        self.delete(self.shared.unregister(made.number))

    def delete(self, locations: list[str] | tuple[str, ...]) -> None:
        self.gone.update(locations)
        plan, self.storage.plan = self.storage.plan, lambda _: Fault.NONE
        self.store.delete(locations)
        self.storage.plan = plan

    def step(self) -> None:
        drawn = self.chance.random()
        waiting = list(self.in_flight.values())
        if drawn < 0.02:
            # The machine stops in the middle of whatever it was at.
            half = Path(unfinished_name(f"{self.store.folder}/{OWNERS}/file"))
            half.write_bytes(b"half")
            self.storage.plan = lambda _: Fault.NONE
            self.start()
        elif len(waiting) < 2 and drawn < 0.4:
            self.trigger()
        elif waiting and drawn < 0.5:
            self.abort(self.chance.choice(waiting))
        elif waiting:
            self.advance(self.chance.choice(waiting))

    def stored(self) -> set[str]:
        return {
            each
            for each in self.storage.list(self.root)
            if not each.startswith(f"{self.store.folder}/{OWNERS}/")
        }

    def needed(self) -> set[str]:
        found = self.store.list()
        return {each.location for each in found} | {
            file.path for each in found for file in files_of(each.metadata)
        }


@pytest.mark.parametrize("seed", range(6))
def test_after_a_long_history_nothing_is_missing_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # No machine loses its power here.
    job = Job(tmp_path, seed, retain=1 + seed % 3)
    job_faults = random_faults(seed, 0.03, [Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.PARTIAL])

    for _ in range(250):
        job.storage.plan = lambda each: job_faults(each) if each.kind == "write" else Fault.NONE
        job.step()
        job.storage.plan = lambda _: Fault.NONE
        for each in job.complete:
            job.store.verify(each.metadata)
    while job.in_flight:
        job.advance(next(iter(job.in_flight.values())))

    assert job.complete
    assert [each.id for each in job.store.list()] == [each.id for each in job.complete][::-1]
    assert job.stored() == job.needed()
    assert job.store.leftovers() == ()
    assert job.storage.sweep(job.root, 0) == 0
    saved = SavedCheckpointFiles(job.storage)
    for each in job.complete:
        for file in files_of(each.metadata):
            saved.read(file)
