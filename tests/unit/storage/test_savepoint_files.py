"""Files of a savepoint: names, references that count from the folder, what is left after an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverrun.storage.blobs import FileRef, InlineBlob
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.savepoint_files import SavedSavepointFiles, SavepointFiles, located
from riverrun.storage.storage import FileCorrupt, FileMissing, StorageError
from riverrun.testing.faulty_storage import Fault, FaultyStorage

FOLDER = "memory://x/savepoint-1"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(b"content")
    return path


def test_references_count_from_the_folder(source: Path, tmp_path: Path) -> None:
    storage = MemoryStorage()
    files = SavepointFiles(storage, FOLDER)

    ref = files.keep(source, "state/ab/count-0.parquet")

    assert (ref.path, ref.size) == ("state/ab/count-0.parquet", 7)
    assert storage.list(FOLDER) == [f"{FOLDER}/{ref.path}"] == list(files.written())
    assert files.bytes_written == 7
    storage.write(f"memory://y/moved/{ref.path}", storage.read(f"{FOLDER}/{ref.path}"))
    files.discard()
    assert storage.list(FOLDER) == []
    moved = SavedSavepointFiles(storage, "memory://y/moved")
    assert moved.read(ref) == b"content"
    moved.fetch(ref, tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"content"
    assert moved.read(InlineBlob(b"x")) == b"x"
    with pytest.raises(FileMissing, match=f"{FOLDER}/{ref.path}"):
        SavedSavepointFiles(storage, FOLDER).read(ref)


def test_names_are_given_once() -> None:
    files = SavepointFiles(MemoryStorage(), FOLDER)
    given = [files.name_for("state/ab", name, 3) for name in ("count", "Count", "count", "a b")]
    assert given == [
        "state/ab/count-3.parquet",
        "state/ab/Count.2-3.parquet",
        "state/ab/count.3-3.parquet",
        "state/ab/a_b-3.parquet",
    ]
    assert files.name_for("state/cd", "count", 3) == "state/cd/count-3.parquet"


@pytest.mark.parametrize("path", ["../other/file", "state/../../x", ".."])
def test_a_path_that_leads_out_of_the_folder_is_refused(path: str) -> None:
    with pytest.raises(FileCorrupt, match=r"savepoint-1.*outside of it"):
        located(FOLDER, path)


def test_a_file_that_was_changed_is_refused_by_its_place_now(source: Path, tmp_path: Path) -> None:
    storage = MemoryStorage()
    ref = SavepointFiles(storage, FOLDER).keep(source, "state/x")
    storage.write(f"{FOLDER}/state/x", b"c0ntent")
    saved = SavedSavepointFiles(storage, FOLDER)
    with pytest.raises(FileCorrupt, match=f"{FOLDER}/state/x"):
        saved.read(ref)
    with pytest.raises(FileCorrupt, match=f"{FOLDER}/state/x"):
        saved.fetch(ref, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_what_was_written_without_knowing_is_deleted_too(source: Path) -> None:
    memory = MemoryStorage()
    storage = FaultyStorage(memory)
    files = SavepointFiles(storage, FOLDER)
    storage.plan = lambda _: Fault.ERROR_AFTER
    with pytest.raises(StorageError):
        files.keep(source, "state/x")
    assert memory.list(FOLDER) == [f"{FOLDER}/state/x"]
    storage.plan = lambda _: Fault.NONE
    files.discard()
    assert memory.list(FOLDER) == []


def test_a_full_location_stays_what_it_is() -> None:
    ref = FileRef("memory://other/file", 1, "")
    with pytest.raises(FileMissing, match="memory://other/file"):
        SavedSavepointFiles(MemoryStorage(), FOLDER).read(ref)
