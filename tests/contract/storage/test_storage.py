"""What every store does, whatever it is made of."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from riverrun.storage.storage import FileExists, FileMissing, StorageError
from tests.contract.storage.conftest import Place

BIG = os.urandom(1 << 20) * 13
"""More than the part of an upload that an object store takes at once."""


def together(count: int, act: Callable[[int], Any]) -> list[Any]:
    """What each of ``count`` threads that begin at the same moment gets; errors are results too."""
    start = threading.Barrier(count)

    def one(n: int) -> Any:
        start.wait()
        try:
            return act(n)
        except StorageError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.parametrize("data", [b"", b"hello", memoryview(b"-hello-")[1:-1], BIG])
def test_what_was_written_is_read(place: Place, data: bytes | memoryview) -> None:
    place.storage.write(f"{place.root}/a/b/file", data)

    assert place.storage.read(f"{place.root}/a/b/file") == bytes(data)
    assert place.storage.exists(f"{place.root}/a/b/file")
    assert place.storage.sizes(place.root) == {f"{place.root}/a/b/file": len(data)}


@pytest.mark.parametrize("name", ["ü ñ 漢字", "100%20 + a&b=c#d?e", "a'b\"c", ".hidden", "x" * 200])
def test_names_may_hold_any_character(place: Place, name: str) -> None:
    location = f"{place.root}/{name}/{name}"

    place.storage.write(location, b"1", new=True)

    assert place.storage.list(place.root) == [location]
    assert place.storage.read(location) == b"1"
    place.storage.delete([location])
    assert place.storage.list(place.root) == []


def test_a_file_can_be_replaced(place: Place) -> None:
    place.storage.write(f"{place.root}/file", b"a longer text")
    place.storage.write(f"{place.root}/file", b"new")

    assert place.storage.read(f"{place.root}/file") == b"new"


def test_a_file_that_must_be_new_replaces_none(place: Place) -> None:
    place.storage.write(f"{place.root}/file", b"first", new=True)

    with pytest.raises(FileExists, match="file"):
        place.storage.write(f"{place.root}/file", b"second", new=True)

    assert place.storage.read(f"{place.root}/file") == b"first"
    assert place.storage.list(place.root) == [f"{place.root}/file"]


def test_of_those_who_want_a_new_file_at_once_at_most_one_gets_it(place: Place) -> None:
    for n in range(3):
        location = f"{place.root}/{n}/file"

        def write(n: int, at: str = location) -> int:
            place.storage.write(at, b"%d" % n, new=True)
            return n

        told = together(6, write)

        winners = [answer for answer in told if isinstance(answer, int)]
        assert all(isinstance(answer, int | FileExists) for answer in told)
        assert len(winners) <= 1
        if place.one_winner:
            assert len(winners) == 1
        if winners:
            assert place.storage.read(location) == b"%d" % winners[0]
        else:
            place.storage.write(location, b"later", new=True)
            assert place.storage.read(location) == b"later"


def test_who_reads_while_others_write_finds_a_whole_file(place: Place) -> None:
    location = f"{place.root}/file"
    place.storage.write(location, b"\0" * 100_000)

    def one(n: int) -> set[int]:
        if n < 2:
            for round_ in range(5):
                place.storage.write(location, bytes([10 * n + round_]) * 100_000)
            return set()
        read = [place.storage.read(location) for _ in range(5)]
        assert {len(data) for data in read} == {100_000}
        return {len(set(data)) for data in read}

    seen = together(4, one)

    assert seen == [set(), set(), {1}, {1}]


def test_writers_of_different_files_do_not_meet(place: Place) -> None:
    def one(n: int) -> None:
        for i in range(8):
            place.storage.write(f"{place.root}/{i % 2}/{n}-{i}", b"x")

    told = together(4, one)

    assert not [answer for answer in told if isinstance(answer, StorageError)]
    assert len(place.storage.list(place.root)) == 32


def test_folders_that_come_and_go_disturb_no_writer(place: Place) -> None:
    def one(n: int) -> None:
        for i in range(10):
            location = f"{place.root}/deep/er/{n}-{i}"
            place.storage.write(location, b"x")
            place.storage.delete([location])

    assert together(4, one) == [None] * 4
    assert place.storage.list(place.root) == []


@pytest.mark.parametrize("size", [0, 10, len(BIG)])
def test_a_local_file_goes_up_and_comes_down(place: Place, tmp_path: Path, size: int) -> None:
    source, target = tmp_path / "source", tmp_path / "fetched" / "target"
    source.write_bytes(BIG[:size])

    place.storage.upload(source, f"{place.root}/a/file")
    source.unlink()
    place.storage.download(f"{place.root}/a/file", target)

    assert target.read_bytes() == BIG[:size]
    assert place.storage.sizes(place.root) == {f"{place.root}/a/file": size}


def test_an_upload_replaces_what_was_there(place: Place, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"new")
    place.storage.write(f"{place.root}/file", b"old and longer")

    place.storage.upload(source, f"{place.root}/file")
    place.storage.upload(source, f"{place.root}/file")

    assert place.storage.read(f"{place.root}/file") == b"new"
    assert place.storage.sweep(place.root, 0) == 0


def test_an_upload_of_nothing_names_the_source(place: Place, tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="no-such-source"):
        place.storage.upload(tmp_path / "no-such-source", f"{place.root}/file")

    assert place.storage.list(place.root) == []


def test_a_download_overwrites_nothing(place: Place, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    place.storage.write(f"{place.root}/file", b"stored")

    with pytest.raises(FileExists, match="target"):
        place.storage.download(f"{place.root}/file", target)

    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["none", "folder", "folder/file/below"])
def test_what_is_not_there_is_missing(place: Place, tmp_path: Path, name: str) -> None:
    place.storage.write(f"{place.root}/folder/file", b"x")
    location = f"{place.root}/{name}"

    assert not place.storage.exists(location)
    with pytest.raises(FileMissing, match=name):
        place.storage.read(location)
    with pytest.raises(FileMissing, match=name):
        place.storage.download(location, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_list_is_sorted_and_of_the_folder_alone(place: Place) -> None:
    for name in ("b/2", "a/z/1", "b/1", "ab/1", "a/1"):
        place.storage.write(f"{place.root}/{name}", b"x")

    assert place.storage.list(f"{place.root}/a") == [f"{place.root}/a/1", f"{place.root}/a/z/1"]
    assert place.storage.list(f"{place.root}/b/") == [f"{place.root}/b/1", f"{place.root}/b/2"]
    assert len(place.storage.list(place.root)) == 5
    assert place.storage.list(f"{place.root}/none") == []


def test_deleted_files_are_gone_and_the_others_stay(place: Place) -> None:
    for name in "abc":
        place.storage.write(f"{place.root}/x/{name}", b"1")

    place.storage.delete(f"{place.root}/x/{name}" for name in ("a", "never-there", "b", "b"))
    place.storage.delete([])

    assert place.storage.list(place.root) == [f"{place.root}/x/c"]


def test_a_folder_goes_with_all_that_is_below(place: Place) -> None:
    for name in ("a/1", "a/b/2", "ab/3"):
        place.storage.write(f"{place.root}/{name}", b"1")

    place.storage.delete_folder(f"{place.root}/a")
    place.storage.delete_folder(f"{place.root}/never-there")

    assert place.storage.list(place.root) == [f"{place.root}/ab/3"]
