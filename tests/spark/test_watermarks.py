"""Event time on Spark: an idle source does not hold it back, and a fast source waits for a slow one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import ProcessFunction
from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.protocol.elements import MIN_TIMESTAMP
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

OWN_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda pair, _: pair[1]
)
OFTEN = {"pipeline.auto-watermark-interval": "20 ms"}


class Silent(Source[Any]):
    """Never has a record, and never ends."""

    def create_splits(self, parallelism: int) -> list[Any]:
        return ["nothing"] * parallelism

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _SilentReader()

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED


class _SilentReader(SourceReader[Any]):
    def poll(self, limit: int) -> Polled:
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=3_600_000.0)

    def snapshot_splits(self) -> list[Any]:
        return []


class Look(ProcessFunction):
    """Each record with the watermark when it came."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


def paced(
    env: StreamExecutionEnvironment,
    name: str,
    *,
    per_second: float,
    step: int,
    count: int | None = None,
    strategy: WatermarkStrategy = OWN_TIME,
) -> DataStream:
    """Pairs of the name and an event time that rises by ``step``."""
    source = DataGeneratorSource(lambda index: (name, index * step), count, per_second)
    return env.from_source(source, strategy, name)


def test_an_idle_source_does_not_hold_event_time_back(make_env: MakeEnv) -> None:
    env = make_env(config=OFTEN)
    silent = env.from_source(Silent(), OWN_TIME.with_idleness(Duration.of_millis(100)), "silent")
    busy = paced(env, "busy", per_second=200.0, step=5)
    seen: list[int] = []

    with busy.union(silent).rebalance().process(Look()).execute_and_collect() as results:
        for _, watermark in results:
            seen.append(watermark)
            if watermark > seen[0]:
                break

    assert seen[0] == MIN_TIMESTAMP
    assert seen[-1] >= 0


def test_a_fast_source_waits_for_a_slow_one_and_goes_on_when_that_ends(make_env: MakeEnv) -> None:
    """Alone the fast source is done in one second; the slow one takes two."""
    env = make_env(config=OFTEN)
    aligned = OWN_TIME.with_watermark_alignment(
        "sources", Duration.of_millis(100), Duration.of_millis(20)
    )
    slow = paced(env, "slow", per_second=50.0, step=20, count=100, strategy=aligned)
    fast = paced(env, "fast", per_second=5000.0, step=20, count=5000, strategy=aligned)

    with slow.union(fast).rebalance().process(Look()).execute_and_collect() as results:
        order = [name for (name, _), _ in results]

    assert order.count("slow") == 100
    assert order.count("fast") == 5000
    last_slow = len(order) - 1 - order[::-1].index("slow")
    assert order[:last_slow].count("fast") < 5000
