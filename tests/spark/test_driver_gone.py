"""When the driver or its JVM dies, the workers end by themselves and nothing stays behind."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from riverrun.testing import processes
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.conftest import MARK, Figure, run_script, start_script

pytestmark = pytest.mark.spark

_ENDLESS = """
import sys, time
from pathlib import Path
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.datastream.environment import StreamExecutionEnvironment

def stuck(value):
    Path("stuck").touch()
    time.sleep(3600)

config = {"riverrun.master": "local[2]", "riverrun.heartbeat.timeout": "5 s"}
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
stream = env.from_source(DataGeneratorSource(lambda i: i), None, "endless")
stream.rebalance().map(stuck).add_sink(lambda x: None)
env.execute()
"""


def test_a_killed_driver_takes_its_jvm_its_workers_and_its_files_with_it(
    tmp_path: Path, nothing_left: None, figure: Figure
) -> None:
    before = {process.pid for process in processes.marked(MARK)}
    driver = start_script(tmp_path, _ENDLESS)
    wait_until((tmp_path / "stuck").exists, what="a record in the function", timeout_s=120)
    assert any(
        processes.is_working(process)
        for process in processes.marked(MARK)
        if process.pid not in before and processes.is_worker(process)
    )

    watch = Stopwatch()
    driver.kill()
    driver.communicate(timeout=60)
    wait_until(
        lambda: {process.pid for process in processes.marked(MARK)} <= before,
        what="all processes of the driver gone",
    )

    figure("from the driver's death to the end of its last process", watch.seconds, "s")


@pytest.mark.slow
def test_a_driver_that_is_interrupted_leaves_nothing(tmp_path: Path, nothing_left: None) -> None:
    driver = start_script(tmp_path, _ENDLESS)
    wait_until((tmp_path / "stuck").exists, what="a record in the function", timeout_s=120)

    driver.send_signal(signal.SIGINT)

    _, err = driver.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert "py4j" not in err


_JVM_KILLED = """
import json, os, signal, sys, threading
import psutil
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.datastream.environment import StreamExecutionEnvironment

config = {"riverrun.master": "local[2]"}
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
stream = env.from_source(DataGeneratorSource(lambda i: i), None, "endless")
with stream.rebalance().map(lambda x: x).execute_and_collect() as results:
    try:
        for count, _ in enumerate(results):
            if count == 10:
                jvm, = [p for p in psutil.Process().children() if p.name() == "java"]
                jvm.kill()
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error)]))
env.close()

env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
env.from_collection(["a new Spark serves"]).print()
env.execute()
env.close()
"""


def test_a_killed_jvm_fails_the_job_in_words_and_the_next_environment_starts_another(
    tmp_path: Path, nothing_left: None
) -> None:
    done = run_script(tmp_path, _JVM_KILLED)

    lines = done.stdout.splitlines()
    assert "JobFailed" in lines[0]
    assert "WorkerLost" in lines[0] or "does not answer any more" in lines[0]
    assert lines[1] == "a new Spark serves"
