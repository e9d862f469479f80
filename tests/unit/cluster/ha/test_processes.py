"""Two processes that share a folder: one leads, one stands by, and the leader is killed or stopped."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from riverrun.cluster.ha.high_availability import high_availability

ROOT = Path(__file__).parents[4]
LONG = 60.0


class Contender:
    """A process that takes part in the election."""

    def __init__(self, folder: Path, name: str) -> None:
        module = "tests.unit.cluster.ha.contender_process"
        self.address = f"http://{name}:8081"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(folder), self.address],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def tell(self, *words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()

    def hears(self, word: str) -> list[str]:
        """What is said after ``word``, once it is said; what comes before it is passed over."""
        while True:
            line = self._lines.get(timeout=LONG)
            if line[0] == word:
                return line[1:]

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.split())


@pytest.fixture
def contend(tmp_path: Path) -> Iterator[Callable[[str], Contender]]:
    made: list[Contender] = []

    def make(name: str) -> Contender:
        made.append(Contender(tmp_path, name))
        return made[-1]

    yield make
    for contender in made:
        contender.end()


def leader_address(folder: Path) -> str | None:
    ha = high_availability(
        {"high-availability.type": "filesystem", "high-availability.storageDir": str(folder)}
    )
    assert ha is not None
    leader = ha.find_leader()
    return leader and leader.address


def test_when_the_leader_is_killed_the_standby_goes_on_with_its_jobs(
    contend: Callable[[str], Contender], tmp_path: Path
) -> None:
    leader = contend("one")
    first = int(leader.hears("elected")[0])
    assert leader_address(tmp_path) == leader.address
    leader.tell("add", "a")
    leader.hears("added")
    standby = contend("other")

    leader.signal(signal.SIGKILL)

    epoch, *jobs = standby.hears("elected")
    assert int(epoch) > first
    assert jobs == ["a"]
    assert leader_address(tmp_path) == standby.address
    standby.tell("add", "b")
    assert standby.hears("added") == ["b"]
    standby.tell("close")
    standby.hears("closed")
    assert leader_address(tmp_path) is None


def test_a_leader_that_was_stopped_and_wakes_up_can_write_nothing(
    contend: Callable[[str], Contender],
) -> None:
    leader = contend("one")
    first = int(leader.hears("elected")[0])
    leader.tell("add", "a")
    leader.hears("added")
    standby = contend("other")

    leader.signal(signal.SIGSTOP)
    epoch, *jobs = standby.hears("elected")
    # Waits in the pipe: it is the first thing that the leader does when it wakes up.
    leader.tell("add", "late")
    leader.signal(signal.SIGCONT)

    assert (int(epoch) > first, jobs) == (True, ["a"])
    assert leader.hears("refused") == ["late"]
    standby.tell("add", "b")
    assert standby.hears("added") == ["b"]
    standby.tell("close")
    assert sorted(leader.hears("elected")[1:]) == ["a", "b"]
