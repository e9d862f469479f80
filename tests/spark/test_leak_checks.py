"""The leak check finds what it looks for."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from riverrun.testing import processes
from riverrun.testing.leaks import Snapshot, leaks_since
from tests.spark.conftest import MARK

pytestmark = pytest.mark.spark


@contextmanager
def left_thread() -> Iterator[str]:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="left behind")
    thread.start()
    yield "thread left behind"
    end.set()
    thread.join()


@contextmanager
def left_socket() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"listening on 127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def left_folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="riverrun-") as folder:
        yield f"left in the temporary folder: {folder.rpartition('/')[2]}"


@contextmanager
def left_process() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield f"{process.pid} ("
        process.kill()


@contextmanager
def left_orphan() -> Iterator[str]:
    program = (
        "import subprocess, sys; "
        "sleep = [sys.executable, '-c', 'import time; time.sleep(3600)']; "
        "print(subprocess.Popen(sleep, stdout=subprocess.DEVNULL).pid)"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    orphan = int(done.stdout)
    yield f"{orphan} ("
    processes.end(process for process in processes.marked(MARK) if process.pid == orphan)


@pytest.mark.parametrize(
    "leave", [left_thread, left_socket, left_folder, left_process, left_orphan]
)
def test_what_is_left_is_named_until_it_is_gone(
    leave: Callable[[], AbstractContextManager[str]],
) -> None:
    before = Snapshot.take(MARK, daemons=True)

    with leave() as expected:
        (found,) = leaks_since(before, daemons=True, patience_s=0.0)
        assert found.startswith(expected)

    assert leaks_since(before, daemons=True) == []
