"""Timers in whole jobs of this process: at the end of input, after failures, under every fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import MapStateDescriptor
from riverrun.api.timer_service import TimeDomain
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.protocol.elements import MAX_WATERMARK
from riverrun.testing.simulate import Variety, simulate

OWN_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value, _: value[1]
)
RECORDS = [(number % 3, number * 4) for number in range(30)]
TEN = 10


class CountAndHand(KeyedProcessFunction):
    """Counts the records of each ten milliseconds by event time; hands each one on by the wall clock.

    What the wall clock did not come to is handed on at the end, so the result is always the same.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        time = ctx.timestamp()
        assert time is not None
        timers = ctx.timer_service()
        end = time // TEN * TEN + TEN - 1
        self.counts[end] = (self.counts.get(end) or 0) + 1
        timers.register_event_time_timer(end)
        timers.register_event_time_timer(MAX_WATERMARK)
        self.waiting[time] = True
        timers.register_processing_time_timer(timers.current_processing_time() + 3)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        key = ctx.get_current_key()
        if ctx.time_domain() is TimeDomain.EVENT_TIME and timestamp < MAX_WATERMARK:
            yield "count", key, timestamp, self.counts[timestamp]
            self.counts.remove(timestamp)
            return
        for time in list(self.waiting.keys()):
            yield "handed on", key, time
        self.waiting.clear()


def expected() -> Counter[Any]:
    counts = Counter((key, time // TEN * TEN + TEN - 1) for key, time in RECORDS)
    found: Counter[Any] = Counter(("count", *which, count) for which, count in counts.items())
    found.update(("handed on", key, time) for key, time in RECORDS)
    return found


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = env.from_collection(RECORDS).assign_timestamps_and_watermarks(OWN_TIME)
    return stream.key_by(lambda value: value[0]).process(CountAndHand())


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_bounded_job_fires_every_event_timer(backend: str) -> None:
    config = {"riverrun.master": "in-process", "state.backend.type": backend}
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    with build(env).execute_and_collect() as results:
        assert Counter(results) == expected()
    env.close()


class FailsAt(MapFunction):
    """Raises at one record, in the first attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value: Any) -> Any:
        if value == RECORDS[20] and self.attempt == 0:
            raise ValueError("fails once")
        return value


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_timers_go_on_after_a_failure(backend: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        {
            "riverrun.master": "in-process",
            "state.backend.type": backend,
            "execution.checkpointing.interval": "10 ms",
            "execution.checkpointing.incremental": "true",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1",
            "restart-strategy.fixed-delay.delay": "0 ms",
        }
    )
    env.set_parallelism(2)
    stream = env.from_collection(RECORDS).map(FailsAt())
    timed = stream.assign_timestamps_and_watermarks(OWN_TIME)
    with (
        timed.key_by(lambda value: value[0]).process(CountAndHand()).execute_and_collect() as found
    ):
        assert Counter(found) == expected()
    env.close()


def check(values: list[Any]) -> None:
    assert Counter(values) == expected()


@pytest.mark.parametrize(("backend", "runs"), [("hashmap", 60), ("rocksdb", 6)])
def test_timers_of_both_clocks_are_exact_under_every_fault(backend: str, runs: int) -> None:
    variety = Variety(backends=(backend,), parallelism=(1, 2, 3))
    report = simulate(build, seeds=range(runs), variety=variety, check=check)
    assert report.attempts > report.runs
    assert report.checkpoints > 0
