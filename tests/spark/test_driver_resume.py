"""A job whose driver was killed is resumed in its place; executors are killed and replaced."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
import pytest

from riverrun.testing import processes
from riverrun.testing.standalone import StandaloneCluster
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.allround.file_sink import committed
from tests.spark.allround.job import Shape, open_gate
from tests.spark.allround.oracle import problems
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sabotage import Saboteur, Target
from tests.spark.conftest import MARK, Figure

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_JOB = "0123456789abcdef0123456789abcdef"
_SHAPE = Shape(per_key=300, rate=800.0)

_PROGRAM = f"""
from pathlib import Path
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.spark.allround.job import Shape, build
from tests.spark.allround.sabotage import watch

here = Path(__file__).resolve().parent
watch("master", here / "sabotage")
env = StreamExecutionEnvironment.get_execution_environment()
build(env, {_SHAPE!r}, here)
env.execute("all-round")
"""


class Program:
    """The all-round job as a script of its own, run with ``river run``."""

    def __init__(self, folder: Path, config: Mapping[str, str]) -> None:
        self.folder = folder
        self.store = folder / "store"
        self.saboteur = Saboteur(folder / "sabotage")
        self._config = {
            **RECOVERING,
            "riverrun.master": "local[2]",
            "execution.checkpointing.dir": str(self.store),
            **config,
        }
        (folder / "job.py").write_text(_PROGRAM)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run it, with ``arguments`` of ``river run``."""
        definitions = [f"-D{key}={value}" for key, value in self._config.items()]
        river = [sys.executable, "-c", "from riverrun.cli.main import main; main()", "run"]
        return subprocess.Popen(
            [*river, *definitions, *arguments, "job.py"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def checkpoints(self) -> list[int]:
        """The numbers of the complete checkpoints."""
        return sorted(int(path.parent.name[4:]) for path in self.store.glob("*/chk-*/_metadata"))

    def await_checkpoint(self, driver: subprocess.Popen[str]) -> int:
        """Wait for a checkpoint newer than those that are there; its number."""
        before = max(self.checkpoints(), default=0)
        await_while(driver, lambda: max(self.checkpoints(), default=0) > before, "a checkpoint")
        return max(self.checkpoints())

    def finish(self, driver: subprocess.Popen[str]) -> None:
        """Let it run to its end, and hold the result against the oracle."""
        open_gate(self.folder)
        out, err = driver.communicate(timeout=120)
        assert driver.returncode == 0, f"{out}\n{err}"
        assert problems(_SHAPE, committed(self.folder / "out")) == []


def await_while(driver: subprocess.Popen[str], condition: Callable[[], bool], what: str) -> None:
    """Wait for something that happens only while the driver runs."""

    def happened() -> bool:
        if condition():
            return True
        if driver.poll() is not None:
            out, err = driver.communicate()
            raise AssertionError(f"the driver ended before: {what}\n{out}\n{err}")
        return False

    wait_until(happened, what=what, timeout_s=120)


def kill(driver: subprocess.Popen[str], others: set[int]) -> None:
    """Kill the driver, and wait until its processes are gone too."""
    driver.kill()
    driver.communicate(timeout=60)
    await_gone(others)


def await_gone(others: set[int]) -> None:
    wait_until(
        lambda: {process.pid for process in processes.marked(MARK)} <= others,
        what="all processes of the driver gone",
    )


def test_a_job_whose_driver_was_killed_is_resumed_with_exact_results(
    tmp_path: Path, nothing_left: None, figure: Figure
) -> None:
    others = {process.pid for process in processes.marked(MARK)}
    program = Program(tmp_path, {})
    driver = program.start("--job-id", _JOB)
    latest = program.await_checkpoint(driver)
    kill(driver, others)

    watch = Stopwatch()
    resumed = program.start("--resume")
    newer = program.await_checkpoint(resumed)
    figure("from the start of `river run --resume` to the next checkpoint", watch.seconds, "s")

    assert newer > latest
    program.finish(resumed)


@pytest.mark.slow
def test_a_driver_may_die_at_each_of_its_operations_of_the_store(
    tmp_path: Path, nothing_left: None
) -> None:
    others = {process.pid for process in processes.marked(MARK)}
    program = Program(tmp_path, {})
    driver = program.start("--job-id", _JOB)
    program.await_checkpoint(driver)
    program.saboteur.record(on=True)
    program.await_checkpoint(driver)
    program.saboteur.record(on=False)
    kinds = {kind for _, kind, _ in program.saboteur.operations()}
    for kind in sorted(kinds):
        for moment in ("before", "after"):
            program.saboteur.arm(Target("master", kind, 1, moment))
            driver.communicate(timeout=120)
            await_gone(others)
            driver = program.start("--resume", "--job-id", _JOB)
            program.await_checkpoint(driver)
    program.finish(driver)


@pytest.mark.slow
def test_results_are_exact_though_executors_are_killed(
    tmp_path: Path, nothing_left: None, figure: Figure
) -> None:
    with StandaloneCluster(tmp_path) as cluster:
        config = {
            "riverrun.master": cluster.master,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        program = Program(tmp_path, config)
        driver = program.start()
        try:
            program.await_checkpoint(driver)
            for number in range(2):
                watch = Stopwatch()
                victim = await_executors()[number]
                victim.kill()
                await_while(driver, lambda: not victim.is_running(), "the executor is gone")  # noqa: B023
                program.await_checkpoint(driver)
                figure("from an executor's death to the next checkpoint", watch.seconds, "s")
            program.finish(driver)
        finally:
            driver.kill()
            driver.communicate()


def await_executors() -> list[psutil.Process]:
    """Both executors."""

    def both() -> list[psutil.Process] | None:
        found = [process for process in processes.marked(MARK) if _EXECUTOR in process.cmdline()]
        return found if len(found) == 2 else None

    executors = wait_until(both, what="two executors")
    assert executors is not None
    return executors
