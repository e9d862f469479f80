"""Programs of columns give the same result whatever happens to their workers and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.columns import col
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.simulate import Faults, Variety, simulate

Build = Callable[[StreamExecutionEnvironment], DataStream]
COUNT = 48


def stream(env: StreamExecutionEnvironment) -> DataStream:
    """Rows of four keys, none of which is ever late: out of order by at most 40."""
    env.configure({"pipeline.auto-watermark-interval": "2 ms"})
    numbers = range(COUNT)
    table = pa.table(
        {
            "k": [f"key {number % 4}" for number in numbers],
            "n": [None if number % 7 == 3 else number for number in numbers],
            "ts": [(number * 7) // 5 + (number * 13) % 29 for number in numbers],
        }
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(40))
    return env.from_batches(table, strategy.with_timestamp_column("ts"))


def results(windowed: Any) -> DataStream:
    made = windowed.aggregate_columns(
        Agg.count(), Agg.sum("n"), Agg.min("n"), Agg.max("k"), Agg.approx_distinct("n")
    )
    rows: DataStream = made.map(tuple)
    return rows


def tumbling(env: StreamExecutionEnvironment) -> DataStream:
    kept = stream(env).filter_batches((col("n") != 5) | col("n").is_null())
    return results(kept.key_by(col("k")).window(TumblingEventTimeWindows.of(10)))


def sliding(env: StreamExecutionEnvironment) -> DataStream:
    return results(stream(env).key_by_columns("k").window(SlidingEventTimeWindows.of(14, 5)))


def everything(env: StreamExecutionEnvironment) -> DataStream:
    return results(stream(env).rebalance().window_all(SlidingEventTimeWindows.of(20, 10)))


def in_two_phases(env: StreamExecutionEnvironment) -> DataStream:
    """Aggregates that are the same in whatever portions records are added up."""
    windowed = stream(env).key_by_columns("k").window(SlidingEventTimeWindows.of(14, 5))
    return windowed.aggregate_columns(
        Agg.count(), Agg.count("n"), Agg.sum("n"), Agg.mean("n"), Agg.min("n"), Agg.max("ts")
    ).map(tuple)


def rolling(env: StreamExecutionEnvironment) -> DataStream:
    """How often each key was met so far; what it is with depends on who came first."""
    counts = stream(env).key_by(col("k")).aggregate_columns(Agg.count())
    return counts.map(tuple)


@pytest.mark.parametrize("build", [tumbling, sliding, everything, in_two_phases, rolling])
def test_columns_survive_every_fault(build: Build) -> None:
    report = simulate(build, seeds=range(8), variety=Variety(parallelism=(1, 2, 3)))

    assert report.attempts > report.runs


@pytest.mark.parametrize("build", [sliding, in_two_phases, rolling])
def test_columns_survive_another_parallelism(build: Build) -> None:
    often = Faults(master_crashes=3)

    simulate(build, seeds=range(4), faults=often, variety=Variety(parallelism=(1, 2, 3)))


@pytest.mark.parametrize("build", [sliding, rolling])
def test_columns_survive_with_state_on_disk(build: Build) -> None:
    simulate(build, seeds=range(2), variety=Variety(backends=("rocksdb",)))
