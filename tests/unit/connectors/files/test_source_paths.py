"""Which files a path, a folder or a pattern stands for."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from riverrun.connectors.files.paths import FileStore, location_of
from riverrun.core.errors import ConfigError
from riverrun.storage.storage import FileMissing, StorageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.csv", "b/c.csv", "b/d e.txt", "b/.hidden", "_temporary/x.csv", "b/x[1].csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", ["a.csv", "b/c.csv", "b/d e.txt", "b/x[1].csv"]),
        ("/a.csv", ["a.csv"]),
        ("/b", ["b/c.csv", "b/d e.txt", "b/x[1].csv"]),
        ("/*.csv", ["a.csv"]),
        ("/**/*.csv", ["a.csv", "b/c.csv", "b/x[1].csv"]),
        ("/?/[cd]*", ["b/c.csv", "b/d e.txt"]),
        ("/[!a]", ["b/c.csv", "b/d e.txt", "b/x[1].csv"]),
        ("/*.none", []),
        ("/b/.hidden", ["b/.hidden"]),
    ],
)
def test_a_path_stands_for_files(folder: Path, path: str, found: list[str]) -> None:
    listed = FileStore().files(location_of(f"{folder}{path}"))

    assert [file.location for file in listed] == [f"{folder}/{name}" for name in found]
    assert all(file.size == 1 and file.modified_ms > 0 for file in listed)


def test_hidden_files_can_be_asked_for(folder: Path) -> None:
    assert len(FileStore().files(str(folder), hidden=True)) == 6
    assert len(FileStore().files(str(folder), recursive=False)) == 1


def test_what_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(FileMissing, match=r"listing '.*/none': there is no such file or folder"):
        FileStore().files(f"{folder}/none")
    with pytest.raises(FileMissing, match=r"opening '.*/none': there is no such file"):
        FileStore().open(f"{folder}/none")


def test_a_store_that_does_not_answer_is_named() -> None:
    store = FileStore(
        {
            "s3.endpoint": "http://127.0.0.1:1",
            "s3.access-key": "me",
            "s3.secret-key": "a secret",
            "s3.region": "us-east-1",
            "riverrun.s3.connect-timeout": "1 s",
            "riverrun.s3.request-timeout": "1 s",
            "riverrun.s3.attempts": "1",
        }
    )

    with pytest.raises(StorageError, match=r"'s3://bucket/in': the store did not answer"):
        store.files("s3://bucket/in")
    assert "a secret" not in repr(store)
    assert pickle.loads(pickle.dumps(store)) == store


def test_files_are_made_and_removed(tmp_path: Path) -> None:
    store, location = FileStore(), f"{tmp_path}/new/file"

    with store.create(location) as stream:
        stream.write(b"abc")
    with store.open(location) as file:
        assert (file.read(1), file.tell(), file.size()) == (b"a", 1, 3)
    store.delete(location)
    store.delete(location)

    assert store.info(location) is None


@pytest.mark.parametrize("path", ["", "ftp://server/x", "s3:///x"])
def test_a_path_that_nothing_can_be_at_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="path"):
        location_of(path)


def test_relative_paths_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    assert location_of("in/*.csv") == f"{tmp_path}/in/*.csv"
    assert location_of(tmp_path / "x") == f"{tmp_path}/x"
