"""With debloating little is in flight towards a slow function: counted on Spark, where most of it would be."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core import options
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import wait_until
from tests.spark.conftest import Figure, MakeEnv, await_status

pytestmark = pytest.mark.spark

RECORD_MS = 1
TARGET_MS = 1000
ON = {options.DEBLOAT.key: "true", options.METRICS_INTERVAL.key: "100 ms"}
OFF = {options.METRICS_INTERVAL.key: "100 ms"}


def slowly(value: int) -> int:
    time.sleep(RECORD_MS / 1000)
    return value


def start(make_env: MakeEnv, config: dict[str, str], parallelism: int) -> JobClient:
    env = make_env(parallelism, config)
    source = DataGeneratorSource(lambda number: number, None, None)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.rebalance().map(slowly).name("slow").add_sink(lambda value: None)
    client = env.execute_async("slow map")
    await_status(client)
    return client


def counted(client: JobClient, operator: str, metric: str) -> int:
    """What all subtasks of an operator have counted."""
    found = client.get_metrics().items()
    return int(sum(values[metric] for scope, values in found if scope.endswith(f".{operator}")))


def in_flight(client: JobClient, after: int) -> int:
    """Records made and not done, when the slow function has done ``after`` records."""
    wait_until(
        lambda: counted(client, "slow", "numRecordsIn") >= after,
        what=f"{after} records done",
        timeout_s=120,
    )
    done = counted(client, "slow", "numRecordsIn")
    return counted(client, "Source: numbers", "numRecordsOut") - done


@pytest.mark.parametrize("parallelism", [1, 2])
def test_what_is_in_flight_is_what_a_slow_function_works_off_within_the_target(
    make_env: MakeEnv, figure: Figure, parallelism: int
) -> None:
    bloated = start(make_env, OFF, parallelism)
    without = in_flight(bloated, 3000 * parallelism)
    bloated.cancel().result(30)

    client = start(make_env, ON, parallelism)
    samples = [in_flight(client, 1000 * parallelism * number) for number in range(2, 6)]
    client.cancel().result(30)

    figure("in flight without debloating", without, "records")
    figure("in flight with debloating, at most", max(samples), "records")
    # A record takes a millisecond at least, so a subtask works off no more than this within the target.
    possible = parallelism * TARGET_MS // RECORD_MS
    assert max(samples) < 2 * possible
    assert without > 5 * max(samples)


def test_a_source_is_back_pressured_while_it_waits_for_room(make_env: MakeEnv) -> None:
    client = start(make_env, ON, 1)

    def pressed() -> bool:
        found = client.get_metrics()
        of_source = [v for s, v in found.items() if s.startswith("Source") and s.endswith(".0")]
        return any(v.get("backPressuredTimeMsPerSecond", 0.0) > 800 for v in of_source)

    def estimated() -> bool:
        found = client.get_metrics().values()
        sizes = [v["debloatedBufferSize"] for v in found if "debloatedBufferSize" in v]
        times = [v.get("estimatedTimeToConsumeBuffersMs", 0.0) for v in found]
        return bool(sizes) and max(sizes) < 8192 and max(times) > 0

    wait_until(pressed, what="the source is held back", timeout_s=60)
    wait_until(estimated, what="what the debloater decided", timeout_s=60)
    client.cancel().result(30)


def test_results_are_exact_and_checkpoints_complete(make_env: MakeEnv, tmp_path: Path) -> None:
    count = 4000
    config = {
        **ON,
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": str(tmp_path),
    }
    env = make_env(2, config)
    source = DataGeneratorSource(lambda number: number, count, None)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    slow = numbers.key_by(lambda number: number % 7).map(slowly)
    results = slow.rebalance().map(lambda number: number + 1).execute_and_collect("exact")
    with results:
        got = sorted(results)
        statistics = results._job.checkpoints()

    assert got == list(range(1, count + 1))
    assert statistics is not None
    assert statistics.counts.completed >= 1
