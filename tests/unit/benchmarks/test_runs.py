"""A measured process: what is known of it at its end, and that it leaves nobody behind."""

import dataclasses
import json
import os
import sys
import time
from pathlib import Path

import pytest

from benchmarks.measurement import Measurement, read
from benchmarks.resources import processes
from benchmarks.systems import RunFailed, system
from tests.unit.benchmarks.made_up import measurement

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="reads Linux's /proc"
)

LINE = "BENCHMARK " + json.dumps(dataclasses.asdict(measurement("keyed", "made-up", 1_000.0)))
LEAVES_ONE = f"""
import subprocess, sys, time
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
print(left.pid)
time.sleep(0.5)
print({LINE!r})
"""


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(system, "ROOT", tmp_path)
    monkeypatch.setattr(system, "CACHE", tmp_path)
    return tmp_path / "logs" / "made-up-keyed.log"


def run(program: str, deadline_seconds: float = 60.0) -> Measurement:
    return system._run("made-up", "keyed", [sys.executable, "-c", program], deadline_seconds)


def running(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    if pid not in processes():
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_measurement_has_peak_and_duration_and_nobody_is_left(logs: Path) -> None:
    found = run(LEAVES_ONE)

    assert found.rate == pytest.approx(1_000)
    assert found.peak_bytes is not None
    assert 5_000_000 < found.peak_bytes < 99_000_000
    assert found.cell_seconds is not None
    assert 0.5 <= found.cell_seconds < 60
    left = int(logs.read_text().splitlines()[0])
    deadline = time.monotonic() + 30
    while running(left):  # killed, and on its way
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_process_that_takes_too_long_is_ended(logs: Path) -> None:
    with pytest.raises(
        RunFailed, match=r"made-up keyed: ran past 1 s, log 'logs/made-up-keyed.log'"
    ):
        run("import os, time; print(os.getpid(), flush=True); time.sleep(300)", 1.0)

    left = int(logs.read_text().splitlines()[0])
    deadline = time.monotonic() + 30
    while running(left):  # killed, and on its way
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_process_that_fails_says_its_last_words() -> None:
    with pytest.raises(RunFailed, match=r"ended with 1, .*\n(.*\n)*why"):
        run(f"print({LINE!r}); raise SystemExit('why')")


def test_a_line_of_before_cpu_and_memory_still_reads() -> None:
    known = json.loads(LINE.removeprefix("BENCHMARK "))
    for name in ("small_cpu_seconds", "cpu_seconds", "peak_bytes", "cell_seconds"):
        del known[name]
    found = read(f"{os.linesep}BENCHMARK {json.dumps(known)}")

    assert found is not None
    assert found.rate == pytest.approx(1_000)
    assert (found.cpu_per_million, found.peak_bytes) == (None, None)
