"""Several jobs on one session, at once and one after the other, keep out of each other's way."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from riverrun.core.errors import JobFailed
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.waiting import Stopwatch
from tests.spark.conftest import Figure, MakeEnv, await_status, endless, sums

pytestmark = pytest.mark.spark


_THREADS = {
    "MainThread",
    "pyspark-pipelined-reader",
    "riverrun-control",
    "riverrun-metrics",
    "riverrun-reader",
}
"""The threads that a worker has while it hosts a task: one of each."""


def boom(value: Any) -> Any:
    raise ValueError(f"no good: {value}")


def totals(env: StreamExecutionEnvironment, count: int, mark: str) -> dict[Any, Any]:
    """The last sum of each key of ``count`` numbers, all marked with the job's own mark."""
    stream = (
        env.from_sequence(0, count - 1)
        .key_by(lambda x: x % 7)
        .map(lambda x: (mark, x % 7, x))
        .key_by(lambda v: v[1])
        .reduce(lambda a, b: (a[0] if a[0] == b[0] else "mixed", a[1], a[2] + b[2]))
    )
    with stream.execute_and_collect(mark) as results:
        return {(mark, key): total for mark, key, total in results}


def expected(count: int, mark: str) -> dict[Any, Any]:
    return {(mark, key): sum(range(key, count, 7)) for key in range(7)}


def test_two_jobs_at_once_from_two_environments_give_their_own_results(make_env: MakeEnv) -> None:
    first, second = make_env(parallelism=2), make_env(parallelism=2)
    found: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda e=env, m=mark: found.update({m: totals(e, 100_000, m)}))
        for env, mark in ((first, "first"), (second, "second"))
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {mark: expected(100_000, mark) for mark in ("first", "second")}


def test_two_jobs_at_once_from_one_environment(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)
    endless(env, rate=100.0).add_sink(lambda v: None)
    running = env.execute_async("beside")
    await_status(running)

    assert totals(env, 1000, "alone") == expected(1000, "alone")
    assert running.get_job_status().result() is JobStatus.RUNNING
    running.cancel().result(30)


def test_a_job_that_fails_does_not_harm_the_one_beside_it(make_env: MakeEnv) -> None:
    healthy, sick = make_env(parallelism=2), make_env(parallelism=2)
    with sums(endless(healthy, rate=200.0)).execute_and_collect("healthy") as results:
        next(results)
        sums(endless(sick)).map(boom).add_sink(lambda v: None)

        with pytest.raises(JobFailed, match="no good"):
            sick.execute("sick")

        last = [next(results) for _ in range(500)]
    assert max(count for _, count in last) >= 50


def test_a_job_that_is_cancelled_does_not_harm_the_one_beside_it(make_env: MakeEnv) -> None:
    healthy, other = make_env(parallelism=2), make_env(parallelism=2)
    with sums(endless(healthy, rate=200.0)).execute_and_collect("healthy") as results:
        next(results)
        sums(endless(other)).add_sink(lambda v: None)
        client = other.execute_async("other")
        await_status(client)

        client.cancel().result(30)

        last = [next(results) for _ in range(500)]
    assert max(count for _, count in last) >= 50


def threads_here(value: Any) -> tuple[int, list[str]]:
    return os.getpid(), sorted(thread.name for thread in threading.enumerate())


def test_workers_serve_one_job_after_the_other_without_a_trace_of_the_last(
    make_env: MakeEnv, figure: Figure
) -> None:
    env = make_env(parallelism=2)
    slowest = 0.0
    for number in range(20):
        mark = f"job {number}"
        if number % 5 == 3:
            env.from_sequence(0, 100).key_by(lambda x: x).map(boom).add_sink(lambda v: None)
            with pytest.raises(JobFailed, match="no good"):
                env.execute(mark)
        elif number % 5 == 4:
            sums(endless(env)).add_sink(lambda v: None)
            client = env.execute_async(mark)
            await_status(client)
            client.cancel().result(30)
        else:
            watch = Stopwatch()
            assert totals(env, 700, mark) == expected(700, mark)
            slowest = max(slowest, watch.seconds)
    figure("a whole small job on a warm session, the slowest of 12", slowest, "s")

    stream = env.from_sequence(0, 3).key_by(lambda x: x).map(threads_here)
    with stream.execute_and_collect("threads") as results:
        seen = list(results)
    assert len({pid for pid, _ in seen}) > 1
    for _, names in seen:
        assert len(names) == len(set(names))
        assert set(names) <= _THREADS
