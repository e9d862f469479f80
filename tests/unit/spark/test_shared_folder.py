"""The folder of a machine: who sees the same one knows it, and nothing stays of those who are gone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

from riverrun.core import options
from riverrun.spark.worker.shared_folder import SWEEPER, SharedFolder, abandoned, sweep, sweep_after

HOLDER = """
import sys
from riverrun.spark.worker.shared_folder import SharedFolder
shared = SharedFolder.open({"riverrun.frame.local-folder": sys.argv[1]}, "job", 1)
(shared.path / "arena").write_bytes(bytes(100))
print(shared.token, flush=True)
sys.stdin.read()
"""


def config(folder: Path) -> dict[str, str]:
    return {options.LOCAL_FRAME_FOLDER.key: str(folder)}


def opened(folder: Path, attempt: int = 1) -> SharedFolder:
    shared = SharedFolder.open(config(folder), "job", attempt)
    assert shared is not None
    return shared


def held_by_another(folder: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_tasks_that_see_the_same_folder_have_the_same_token(tmp_path: Path) -> None:
    process, token = held_by_another(tmp_path)
    shared = opened(tmp_path)
    kill(process)

    assert shared.token == token
    shared.close()


def test_folders_of_the_same_name_elsewhere_have_another_token(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "one"), opened(tmp_path / "other")

    assert one.path.name == other.path.name
    assert one.token != other.token


def test_nobody_else_may_look_into_it(tmp_path: Path) -> None:
    path = opened(tmp_path).path

    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.iterdir()} == {0o600}


def test_the_last_one_that_leaves_removes_it(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    (one.path / "arena").write_bytes(b"left")

    one.close()
    assert other.path.is_dir()
    other.close()
    assert list(tmp_path.iterdir()) == []
    other.close()


def test_the_last_one_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    process, _ = held_by_another(tmp_path)
    shared = opened(tmp_path)
    kill(process)
    shared.close()

    assert list(tmp_path.iterdir()) == []


def test_what_all_who_were_killed_left_goes_with_the_next_attempt(tmp_path: Path) -> None:
    process, _ = held_by_another(tmp_path)
    kill(process)
    assert abandoned(tmp_path) == list(tmp_path.iterdir()) != []
    shared = opened(tmp_path, attempt=2)

    assert list(tmp_path.iterdir()) == [shared.path]


def test_what_all_who_were_killed_left_goes_with_the_job(tmp_path: Path) -> None:
    process, _ = held_by_another(tmp_path)
    kill(process)
    sweep(config(tmp_path))

    assert list(tmp_path.iterdir()) == []


def test_what_is_in_use_stays(tmp_path: Path) -> None:
    process, token = held_by_another(tmp_path)
    sweep(config(tmp_path))
    assert abandoned(tmp_path) == []
    shared = opened(tmp_path)

    assert shared.token == token
    kill(process)


def test_a_folder_without_a_token_is_what_somebody_left(tmp_path: Path) -> None:
    path = opened(tmp_path).path
    for file in path.iterdir():
        file.unlink()
    assert abandoned(tmp_path) == [path]
    sweep(config(tmp_path))

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_may_use_is_not_used(tmp_path: Path) -> None:
    shared = opened(tmp_path)
    path = shared.path
    shared.close()
    path.mkdir()
    path.chmod(0o777)

    assert SharedFolder.open(config(tmp_path), "job", 1) is None
    assert path.is_dir()


def test_without_memory_for_it_there_is_none(tmp_path: Path) -> None:
    off = config(tmp_path) | {options.LOCAL_FRAME_MEMORY.key: "0"}

    assert SharedFolder.open(off, "job", 1) is None
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_none_can_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert SharedFolder.open(config(tmp_path / "file" / "below"), "job", 1) is None


def test_what_a_task_holds_that_is_killed_later_is_removed_then(tmp_path: Path) -> None:
    process, _ = held_by_another(tmp_path)
    folder = tmp_path / f"riverrun-{os.getuid()}-job-1"

    sweep_after(config(tmp_path), "job", 1, orderly=True)
    assert folder.exists()
    kill(process)

    (waiting,) = (thread for thread in threading.enumerate() if thread.name == SWEEPER)
    waiting.join(30)
    assert not folder.exists()


def test_nobody_waits_where_nothing_is_left(tmp_path: Path) -> None:
    opened(tmp_path).close()

    sweep_after(config(tmp_path), "job", 1, orderly=True)

    assert SWEEPER not in [thread.name for thread in threading.enumerate()]
