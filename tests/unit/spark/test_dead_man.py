"""The dead man's switch ends a process that nobody can reach any more."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from riverrun.spark.worker.dead_man import DeadManSwitch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's timers are Linux's")

_PROGRAM = """
import itertools, threading
from riverrun.spark.worker.dead_man import DeadManSwitch
switch = DeadManSwitch()
switch.press({seconds})
{then}
"""


def run(seconds: float, then: str) -> int:
    program = _PROGRAM.format(seconds=seconds, then=then)
    return subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode


def test_a_process_whose_interpreter_is_held_is_ended() -> None:
    assert run(0.2, "sum(itertools.repeat(1))") == -signal.SIGKILL


def test_a_process_that_releases_the_switch_goes_on() -> None:
    assert run(0.2, "switch.release(); switch.press(0.0); threading.Event().wait(0.5)") == 0


def test_a_process_that_presses_again_goes_on() -> None:
    presses = "[(switch.press(2.0), threading.Event().wait(0.2)) for _ in range(3)]"
    assert run(0.5, presses) == 0


def test_this_system_has_the_timers() -> None:
    switch = DeadManSwitch()

    assert switch.works
    switch.release()
    assert not switch.works
