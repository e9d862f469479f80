"""A job is cancelled in every phase and whatever the user's code does, and nothing is left."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import MapFunction, RuntimeContext
from riverrun.core.errors import JobCanceled
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.conftest import Figure, MakeEnv, await_status, endless, pids, sums

pytestmark = pytest.mark.spark


def cancel(client: JobClient, figure: Figure) -> None:
    watch = Stopwatch()
    client.cancel().result(30)
    figure("cancel", watch.seconds, "s")
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCanceled):
        client.get_job_execution_result().result()


class Stuck(MapFunction):
    """Notes that it is called and then does what it is told, for ever."""

    def __init__(self, sign: Path, how: Callable[[], Any], where: str = "map") -> None:
        self._sign, self._how, self._where = sign, how, where

    def open(self, runtime_context: RuntimeContext) -> None:
        self._be_stuck("open")

    def map(self, value: Any) -> Any:
        self._be_stuck("map")
        return value

    def close(self) -> None:
        self._be_stuck("close")

    def _be_stuck(self, where: str) -> None:
        if where == self._where:
            self._sign.touch()
            self._how()


def loop() -> None:
    while True:
        pass


def sleep() -> None:
    time.sleep(3600)


def swallow() -> None:
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(3600)


def hold_the_interpreter() -> None:
    sum(itertools.repeat(1))


@pytest.mark.parametrize("how", [loop, sleep, swallow, hold_the_interpreter])
def test_a_job_whose_function_does_not_return_is_cancelled(
    make_env: MakeEnv, tmp_path: Path, how: Callable[[], Any], figure: Figure
) -> None:
    # A process that holds its interpreter hears nothing: it ends when its heartbeats are overdue.
    env = make_env(parallelism=1, config={"riverrun.heartbeat.timeout": "4 s"})
    sign = tmp_path / "stuck"
    endless(env).rebalance().map(Stuck(sign, how)).add_sink(lambda v: None)
    client = env.execute_async("stuck")
    wait_until(sign.exists, what="the function called")

    cancel(client, figure)


@pytest.mark.parametrize("where", ["open", "close"])
def test_a_job_stuck_in_open_or_close_is_cancelled(
    make_env: MakeEnv, tmp_path: Path, where: str, figure: Figure
) -> None:
    env = make_env(parallelism=1)
    sign = tmp_path / "stuck"
    env.from_collection([1]).map(Stuck(sign, sleep, where)).add_sink(lambda v: None)
    client = env.execute_async("stuck")
    wait_until(sign.exists, what=f"{where} called")

    cancel(client, figure)


def silence() -> Iterator[int]:
    threading.Event().wait()
    yield 1


def idle(env: StreamExecutionEnvironment) -> None:
    sums(env.add_source(silence, "silence")).add_sink(lambda v: None)


def busy(env: StreamExecutionEnvironment) -> None:
    sums(endless(env).rebalance().map(lambda v: v)).add_sink(lambda v: None)


def delivering(env: StreamExecutionEnvironment) -> None:
    endless(env, 1000.0).print()


@pytest.mark.parametrize("program", [idle, busy, delivering])
def test_a_running_job_is_cancelled(
    make_env: MakeEnv, program: Callable[[StreamExecutionEnvironment], None], figure: Figure
) -> None:
    env = make_env(parallelism=2)
    program(env)
    client = env.execute_async("running")
    await_status(client)
    wait_until(client.get_metrics, what="the first metrics")

    cancel(client, figure)


def test_a_job_is_cancelled_in_the_moment_of_its_start(make_env: MakeEnv, figure: Figure) -> None:
    env = make_env(parallelism=2)
    busy(env)

    client = env.execute_async("too early")

    cancel(client, figure)


@pytest.mark.parametrize("registered", [1, 3, 6])
def test_a_job_is_cancelled_while_its_tasks_come_up(
    make_env: MakeEnv, registered: int, figure: Figure
) -> None:
    env = make_env(parallelism=2)
    busy(env)
    client = env.execute_async("early")
    wait_until(
        lambda: sum(pid is not None for pid in pids(client).values()) >= registered,
        what=f"{registered} tasks registered",
    )

    cancel(client, figure)


def test_cancelling_twice_and_after_the_end_changes_nothing(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)
    busy(env)
    client = env.execute_async("twice")
    await_status(client)
    client.cancel()

    client.cancel().result(30)
    client.cancel().result(30)

    assert client.get_job_status().result() is JobStatus.CANCELED


def test_closing_the_environment_cancels_its_jobs(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)
    busy(env)
    client = env.execute_async("closed")
    await_status(client)

    env.close()

    assert client.get_job_status().result() is JobStatus.CANCELED
