"""The same program on a standalone cluster of two executors, and what the loss of one does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from riverrun.testing import processes
from riverrun.testing.leaks import Snapshot, leaks_since
from riverrun.testing.standalone import StandaloneCluster
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.conftest import MARK, Figure, assert_no_java, start_script

pytestmark = pytest.mark.spark

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"

_PROGRAM = """
import json
from pathlib import Path
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.datastream.environment import StreamExecutionEnvironment
import helper

def say(what, value):
    with Path("said").open("a") as said:
        said.write(json.dumps([what, value]) + "\\n")

env = StreamExecutionEnvironment.get_execution_environment({
    "riverrun.master": Path("master").read_text(),
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
})
env.set_parallelism(2)

stream = (
    env.from_sequence(0, 99_999)
    .map(helper.pair)
    .rebalance()
    .map(helper.placed)
    .key_by(lambda v: v[0])
    .reduce(helper.added)
)
with stream.execute_and_collect() as results:
    last = {key: (total, places) for key, total, places in results}
say("totals", {key: total for key, (total, _) in last.items()})
say("places", sorted({place for _, places in last.values() for place in places}))

endless = env.from_source(DataGeneratorSource(helper.pair), None, "endless")
endless.key_by(lambda v: v[0]).reduce(helper.added).name("sums").add_sink(lambda v: None)
client = env.execute_async("loses an executor")
while client.get_job_status().result().value != "RUNNING":
    pass
say("running", True)
try:
    client.get_job_execution_result().result()
except Exception as error:
    say("failure", str(error))
env.close()
say("closed", True)
"""

_HELPER = """
import os

def pair(i):
    return (i % 10, i, ())

def placed(value):
    return (value[0], value[1], (os.environ["SPARK_EXECUTOR_DIRS"],))

def added(a, b):
    return (a[0], a[1] + b[1], tuple(sorted({*a[2], *b[2]})))
"""


class Story:
    """What the program said, with the time when it said it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "said"

    def told(self, what: str) -> list[Any]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [value for name, value in map(json.loads, lines) if name == what]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Story, float]]:
    """One run of the program; an executor is killed while its second job runs."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "helper.py").write_text(_HELPER)
    before = Snapshot.take(MARK, daemons=True)
    with StandaloneCluster(folder) as cluster:
        (folder / "master").write_text(cluster.master)
        program = start_script(folder, _PROGRAM)
        try:
            story = Story(folder)
            _await(story, program, "running")
            executor = _executors()[0]
            watch = Stopwatch()
            executor.kill()
            _await(story, program, "failure")
            seconds = watch.seconds
            _await(story, program, "closed")
            program.communicate(timeout=60)
            yield story, seconds
        finally:
            program.kill()
            program.communicate()
    assert leaks_since(before, daemons=True, patience_s=20.0) == []


def _await(story: Story, program: subprocess.Popen[str], what: str) -> None:
    def told() -> bool:
        if story.told(what):
            return True
        if program.poll() is not None:
            out, err = program.communicate()
            raise AssertionError(f"the program ended before {what!r}\n{out}\n{err}")
        return False

    wait_until(told, what=f"the program says {what!r}", timeout_s=120)


def _executors() -> list[psutil.Process]:
    return [process for process in processes.marked(MARK) if _EXECUTOR in process.cmdline()]


def test_a_program_gives_the_same_result_on_two_executors(run: tuple[Story, float]) -> None:
    story, _ = run

    (totals,) = story.told("totals")
    assert totals == {str(key): sum(range(key, 100_000, 10)) for key in range(10)}


def test_the_tasks_ran_on_both_executors_and_found_the_modules_of_the_program(
    run: tuple[Story, float],
) -> None:
    story, _ = run

    (places,) = story.told("places")
    assert len(places) == 2


def test_a_killed_executor_fails_the_job_in_words(run: tuple[Story, float], figure: Figure) -> None:
    story, seconds = run

    (failure,) = story.told("failure")
    figure("from the executor's death to FAILED", seconds, "s")
    assert "WorkerLost" in failure
    assert "executor" in failure
    assert "was lost" in failure
    assert_no_java(failure)
