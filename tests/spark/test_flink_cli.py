"""Flink's own command line, pointed at our port: it lists, savepoints, stops and cancels our jobs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.setup_peers import PEERS
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.job_client import JobClient
from tests.spark.conftest import await_status, endless, sums
from tests.spark.test_sessions import Session

pytestmark = pytest.mark.spark


class FlinkCommand:
    """``flink`` of the apache-flink package."""

    def __init__(self, home: Path, address: str, logs: Path) -> None:
        self._script = home / "bin" / "flink"
        self._address = address
        self._environment = {**os.environ, "FLINK_HOME": str(home), "FLINK_LOG_DIR": str(logs)}

    def __call__(self, command: str, *arguments: str) -> tuple[int, str]:
        ended = subprocess.run(
            [str(self._script), command, "-m", self._address, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = ended.stdout + ended.stderr
        return ended.returncode, said


@pytest.fixture(scope="module")
def flink_home() -> Path:
    """Where the package is; ``make bench`` installs it."""
    peer = PEERS["pyflink"]
    found = sorted(peer.home.glob("lib/python*/site-packages/pyflink"))
    if not peer.ready or not found or shutil.which("java") is None:
        pytest.skip("Flink's command line: needs Java and apache-flink; 'make bench' installs it")
    return found[-1]


@pytest.fixture(scope="module")
def session(flink_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = Session(tmp_path_factory.mktemp("session"))
    yield session
    session.end()


@pytest.fixture
def flink(flink_home: Path, session: Session, tmp_path: Path) -> FlinkCommand:
    return FlinkCommand(flink_home, session.url.removeprefix("http://"), tmp_path / "logs")


@pytest.fixture
def job(session: Session) -> Iterator[JobClient]:
    """A running job with state."""
    env = session.env()
    sums(endless(env, rate=100.0)).add_sink(lambda _: None)
    client = env.execute_async("sums for ever")
    await_status(client, timeout_s=120.0)
    yield client
    if not client.get_job_status().result().is_globally_terminal_state():
        client.cancel().result()


def test_it_lists_savepoints_and_stops_a_job(
    flink: FlinkCommand, job: JobClient, tmp_path: Path
) -> None:
    name = str(job.get_job_id())

    assert re.search(rf"{name} : sums for ever \(RUNNING\)", flink("list")[1])

    code, said = flink("savepoint", name, (tmp_path / "first").as_uri())
    assert code == 0
    assert _savepoint(said).parent == tmp_path / "first"

    code, said = flink("stop", "--savepointPath", (tmp_path / "second").as_uri(), name)
    assert code == 0
    assert _savepoint(said).parent == tmp_path / "second"
    assert job.get_job_status().result() is JobStatus.FINISHED

    code, said = flink("list", "-a")
    assert re.search(rf"{name} : sums for ever \(FINISHED\)", said)


def test_it_cancels_a_job_and_shows_why_it_cannot(
    flink: FlinkCommand, job: JobClient, tmp_path: Path
) -> None:
    name = str(job.get_job_id())
    taken = tmp_path / "taken"
    taken.write_text("a file, no folder")

    code, said = flink("savepoint", name, taken.as_uri())
    assert code == 1
    assert "Failed to trigger a savepoint" in said
    assert str(taken) in said

    assert flink("cancel", name)[0] == 0
    await_status(job, JobStatus.CANCELED)

    code, said = flink("cancel", "0" * 31 + "1")
    assert code == 1
    assert "there is none" in said


def _savepoint(said: str) -> Path:
    """The folder that the command line names; it is complete."""
    found = re.search(r"Savepoint completed. Path: (\S+)", said)
    assert found is not None
    path = Path(found[1])
    assert (path / "_metadata").is_file()
    return path
