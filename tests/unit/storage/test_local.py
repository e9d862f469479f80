"""What is particular to a folder: crashed writers, hard links, empty folders, a full disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from riverrun.storage.local import LocalStorage
from riverrun.storage.storage import FileMissing, StorageError
from riverrun.storage.unfinished import is_unfinished, unfinished_name


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def failing(error: int) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(error, os.strerror(error))

    return fail


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errno.ENOSPC, "No space left.*disk is full: free some space or choose another folder"),
        (errno.EACCES, "Permission denied.*change the permissions"),
        (errno.EIO, "Input/output error.*kernel log"),
    ],
)
def test_a_failed_write_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, words: str
) -> None:
    storage = LocalStorage(str(tmp_path))
    (tmp_path / "source").write_bytes(b"x")
    monkeypatch.setattr(os, "fsync", failing(error))

    with pytest.raises(StorageError, match=f"writing '.*/deep/file': {words}"):
        storage.write(f"{tmp_path}/deep/file", b"x")
    with pytest.raises(StorageError, match=words):
        storage.upload(tmp_path / "source", f"{tmp_path}/deep/file")

    assert names(tmp_path / "deep") == []


def test_a_failed_copy_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = LocalStorage(str(tmp_path))
    storage.write(f"{tmp_path}/file", b"x")
    monkeypatch.setattr(os, "link", failing(errno.EXDEV))
    monkeypatch.setattr("shutil.copyfileobj", failing(errno.ENOSPC))

    with pytest.raises(StorageError, match="disk is full"):
        storage.download(f"{tmp_path}/file", tmp_path / "target")

    assert names(tmp_path) == ["file"]


def test_between_file_systems_files_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(str(tmp_path))
    monkeypatch.setattr(os, "link", failing(errno.EXDEV))
    (tmp_path / "source").write_bytes(b"content")

    storage.upload(tmp_path / "source", f"{tmp_path}/stored")
    storage.download(f"{tmp_path}/stored", tmp_path / "target")

    assert (tmp_path / "target").read_bytes() == b"content"
    assert names(tmp_path) == ["source", "stored", "target"]


def test_on_one_file_system_files_are_linked(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    (tmp_path / "source").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "source")

    storage.upload(tmp_path / "link", f"{tmp_path}/stored")
    storage.download(f"{tmp_path}/stored", tmp_path / "target")

    assert (tmp_path / "target").stat().st_ino == (tmp_path / "source").stat().st_ino


def test_what_a_dead_writer_left_is_never_seen_and_swept_when_it_is_old(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    storage.write(f"{tmp_path}/a/file", b"x")
    old, young = (Path(unfinished_name(f"{tmp_path}/a/other")) for _ in range(2))
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))

    assert storage.list(str(tmp_path)) == [f"{tmp_path}/a/file"]
    assert storage.sweep(str(tmp_path), 3600) == 1
    assert names(tmp_path / "a") == sorted([young.name, "file"])
    assert storage.sweep(str(tmp_path), 0) == 1
    assert storage.sweep(f"{tmp_path}/none", 0) == 0


def test_empty_folders_go_with_their_last_file_but_not_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    storage = LocalStorage(str(root))
    storage.write(f"{root}/a/b/c/1", b"x")
    storage.write(f"{root}/a/2", b"x")

    storage.delete([f"{root}/a/b/c/1"])
    assert names(root) == ["2", "a"]
    storage.delete([f"{root}/a/2"])
    assert names(tmp_path) == ["root"]


def test_without_a_root_folders_stay(tmp_path: Path) -> None:
    storage = LocalStorage()
    storage.write(f"{tmp_path}/a/1", b"x")

    storage.delete([f"{tmp_path}/a/1"])

    assert names(tmp_path) == ["a"]


def test_a_file_that_cannot_be_deleted_does_not_save_the_others(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    (tmp_path / "folder").mkdir()
    storage.write(f"{tmp_path}/file", b"x")

    with pytest.raises(StorageError, match=r"deleting '.*/folder'"):
        storage.delete([f"{tmp_path}/folder", f"{tmp_path}/file"])

    assert names(tmp_path) == ["folder"]


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    storage.write(f"{tmp_path}/file", b"x")

    with pytest.raises(StorageError, match="a part of the path is a file"):
        storage.write(f"{tmp_path}/file/below/it", b"x")


def test_a_name_as_long_as_the_file_system_allows_can_be_written(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))

    storage.write(f"{tmp_path}/{'x' * 255}", b"x", new=True)

    assert storage.list(str(tmp_path)) == [f"{tmp_path}/{'x' * 255}"]
    with pytest.raises(StorageError, match="choose a shorter folder"):
        storage.write(f"{tmp_path}/{'x' * 256}", b"x")


def test_a_folder_to_which_somebody_keeps_writing_cannot_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(str(tmp_path))
    storage.write(f"{tmp_path}/a/1", b"x")
    monkeypatch.setattr("shutil.rmtree", failing(errno.ENOTEMPTY))

    with pytest.raises(StorageError, match="somebody writes to it"):
        storage.delete_folder(f"{tmp_path}/a")


def test_file_uris_are_paths(tmp_path: Path) -> None:
    storage = LocalStorage((tmp_path / "a b").as_uri())

    storage.write((tmp_path / "a b" / "file").as_uri(), b"x")

    assert storage.read(f"{tmp_path}/a b/file") == b"x"
    assert storage.list((tmp_path / "a b").as_uri()) == [f"{tmp_path}/a b/file"]
    with pytest.raises(FileMissing, match="was it deleted"):
        storage.read((tmp_path / "none").as_uri())


def test_unfinished_names_differ_and_are_known() -> None:
    one, two = unfinished_name("s3://bucket/a"), unfinished_name("s3://bucket/a")

    assert one != two
    assert is_unfinished(one)
    assert one.startswith("s3://bucket/.")
    assert not is_unfinished("s3://bucket/.riverrun-unfinished-x/file")
