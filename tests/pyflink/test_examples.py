"""PyFlink's example programs run unchanged and print what they print under PyFlink.

``recorded.json`` holds what PyFlink 2.3 printed, each script's lines sorted, without the number of the
subtask, which depends on how keys are hashed. The slow test runs PyFlink itself again and compares the two.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.setup_peers import PEERS, PeerUnavailable, ensure

RECORDED: dict[str, list[str]] = json.loads(Path(__file__).with_name("recorded.json").read_text())
ON_SPARK = ("word_count", "event_time_timer", "windowing/session_with_dynamic_gap_window")
NOISE = re.compile(
    r"Using Any for|No module named google|PYFLINK_CYTHON_ENABLED|spark started |job is [A-Z]+ job="
)
SUBTASK = re.compile(r"^\d+> ")


def printed(output: str) -> list[str]:
    """What a script printed: in no order, without subtasks and without log lines."""
    lines = [line for line in output.splitlines() if not NOISE.match(line)]
    return sorted(SUBTASK.sub("", line) for line in lines)


def run(command: Sequence[str], path: str | None = None) -> list[str]:
    environment = dict(os.environ) if path is None else {**os.environ, "PATH": path}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return printed(done.stdout)


def river(script: Path, *options: str) -> list[str]:
    return run([sys.executable, "-m", "riverrun", "run", "--pyflink", *options, str(script)])


@pytest.mark.parametrize("name", RECORDED)
def test_a_script_prints_what_it_prints_under_pyflink(name: str, scripts: Path) -> None:
    assert river(scripts / f"{name}.py", "--master", "in-process") == RECORDED[name]


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", [ON_SPARK[0], *(pytest.param(each, marks=pytest.mark.slow) for each in ON_SPARK[1:])]
)
def test_a_script_prints_the_same_on_spark(name: str, scripts: Path) -> None:
    assert river(scripts / f"{name}.py", "--master", "local[2]") == RECORDED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_pyflink_itself_and_riverrun_on_spark_print_the_same(name: str, scripts: Path) -> None:
    try:
        python = ensure(PEERS["pyflink"])
    except PeerUnavailable as unavailable:
        pytest.skip(f"PyFlink cannot be installed here: {unavailable}")
    # PyFlink starts its workers with the "python" that it finds first.
    path = os.pathsep.join((str(python.parent), os.environ["PATH"]))
    script = scripts / f"{name}.py"

    assert run([str(python), str(script)], path) == river(script, "--master", "local[2]")


def test_every_example_that_needs_nothing_else_is_compared(scripts: Path) -> None:
    """The others need the Table API, or a Kafka, Pulsar or Elasticsearch server."""
    left_out = {
        str(script.relative_to(scripts))
        for script in scripts.rglob("*.py")
        if str(script.relative_to(scripts).with_suffix("")) not in RECORDED
    }
    assert all(
        name.startswith("connectors/")
        or "StreamTableEnvironment" in (scripts / name).read_text(encoding="utf-8")
        for name in left_out
    ), left_out
