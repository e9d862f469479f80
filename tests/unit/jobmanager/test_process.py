"""The JobManager as a process: why it ends, and what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from riverrun.core.errors import ExternalError
from riverrun.jobmanager.local_clusters import FOLDER_VARIABLE, LocalCluster, local_clusters
from riverrun.jobmanager.process import Answer, Start, run_job_manager


class FakeManager:
    """Serves nobody."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.refusal = refusal
        self.is_closed = False
        self.shut_down: Callable[[], None] | None = None

    def create(self, config: Any, *, session: bool) -> FakeManager:
        assert session
        # As Spark does.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return self

    def serve(self, shut_down: Callable[[], None] | None = None) -> str:
        if self.refusal is not None:
            raise self.refusal
        self.shut_down = shut_down
        return "http://127.0.0.1:8081"

    def close(self) -> None:
        assert local_clusters(os.environ) == []
        self.is_closed = True


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it(number: signal.Signals) -> None:
    manager = FakeManager()
    before = signal.getsignal(number)

    def ready(cluster: LocalCluster) -> None:
        assert local_clusters(os.environ) == [cluster]
        os.kill(os.getpid(), number)

    assert run_job_manager({}, ready, create=manager.create) == number.name
    assert manager.is_closed
    assert signal.getsignal(number) == before


def test_a_client_may_ask_for_its_end() -> None:
    manager = FakeManager()

    def ready(cluster: LocalCluster) -> None:
        assert manager.shut_down is not None
        manager.shut_down()

    assert run_job_manager({}, ready, create=manager.create) == "asked over REST"
    assert manager.is_closed


def test_one_that_cannot_serve_is_closed() -> None:
    manager = FakeManager(ExternalError("no port is free"))

    with pytest.raises(ExternalError, match="no port is free"):
        run_job_manager({}, lambda _: None, create=manager.create)
    assert manager.is_closed


_PROGRAM = """
import sys
from riverrun.core.errors import ExternalError
from riverrun.jobmanager import process

class Manager:
    def serve(self, shut_down):
        if self.config["pipeline.name"] == "no":
            raise ExternalError("no port is free")
        return "http://127.0.0.1:8081"

    def close(self):
        print("closed")

def create(config, session):
    manager = Manager()
    manager.config = config
    return manager

process._creator = lambda config: create
sys.exit(process.main(sys.argv[1:]))
"""


def started(name: str) -> tuple[subprocess.Popen[bytes], Answer]:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_PROGRAM), str(writing)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(writing,),
    )
    os.close(writing)
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(Start(config={"pipeline.name": name}, log="/l.log")))
    process.stdin.close()
    process.stdin = None
    with os.fdopen(reading, "rb") as answers:
        return process, msgspec.json.decode(answers.read(), type=Answer)


def test_a_process_of_its_own_says_where_it_serves_and_ends_with_a_signal() -> None:
    process, answer = started("yes")

    assert answer.cluster is not None
    assert (answer.cluster.pid, answer.cluster.log) == (process.pid, "/l.log")
    process.terminate()
    out, err = process.communicate()
    assert (process.returncode, out) == (0, b"closed\n")
    assert b"JobManager ends reason=SIGTERM" in err


def test_a_process_of_its_own_says_why_it_cannot_serve() -> None:
    process, answer = started("no")

    out, err = process.communicate()
    assert (answer.error, process.returncode, out) == ("no port is free", 1, b"closed\n")
    assert b"JobManager cannot run: no port is free" in err
