"""JobManagers of this machine are found while they live."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from riverrun.core.errors import ExternalError
from riverrun.jobmanager.local_clusters import (
    FOLDER_VARIABLE,
    LocalCluster,
    birth_of,
    local_clusters,
    noted,
    state_folder,
)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {FOLDER_VARIABLE: str(tmp_path / "state")}


def here(url: str = "http://127.0.0.1:8081") -> LocalCluster:
    return LocalCluster.of_this_process(url, master="local[2]", started=5)


def test_one_is_found_while_it_is_noted(environ: dict[str, str]) -> None:
    assert local_clusters(environ) == []
    with noted(here(), environ):
        assert local_clusters(environ) == [here()]
        assert stat.S_IMODE(state_folder(environ).stat().st_mode) == 0o700
    assert local_clusters(environ) == []
    assert list(state_folder(environ).iterdir()) == []


def test_a_process_that_was_killed_is_recognised(environ: dict[str, str]) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        cluster = msgspec.structs.replace(here(), pid=process.pid, born=birth_of(process.pid) or "")
        with noted(cluster, environ):
            assert local_clusters(environ) == [cluster]
            process.kill()
            process.wait()
            assert local_clusters(environ) == []


def test_a_process_that_nobody_waited_for_is_gone_all_the_same() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        while birth_of(process.pid) is not None:
            pass  # it has closed its output and is about to end
        assert process.wait() == 0


def test_another_process_with_its_number_is_not_taken_for_it(environ: dict[str, str]) -> None:
    with noted(msgspec.structs.replace(here(), born="1"), environ):
        assert local_clusters(environ) == []


def test_files_of_other_machines_and_of_nobody_are_left_alone(environ: dict[str, str]) -> None:
    with noted(msgspec.structs.replace(here(), host="another"), environ):
        strange = state_folder(environ) / "jobmanager-1.json"
        strange.write_text("{}")

        assert local_clusters(environ) == []
        assert len(list(state_folder(environ).iterdir())) == 2


@pytest.mark.parametrize(
    ("serves", "called"),
    [
        ("http://0.0.0.0:8081", "http://127.0.0.1:8081"),
        ("https://[::]:8081", "https://[::1]:8081"),
        ("http://10.0.0.5:8081", "http://10.0.0.5:8081"),
    ],
)
def test_it_is_noted_under_an_address_that_can_be_called(serves: str, called: str) -> None:
    assert here(serves).url == called


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/home/x"}, "/home/x/.local/state/riverrun"),
        ({"HOME": "/home/x", "XDG_STATE_HOME": "/s"}, "/s/riverrun"),
        ({"XDG_STATE_HOME": "/s", FOLDER_VARIABLE: "/r"}, "/r"),
    ],
)
def test_the_folder_is_the_users(environ: dict[str, str], folder: str) -> None:
    assert state_folder(environ) == Path(folder)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environ = {FOLDER_VARIABLE: str(tmp_path / "file" / "below")}

    with (
        pytest.raises(ExternalError, match=f"cannot be made .*{FOLDER_VARIABLE}"),
        noted(here(), environ),
    ):
        pass


def test_no_process_has_no_birth() -> None:
    assert birth_of(os.getpid()) == birth_of(os.getpid())
    assert birth_of(2**22 + 1) is None
