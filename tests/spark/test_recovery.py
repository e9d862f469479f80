"""What a job does after a failure: it restarts as often as it may, goes on exactly, and says what happened."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from riverrun.api.functions import MapFunction, RuntimeContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.errors import JobFailed
from riverrun.spark.worker.dead_man import DeadManSwitch
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.allround.chaos import (
    Chaos,
    await_checkpoint,
    await_recovery,
    await_running,
    process_of,
    statistics,
)
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import Figure, MakeEnv, assert_no_java

pytestmark = pytest.mark.spark


class FailsInAttempts(MapFunction):
    """Raises at a record, in the first ``attempts`` attempts."""

    def __init__(self, record: Any, attempts: int) -> None:
        self._record, self._attempts = record, attempts

    def open(self, runtime_context: RuntimeContext) -> None:
        self._raises = runtime_context.get_attempt_number() < self._attempts

    def map(self, value: Any) -> Any:
        if self._raises and value == self._record:
            raise ValueError(f"attempt fails at {value}")
        return value


def test_a_job_whose_function_fails_now_and_then_restarts_and_its_result_is_exact(
    make_env: MakeEnv,
) -> None:
    env = make_env(2, dict(RECOVERING))
    stream = (
        env.from_sequence(0, 999)
        .map(FailsInAttempts(700, attempts=2))
        .map(lambda n: (n % 7, 1, n))
        .key_by(lambda record: record[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
    )

    client = None
    with stream.execute_and_collect("fails twice") as results:
        client = results._job
        found: list[Any] = sorted(results)

    # Two sources feed each key in no fixed order: what is fixed is how often it counts, and the end.
    members = {key: range(key, 1000, 7) for key in range(7)}
    assert [record[:2] for record in found] == [
        (key, count + 1) for key in range(7) for count in range(len(members[key]))
    ]
    totals = {key: total for key, _, total in found}
    assert totals == {key: sum(members[key]) for key in range(7)}
    assert [record.failure.type_name for record in client.failures()] == ["ValueError"] * 2


def test_a_job_that_may_not_restart_any_more_fails_with_the_users_own_traceback(
    make_env: MakeEnv,
) -> None:
    config = {**RECOVERING, "restart-strategy.fixed-delay.attempts": "2"}
    env = make_env(1, config)
    env.from_sequence(0, 99).map(FailsInAttempts(50, attempts=99)).name("sore").print()
    client = env.execute_async("exhausted")

    with pytest.raises(JobFailed, match="attempt fails at 50") as caught:
        client.get_job_execution_result().result(60)

    failure = caught.value.failure
    assert failure.operator == "sore"
    assert "raise ValueError(f" in str(failure.traceback)
    assert isinstance(caught.value.__cause__, ValueError)
    assert len(client.get_failures()) == 3
    assert_no_java(str(caught.value))


def test_a_job_without_restarts_fails_though_it_has_checkpoints(make_env: MakeEnv) -> None:
    env = make_env(1, {**RECOVERING, "restart-strategy.type": "none"})
    env.from_sequence(0, 99).map(FailsInAttempts(50, attempts=1)).print()

    with pytest.raises(JobFailed, match="attempt fails at 50"):
        env.execute("no restarts")


class WithoutSwitch(MapFunction):
    """Takes the dead man's switch out of its process: nothing ends it when it is stopped for long."""

    def open(self, runtime_context: RuntimeContext) -> None:
        import gc  # noqa: PLC0415

        for switch in [each for each in gc.get_objects() if isinstance(each, DeadManSwitch)]:
            switch.release()

    def map(self, value: Any) -> Any:
        return value


def test_nothing_of_a_worker_that_was_stopped_and_woke_up_too_late_counts(
    make_env: MakeEnv, tmp_path: Path, figure: Figure
) -> None:
    config = {
        **RECOVERING,
        "riverrun.heartbeat.interval": "200 ms",
        "riverrun.heartbeat.timeout": "2 s",
    }
    env = make_env(1, config)
    source = SequenceSource(4, 1000, 500.0, str(tmp_path / "gate"))
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .key_by(lambda value: value[0])
        .reduce(lambda a, b: (a[0], b[1]))
        .map(WithoutSwitch())
        .name("zombie")
        .sink_to(FileSink(str(tmp_path / "out")))
    )
    client = env.execute_async("zombie")
    await_checkpoint(client)
    pid = process_of(client, "zombie")

    watch = Stopwatch()
    os.kill(pid, signal.SIGSTOP)
    wait_until(client.get_failures, what="the silence is noticed")
    assert psutil.Process(pid).status() == psutil.STATUS_STOPPED
    # It wakes up in the middle of what it was doing, with a checkpoint begun or acknowledged.
    os.kill(pid, signal.SIGCONT)
    await_recovery(client, 0)
    figure("stop of a worker to running again, heartbeat timeout 2 s", watch.seconds, "s")
    await_checkpoint(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(60)

    wait_until(lambda: not psutil.pid_exists(pid), what="the old worker ended")
    assert f"pid {pid}" in client.get_failures()[0].failure.message
    expected = [(key, n) for key in range(4) for n in range(1000)]
    assert sorted(committed(tmp_path / "out")) == expected


def test_checkpoints_go_on_when_some_tasks_have_finished_and_the_last_one_covers_all(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env(1, dict(RECOVERING))
    short = env.from_collection([(9, n) for n in range(50)])
    source = SequenceSource(4, 1000, 500.0, str(tmp_path / "gate"))
    long = env.from_source(source, WatermarkStrategy.no_watermarks(), "long")
    (
        short.map(lambda value: value)
        .name("short")
        .union(long)
        .key_by(lambda value: value[0])
        .reduce(lambda a, b: (a[0], b[1]))
        .name("latest")
        .sink_to(FileSink(str(tmp_path / "out")))
    )
    client = env.execute_async("some finished")
    chaos = Chaos(client)

    def short_has_left() -> bool:
        completed = statistics(client).latest.completed
        return completed is not None and completed.num_subtasks < 3

    for _ in range(2):
        await_running(client)
        wait_until(short_has_left, what="a checkpoint without the task that finished")
        chaos.kill_and_recover("latest")
        await_checkpoint(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(60)

    expected = [(9, n) for n in range(50)] + [(key, n) for key in range(4) for n in range(1000)]
    assert sorted(committed(tmp_path / "out")) == sorted(expected)
    assert statistics(client).counts.restored == 2
