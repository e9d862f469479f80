"""A session as a user has it: a JobManager in the background, and everything else from the shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.testing.waiting import wait_until

pytestmark = pytest.mark.spark

River = Callable[..., "subprocess.CompletedProcess[str]"]

_COUNTING = """
import sys
from riverrun import DataGeneratorSource, StreamExecutionEnvironment, WatermarkStrategy

def note(value):
    with open(sys_argv[1], "a") as file:
        file.write(f"{value[1]}\\n")

sys_argv = sys.argv
env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(500)
numbers = DataGeneratorSource(lambda i: ("all", 1), None, 50.0)
stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
counts = stream.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
counts.name("counts").uid("counts").add_sink(note).name("file")
env.execute("counting")
"""

_DOUBLES = """
from riverrun import StreamExecutionEnvironment
import beside

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(range(5)).map(beside.double).print()
env.execute("doubles")
"""


@pytest.fixture
def river(tmp_path: Path, nothing_left: None) -> Iterator[River]:
    """``river("list", code=0)``: run a command; fails when it ends with another code."""
    variables = {**os.environ, "RIVERRUN_STATE_DIR": str(tmp_path / "state")}

    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "riverrun", *map(str, arguments)]
        said = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert said.returncode == code, (
            f"{arguments}: {said.returncode}\n{said.stdout}{said.stderr}"
        )
        return said

    yield run
    run("cluster", "stop", code=3)


def numbers(file: Path) -> list[int]:
    lines = file.read_text().split() if file.exists() else []
    return [int(line) for line in lines]


def await_numbers(file: Path, more_than: int = 0) -> None:
    wait_until(
        lambda: len(numbers(file)) > more_than,
        what=f"more than {more_than} lines in {file.name}",
        timeout_s=120,
    )


def asked(river: River, *arguments: object) -> Any:
    return json.loads(river(*arguments, "--json").stdout)


def test_a_day_with_a_session(river: River, tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(_COUNTING)
    (tmp_path / "doubles.py").write_text(_DOUBLES)
    (tmp_path / "beside.py").write_text("def double(value):\n    return value * 2\n")
    savepoints, first, second = tmp_path / "savepoints", tmp_path / "first", tmp_path / "second"

    # A JobManager in the background, on a port that is free.
    started = asked(river, "cluster", "start", "-d", "--port", 0, "--master", "local[2]")
    place = started["url"].partition("://")[2]
    try:
        port = place.rpartition(":")[2]
        again = river("cluster", "start", "-d", "--port", port, code=1)
        assert f"one serves at {started['url']} already" in again.stderr

        # One job is left behind, another one is waited for.
        left = river("run", "-d", "-p", 1, "counting.py", first)
        job = left.stdout.split("Job has been submitted with JobID ")[1].strip()
        waited = river("run", "-m", place, "-p", 1, "doubles.py")
        assert waited.stdout.splitlines()[1:] == ["0", "2", "4", "6", "8"]
        await_numbers(first)
        states = {each["name"]: each["status"] for each in asked(river, "list", "-a")["jobs"]}
        assert states == {"counting": "RUNNING", "doubles": "FINISHED"}

        # It is looked at and changed while it runs.
        taken = asked(river, "savepoint", "counting", savepoints)["savepoint"]
        assert (Path(taken) / "_metadata").is_file()
        vertices = asked(river, "rescale", job[:12], "-p", 2)["vertices"]
        assert {(each["before"], each["after"]) for each in vertices} == {(1, 2)}
        await_numbers(first, len(numbers(first)))

        # It is stopped, and goes on from there: nothing is lost, nothing counted twice.
        stopped = asked(river, "stop", "counting", "--savepointPath", savepoints)
        assert stopped["status"] == "FINISHED"
        river("run", "-d", "-p", 2, "-s", stopped["savepoint"], "counting.py", second)
        await_numbers(second)
        assert numbers(second)[0] == max(numbers(first)) + 1

        river("savepoint", "--dispose", taken)
        assert not Path(taken).exists()
        assert asked(river, "cancel", "counting")["status"] == "CANCELED"
        assert "job accepted" in river("logs").stdout
    finally:
        river("cluster", "stop")
    assert list((tmp_path / "state").glob("*.json")) == []
