"""A Python worker that is killed fails its job at once, in words."""

from __future__ import annotations

import os
import signal
import sys
import threading
import types
from typing import Any

import psutil
import pytest

from riverrun.api.functions import MapFunction
from riverrun.core.errors import JobFailed
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.conftest import (
    Figure,
    MakeEnv,
    assert_no_java,
    await_status,
    endless,
    pids,
    sums,
)

pytestmark = pytest.mark.spark


class NeverCloses(MapFunction):
    """Fails, and does not come back from ``close``."""

    def map(self, value: Any) -> Any:
        raise ValueError("before the close")

    def close(self) -> None:
        threading.Event().wait()


@pytest.mark.parametrize("victim", ["numbers", "sums"])
@pytest.mark.parametrize("rate", [None, 100.0], ids=["busy", "mostly idle"])
def test_a_killed_worker_fails_the_job_and_is_named(
    make_env: MakeEnv, victim: str, rate: float | None, figure: Figure
) -> None:
    env = make_env(parallelism=2)
    sums(endless(env, rate)).add_sink(lambda v: None)
    client = env.execute_async("killed")
    await_status(client)
    wait_until(client.get_metrics, what="the first metrics")
    (task, subtask), pid = next(
        (place, pid) for place, pid in pids(client).items() if victim in place[0] and place[1] == 1
    )

    watch = Stopwatch()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(JobFailed) as caught:
        client.get_job_execution_result().result(30)

    figure("kill to FAILED", watch.seconds, "s")
    failure = caught.value.failure
    assert failure.type_name == "WorkerLost"
    assert (failure.task, failure.subtask) == (task, subtask)
    assert str(pid) in failure.message
    assert_no_java(str(caught.value))


def test_a_worker_that_kills_itself_fails_the_job(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    def suicide(value: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        return value

    env.from_collection([1]).rebalance().map(suicide).name("last words").add_sink(lambda v: None)

    with pytest.raises(JobFailed) as caught:
        env.execute("suicide")
    assert caught.value.failure.type_name == "WorkerLost"
    assert "last words" in str(caught.value)
    assert_no_java(str(caught.value))


def test_a_function_that_ends_the_process_is_the_cause_of_the_failure(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    env.from_collection([1]).rebalance().map(lambda v: sys.exit("enough")).name("quitter").print()

    with pytest.raises(JobFailed) as caught:
        env.execute("exit")
    assert caught.value.failure.type_name == "SystemExit"
    assert "enough" in str(caught.value)


def test_of_many_failures_at_once_one_of_the_users_own_is_shown(make_env: MakeEnv) -> None:
    env = make_env(parallelism=4)

    def boom(value: Any) -> Any:
        raise ValueError(f"no good: {value}")

    stream = endless(env).rebalance().map(lambda v: v).rebalance().map(boom).name("boom")
    sums(stream).add_sink(lambda v: None)

    with pytest.raises(JobFailed) as caught:
        env.execute("many failures")
    assert caught.value.failure.operator == "boom"
    assert "no good" in caught.value.failure.message


def test_a_failure_is_told_before_the_functions_close(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1, config={"riverrun.cancel.grace": "300 ms"})
    stream = env.from_collection([1]).rebalance().map(NeverCloses()).name("stuck")
    stream.add_sink(lambda v: None)

    with pytest.raises(JobFailed, match="before the close"):
        env.execute("stuck in close")


def test_a_huge_message_of_an_exception_is_shortened(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)

    def boom(value: Any) -> Any:
        raise ValueError("x" * (5 << 20))

    env.from_collection([1]).map(boom).name("talker").add_sink(lambda v: None)

    with pytest.raises(JobFailed) as caught:
        env.execute("talker")
    assert caught.value.failure.operator == "talker"
    assert len(str(caught.value)) < 100_000


def test_a_worker_that_is_stopped_is_given_up_and_ends(make_env: MakeEnv, figure: Figure) -> None:
    env = make_env(parallelism=1, config={"riverrun.heartbeat.timeout": "3 s"})
    sums(endless(env, 100.0)).add_sink(lambda v: None)
    client = env.execute_async("stopped")
    wait_until(lambda: "sums" in str(client.get_metrics()), what="the first metrics")
    pid = next(pid for (task, _), pid in pids(client).items() if "sums" in task)

    watch = Stopwatch()
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(JobFailed, match=rf"WorkerLost: the Python worker \(pid {pid} on"):
        client.get_job_execution_result().result(30)

    figure("stop of a worker to FAILED with a heartbeat timeout of 3 s", watch.seconds, "s")
    wait_until(lambda: not psutil.pid_exists(pid), what="the stopped worker ended")


def test_workers_that_cannot_reach_the_job_master_say_so(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1, config={"riverrun.control.host": "nowhere.invalid"})
    env.from_collection([1]).add_sink(lambda v: None)

    with pytest.raises(JobFailed, match=r"no JobMaster at .*nowhere\.invalid") as caught:
        env.execute("unreachable")
    assert_no_java(str(caught.value))


def test_a_module_that_workers_do_not_have_is_named(
    make_env: MakeEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("only_here")
    exec("def same(value):\n    return value\n", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    env = make_env(parallelism=1)
    env.from_collection([1]).map(module.same).add_sink(lambda v: None)

    with pytest.raises(JobFailed, match="No module named 'only_here'") as caught:
        env.execute("no module")
    assert_no_java(str(caught.value))
