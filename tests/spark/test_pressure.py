"""Whoever is slow slows the job down to the source; memory stays where it was."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import psutil
import pytest

from riverrun.core.lifecycle import JobStatus
from riverrun.testing import processes
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.conftest import MARK, Figure, MakeEnv, await_status, endless, sums

pytestmark = pytest.mark.spark

_MB = 1 << 20


def job_processes() -> list[psutil.Process]:
    """The JVM and the workers that host tasks."""
    return [
        process
        for process in processes.marked(MARK)
        if not processes.is_daemon(process) or processes.is_working(process)
    ]


def growth_mb(watched_s: float) -> dict[int, float]:
    """By how much each process of the job has grown after ``watched_s`` seconds, at most."""
    watched = job_processes()
    early = processes.resident_bytes(watched)
    most = dict(early)
    watch = Stopwatch()

    def sampled() -> bool:
        for pid, size in processes.resident_bytes(watched).items():
            most[pid] = max(most[pid], size)
        return watch.seconds >= watched_s

    wait_until(sampled, what="the memory watched", timeout_s=watched_s + 30)
    return {pid: (most[pid] - early[pid]) / _MB for pid in early}


def pressure_on_source(metrics: Mapping[str, Mapping[str, float]]) -> float:
    """The part of the last second that the freest source subtask was held back, in milliseconds."""
    return min(
        (
            values["backPressuredTimeMsPerSecond"]
            for scope, values in metrics.items()
            if scope.startswith("Source: numbers") and "backPressuredTimeMsPerSecond" in values
        ),
        default=0.0,
    )


def one_a_second(value: Any) -> None:
    time.sleep(1)


def test_a_slow_sink_holds_the_source_back_in_bounded_memory(
    make_env: MakeEnv, figure: Figure
) -> None:
    env = make_env(parallelism=2)
    sums(endless(env)).rebalance().map(lambda v: v).disable_chaining().add_sink(one_a_second)
    client = env.execute_async("slow sink")
    await_status(client)
    wait_until(
        lambda: pressure_on_source(client.get_metrics()) > 900, what="the source is held back"
    )

    grown = growth_mb(15.0)
    figure("growth of the largest process under a slow sink in 15 s", max(grown.values()), "MB")
    assert max(grown.values()) < 100
    assert pressure_on_source(client.get_metrics()) > 900

    watch = Stopwatch()
    client.cancel().result(30)
    figure("cancel under a slow sink", watch.seconds, "s")
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_a_client_that_stops_reading_holds_the_job_and_closing_cancels_it(
    make_env: MakeEnv, figure: Figure
) -> None:
    env = make_env(parallelism=2)
    results = sums(endless(env)).execute_and_collect("unread")
    try:
        next(results)
        job = results._job
        wait_until(lambda: pressure_on_source(job.metrics()) > 900, what="the source is held back")
        own = psutil.Process()
        before = own.memory_info().rss
        grown = growth_mb(8.0)
        grown[own.pid] = (own.memory_info().rss - before) / _MB
        figure("growth of the largest process of an unread job in 8 s", max(grown.values()), "MB")
        assert max(grown.values()) < 100
    finally:
        watch = Stopwatch()
        results.close()
    figure("close of an unread iterator", watch.seconds, "s")

    assert job.status() is JobStatus.CANCELED


def test_an_iterator_that_is_dropped_cancels_its_job(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)
    results = endless(env).execute_and_collect("dropped")
    next(results)
    job = results._job

    del results

    wait_until(lambda: job.status() is JobStatus.CANCELED, what="the job cancelled")
    job.wait(30)


def test_the_first_result_comes_while_the_job_runs(make_env: MakeEnv, figure: Figure) -> None:
    env = make_env(parallelism=2)
    watch = Stopwatch()

    with sums(endless(env, rate=100.0)).execute_and_collect("endless") as results:
        first = next(results)
        figure("warm start: from execute to the first result", watch.seconds, "s")
        later = [next(results) for _ in range(200)]

    assert first[1] == 1
    assert max(count for _, count in later) >= 20


def test_results_of_a_key_come_in_order(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    counts: dict[int, list[int]] = {key: [] for key in range(10)}

    with sums(endless(env)).execute_and_collect("ordered") as results:
        for _ in range(20_000):
            key, count = next(results)
            counts[key].append(count)

    assert all(seen == list(range(1, len(seen) + 1)) for seen in counts.values())


def test_results_are_held_back_by_their_size_not_only_by_their_number(make_env: MakeEnv) -> None:
    env = make_env(parallelism=1)
    results = endless(env).map(lambda v: bytes([v[0]]) * _MB).execute_and_collect("large")
    try:
        next(results)
        own = psutil.Process()
        job = results._job
        wait_until(lambda: pressure_on_source(job.metrics()) > 900, what="the source is held back")
        before = own.memory_info().rss
        grown = growth_mb(5.0)
        grown[own.pid] = (own.memory_info().rss - before) / _MB
        assert max(grown.values()) < 100
    finally:
        results.close()
