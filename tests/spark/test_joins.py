"""Two streams made one on Spark, with a worker killed on the way: each pair and each timer once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import KeyedCoProcessFunction, RuntimeContext
from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.time import Duration, Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.spark.allround.chaos import Chaos, await_checkpoint, statistics
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

KEYS = 6
PER_KEY = 500
STEP_MS = 10
WAIT_MS = 25


def timed(env: StreamExecutionEnvironment, name: str, gate: Path) -> DataStream:
    """Records (key, n), each of them 10 ms after the one before it of its key."""
    # A source goes through its splits in turn, but a cut poll may let one get ahead of the others.
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    strategy = bounded.with_timestamp_assigner(lambda record, _: record[1] * STEP_MS)
    source = SequenceSource(KEYS, PER_KEY, 600.0, str(gate))
    return env.from_source(source, strategy, name)


def key_of(record: Any) -> int:
    return int(record[0])


class Pair(ProcessJoinFunction[Any, Any, Any]):
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        yield left[0], left[1], right[1], ctx.get_timestamp()


class Awaited(KeyedCoProcessFunction):
    """A while after each left record: how many right ones of its key came up to then."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        time = ctx.timestamp()
        assert time is not None
        ctx.timer_service().register_event_time_timer(time + WAIT_MS)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self.seen.update((self.seen.value() or 0) + 1)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        seen = self.seen.value() or 0
        yield ctx.get_current_key(), timestamp, min(seen, timestamp // STEP_MS + 1)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_joined_streams_survive_the_death_of_a_worker(
    make_env: MakeEnv, tmp_path: Path, backend: str
) -> None:
    env = make_env(1, {**RECOVERING, "state.backend.type": backend})
    left, right = (timed(env, name, tmp_path / "gate") for name in ("left", "right"))
    joined = left.key_by(key_of).interval_join(right.key_by(key_of))
    bounded = joined.between(Time.milliseconds(-10), Time.milliseconds(20)).upper_bound_exclusive()
    bounded.process(Pair()).sink_to(FileSink(str(tmp_path / "pairs")))
    connected = left.connect(right).key_by(key_of, key_of)
    connected.process(Awaited()).name("awaited").sink_to(FileSink(str(tmp_path / "awaited")))

    client = env.execute_async("joins killed")
    await_checkpoint(client)
    Chaos(client).kill_and_recover("Interval Join")
    await_checkpoint(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(90)

    assert statistics(client).counts.restored >= 1
    assert sorted(committed(tmp_path / "pairs")) == [
        (key, n, other, max(n, other) * STEP_MS)
        for key in range(KEYS)
        for n in range(PER_KEY)
        for other in (n - 1, n, n + 1)
        if 0 <= other < PER_KEY
    ]
    assert sorted(committed(tmp_path / "awaited")) == [
        (key, time, min(PER_KEY, time // STEP_MS + 1))
        for key in range(KEYS)
        for time in range(WAIT_MS, PER_KEY * STEP_MS + WAIT_MS, STEP_MS)
    ]
