"""Timers on Spark: by the wall clock although nothing comes in, and exactly once after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.api.state import MapStateDescriptor
from riverrun.api.timer_service import TimeDomain
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.time import Duration
from riverrun.protocol.elements import MAX_WATERMARK
from tests.spark.allround.chaos import Chaos, await_checkpoint, statistics
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

BEAT_MS = 40
KEYS = 6
PER_KEY = 500
STEP_MS = 10


class OneThenSilence(Source[str]):
    """Has one record, and never ends."""

    def create_splits(self, parallelism: int) -> list[Any]:
        return ["the only one"]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[str]:
        return _OneThenSilenceReader(splits)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED


class _OneThenSilenceReader(SourceReader[str]):
    def __init__(self, splits: list[Any]) -> None:
        self._left = splits

    def poll(self, limit: int) -> Polled:
        left, self._left = self._left, []
        return Polled(left, status=SourceStatus.NOTHING_AVAILABLE, wait_ms=3_600_000.0)

    def snapshot_splits(self) -> list[Any]:
        return self._left


class Heartbeat(KeyedProcessFunction):
    """Yields every so often, by the wall clock alone."""

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + BEAT_MS)
        timers.register_processing_time_timer(MAX_WATERMARK)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        late = ctx.timer_service().current_processing_time() - timestamp
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, late
        ctx.timer_service().register_processing_time_timer(timestamp + BEAT_MS)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_wall_clock_timers_fire_although_no_input_arrives(make_env: MakeEnv, backend: str) -> None:
    env = make_env(config={"state.backend.type": backend})
    only = env.from_source(OneThenSilence(), WatermarkStrategy.no_watermarks(), "one")
    beats = []
    with only.key_by(lambda value: value).process(Heartbeat()).execute_and_collect() as results:
        for beat in results:
            beats.append(beat)
            if len(beats) == 5:
                break
    key, domain, first, _ = beats[0]
    assert (key, domain) == ("the only one", "PROCESSING_TIME")
    assert [time for _, _, time, _ in beats] == [first + BEAT_MS * number for number in range(5)]
    assert all(late > 0 for _, _, _, late in beats)


class CountAndHand(KeyedProcessFunction):
    """Counts the records of each hundred milliseconds by event time; hands each on by the wall clock.

    What the wall clock did not come to is handed on at the end, so the result is always the same.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        time = ctx.timestamp()
        assert time is not None
        timers = ctx.timer_service()
        end = time // 100 * 100 + 99
        self.counts[end] = (self.counts.get(end) or 0) + 1
        timers.register_event_time_timer(end)
        timers.register_event_time_timer(MAX_WATERMARK)
        self.waiting[time] = True
        timers.register_processing_time_timer(timers.current_processing_time() + 30)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        key = ctx.get_current_key()
        if ctx.time_domain() is TimeDomain.EVENT_TIME and timestamp < MAX_WATERMARK:
            yield "count", key, timestamp, self.counts[timestamp]
            self.counts.remove(timestamp)
            return
        for time in list(self.waiting.keys()):
            yield "handed on", key, time, 1
        self.waiting.clear()


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_timers_fire_once_although_a_worker_dies(
    make_env: MakeEnv, tmp_path: Path, backend: str
) -> None:
    env = make_env(2, {**RECOVERING, "state.backend.type": backend})
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    strategy = bounded.with_timestamp_assigner(lambda record, _: record[1] * STEP_MS)
    source = SequenceSource(KEYS, PER_KEY, 600.0, str(tmp_path / "gate"))
    stream = env.from_source(source, strategy, "numbers")
    counted = stream.key_by(lambda record: record[0]).process(CountAndHand()).name("timers")
    counted.sink_to(FileSink(str(tmp_path / "out")))

    client = env.execute_async("timers killed")
    await_checkpoint(client)
    Chaos(client).kill_and_recover("timers")
    await_checkpoint(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(90)

    assert statistics(client).counts.restored >= 1
    counts = [
        ("count", key, end, 100 // STEP_MS)
        for key in range(KEYS)
        for end in range(99, PER_KEY * STEP_MS, 100)
    ]
    handed_on = [
        ("handed on", key, number * STEP_MS, 1) for key in range(KEYS) for number in range(PER_KEY)
    ]
    assert sorted(committed(tmp_path / "out")) == sorted(counts + handed_on)
