"""Every snapshot that a release wrote is restored: as it was, and at other parallelisms on the other backend."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.compatibility.kept import PARALLELISM, PROGRAMS, Entry, entries, go_on, snapshot_in

ENTRIES = entries()
OTHER = {"hashmap": "rocksdb", "rocksdb": "hashmap"}


def test_every_program_has_its_place_in_the_corpus() -> None:
    assert {entry.program for entry in ENTRIES} == set(PROGRAMS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_a_program_goes_on_from_a_snapshot_that_a_release_wrote(
    entry: Entry, tmp_path: Path
) -> None:
    snapshot = snapshot_in(entry.folder)

    rows = go_on(entry.program, snapshot, tmp_path, PARALLELISM, entry.backend)

    assert rows == entry.expected()


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_it_does_so_at_another_parallelism_on_the_other_backend_from_another_place(
    entry: Entry, parallelism: int, tmp_path: Path
) -> None:
    moved = Path(shutil.copytree(entry.folder, tmp_path / "moved"))
    backend = OTHER[entry.backend]

    rows = go_on(entry.program, snapshot_in(moved), tmp_path / "results", parallelism, backend)

    assert rows == entry.expected()
