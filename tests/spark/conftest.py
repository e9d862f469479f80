"""Spark tests: an environment on the shared session, and a look at what every test left behind."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.configuration import Configuration
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.testing import processes
from riverrun.testing.leaks import Snapshot, leaks_since
from riverrun.testing.waiting import wait_until

MakeEnv = Callable[..., StreamExecutionEnvironment]
Figure = Callable[[str, float, str], None]
Row = Callable[[str, Mapping[str, object]], None]

MARK = processes.mark_descendants()
# Folders of other programs on this machine must not look like ours.
_FOLDER = tempfile.mkdtemp(prefix="tests-")
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
os.environ["TMPDIR"] = _FOLDER
tempfile.tempdir = None


_figures: list[str] = []
_tables: dict[str, list[dict[str, str]]] = {}


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Figure:
    """``figure(what, value, unit)``: a measured value, shown at the end of the run."""

    def note(what: str, value: float, unit: str) -> None:
        _figures.append(f"{what}: {value:.2f} {unit}  ({request.node.name})")

    return note


@pytest.fixture
def row() -> Row:
    """``row(table, {column: value})``: a line of a table that is shown at the end of the run."""

    def note(table: str, values: Mapping[str, object]) -> None:
        line = {column: str(value) for column, value in values.items()}
        _tables.setdefault(table, []).append(line)

    return note


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show what was measured."""
    if _figures:
        terminalreporter.section("measured on Spark")
        for line in _figures:
            terminalreporter.write_line(line)
    for title, rows in _tables.items():
        terminalreporter.section(title)
        for line in _aligned(rows):
            terminalreporter.write_line(line)


def _aligned(rows: list[dict[str, str]]) -> Iterator[str]:
    lines = [dict(zip(rows[0], rows[0], strict=True)), *rows]
    widths = {column: max(len(line[column]) for line in lines) for column in rows[0]}
    for line in lines:
        yield "  ".join(line[column].ljust(width) for column, width in widths.items()).rstrip()


@pytest.fixture(scope="session")
def warm_session(spark_session: Any) -> Any:
    """The shared session after its first job, so that what Spark keeps for ever is there already."""
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark_session)
    env.set_parallelism(2)
    env.from_collection(range(10)).rebalance().map(lambda x: x).add_sink(lambda x: None)
    env.execute("warm-up")
    env.close()
    return spark_session


@pytest.fixture
def no_leaks(warm_session: Any) -> Iterator[None]:
    """After the test: no process, thread, listening socket, folder or Spark job that was not there."""
    before = Snapshot.take(MARK, warm_session)
    yield
    assert leaks_since(before, warm_session) == []


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """For tests with applications of their own: after the test all their processes and files are gone."""
    before = Snapshot.take(MARK, daemons=True)
    yield
    assert leaks_since(before, daemons=True, patience_s=15.0) == []


@pytest.fixture
def make_env(warm_session: Any, no_leaks: None) -> Iterator[MakeEnv]:
    """``make_env(parallelism=1, **config)``: an environment on the shared session."""
    made: list[StreamExecutionEnvironment] = []

    def make(parallelism: int = 1, config: dict[str, str] | None = None) -> Any:
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration(config or {}), spark=warm_session
        )
        env.set_parallelism(parallelism)
        made.append(env)
        return env

    yield make
    for env in made:
        env.close()


def await_status(
    client: JobClient, status: JobStatus = JobStatus.RUNNING, timeout_s: float = 30.0
) -> None:
    """Wait until the job is in ``status``."""
    wait_until(
        lambda: client.get_job_status().result() is status,
        what=f"the job in {status.value}",
        timeout_s=timeout_s,
    )


def endless(env: StreamExecutionEnvironment, rate: float | None = None) -> DataStream:
    """Pairs of a key from 0 to 9 and a one, for ever; as fast as possible without ``rate``."""
    source = DataGeneratorSource(lambda i: (i % 10, 1), None, rate)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def sums(stream: DataStream) -> DataStream:
    """The running sum of each key."""
    return stream.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).name("sums")


def assert_no_java(text: str) -> None:
    """A message for people names no class of Java's and no file of Spark's."""
    for word in ("py4j", "java.", "org.apache", "pyspark", "\tat "):
        assert word not in text


def start_script(
    folder: Path, script: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Run a program of its own, as a user does: ``python script.py`` in ``folder``."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(script))
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_script(
    folder: Path, script: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program of its own to its end; fails when it does, with what it said."""
    program = start_script(folder, script, env)
    out, err = program.communicate(timeout=150)
    assert program.returncode == 0, f"exit code {program.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(program.args, program.returncode, out, err)


def pids(client: JobClient) -> dict[tuple[str, int], int]:
    """The process of each subtask, relays included."""
    return dict(client._job.processes())  # type: ignore[attr-defined]
