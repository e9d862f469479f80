"""CPU time and memory of real processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.resources import MemoryWatch, Process, cpu_seconds, family, memory_bytes, parse

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="reads Linux's /proc"
)

BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
TICKS = os.sysconf("SC_CLK_TCK")


def spent_by(program: str) -> float:
    """CPU seconds that ``program`` reports of itself and its descendants, in a process of its own."""
    lines = (
        "import os, subprocess, sys, time",
        "from benchmarks.resources import adopt_orphans, cpu_seconds",
        f"BURN = {BURN!r}",
        "adopt_orphans()",
        "before = cpu_seconds()",
        program,
        "print(cpu_seconds() - before)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def test_the_time_of_a_child_that_ended_counts() -> None:
    spent = spent_by("subprocess.run([sys.executable, '-c', BURN])")

    assert 0.28 <= spent < 0.6


def test_the_time_of_a_child_that_lives_on_counts_once() -> None:
    spent = spent_by(
        "child = subprocess.Popen([sys.executable, '-c', BURN + 'print(1, flush=True)\\n"
        "time.sleep(60)'], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "first = cpu_seconds()\n"
        "second = cpu_seconds()\n"
        "assert second - first < 0.2\n"
        "child.kill()"
    )

    assert 0.28 <= spent < 0.6


def test_a_grandchild_in_a_session_of_its_own_counts_after_its_parent_ended() -> None:
    leaves = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-c', sys.argv[1]]\n"
        "subprocess.Popen(command, start_new_session=True, close_fds=False)"
    )
    spent = spent_by(
        "reader, writer = os.pipe()\n"
        "os.set_inheritable(writer, True)\n"
        f"subprocess.run([sys.executable, '-c', {leaves!r}, BURN], close_fds=False)\n"
        "os.close(writer)\n"
        "os.read(reader, 1)"  # ends when the grandchild has
    )

    assert 0.28 <= spent < 0.7


def test_a_process_that_ends_while_it_is_read_is_not_counted_twice() -> None:
    parent = os.getpid()
    before = {parent: Process(parent, 1, 1, 5, 10), 9: Process(9, parent, 1, 6, 100)}
    torn = {parent: Process(parent, 1, 1, 5, 110), 9: Process(9, parent, 1, 6, 100)}
    after = {parent: Process(parent, 1, 1, 5, 110)}

    def seconds(*readings: Mapping[int, Process]) -> float | None:
        left: Iterator[Mapping[int, Process]] = iter(readings)
        return cpu_seconds(lambda: next(left))

    assert seconds(before, before) == 110 / TICKS
    assert seconds(torn, after, after) == 110 / TICKS


def test_without_proc_nothing_is_known() -> None:
    assert cpu_seconds(dict) is None


def test_a_family_is_the_descendants_and_the_session() -> None:
    found = {
        process.pid: process
        for process in (
            Process(1, 0, 1, 0, 0),
            Process(10, 1, 10, 0, 0),
            Process(11, 10, 11, 0, 0),
            Process(12, 1, 10, 0, 0),
            Process(13, 12, 13, 0, 0),
            Process(20, 1, 1, 0, 0),
        )
    }

    assert {each.pid for each in family(10, found)} == {10, 11}
    assert {each.pid for each in family(10, found, session=10)} == {10, 11, 12, 13}


def test_the_own_line_of_proc_is_understood() -> None:
    own = parse(Path("/proc/self/stat").read_text())

    assert (own.pid, own.parent, own.session) == (os.getpid(), os.getppid(), os.getsid(0))


def test_the_watch_sees_the_peak_of_parent_and_child_and_names_who_is_left() -> None:
    megabytes = 64
    child = f"held = b'x' * {megabytes << 20}; print(1, flush=True); import time; time.sleep(60)"
    parent = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE,"
        " start_new_session=True)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.readline()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    with MemoryWatch(process.pid, interval_seconds=0.01) as watch:
        deadline = time.monotonic() + 20
        while (grandchild not in {pid for pid, _ in watch.seen}) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.communicate(b"\n")

    assert watch.peak_bytes is not None
    assert megabytes << 20 < watch.peak_bytes < (megabytes + 100) << 20
    assert watch.survivors() == [grandchild]
    os.kill(grandchild, 9)


def test_memory_of_a_process_that_is_gone_is_nothing() -> None:
    assert memory_bytes([2**22 + 1]) == 0
    assert memory_bytes([os.getpid()]) > 1_000_000
