from __future__ import annotations

import fcntl
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.core.rotating_file import RotatingFile


def _write(path: Path, who: int) -> None:
    file = RotatingFile(path, 2_000, 100)
    for number in range(100):
        file.write(f"{who} {number} {'x' * 20}\n".encode())
    file.close()


def test_processes_that_share_a_file_lose_no_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    path = tmp_path / "a.log"
    processes = [context.Process(target=_write, args=(path, who)) for who in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    lines = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(
        f"{who} {number} {'x' * 20}" for who in range(3) for number in range(100)
    )
    assert len(list(tmp_path.iterdir())) > 1


def test_a_file_that_another_process_moves_at_the_same_time_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    file = RotatingFile(path, 4, 2)
    monkeypatch.setattr(fcntl, "flock", lambda *_: path.replace(tmp_path / "a.log.1"))
    file.write(b"first")
    monkeypatch.undo()

    file.write(b"2nd")
    file.close()

    assert (tmp_path / "a.log.1").read_bytes() == b"first"
    assert path.read_bytes() == b"2nd"


@given(kept=st.integers(0, 3), pieces=st.lists(st.integers(1, 30), max_size=20))
def test_no_more_files_are_kept_than_wanted(
    tmp_path_factory: pytest.TempPathFactory, kept: int, pieces: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    file = RotatingFile(folder / "a.log", 20, kept)
    for size in pieces:
        file.write(b"x" * size)
    file.close()
    file.write(b"after the end")

    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert len(files) <= kept + 1
    assert files["a.log"] < 20


def test_a_file_that_somebody_removed_begins_anew(tmp_path: Path) -> None:
    file = RotatingFile(tmp_path / "a.log", 1000, 1)
    file.write(b"old")
    (tmp_path / "a.log").unlink()

    file.write(b"new")

    assert (tmp_path / "a.log").read_bytes() == b"new"
    file.close()
