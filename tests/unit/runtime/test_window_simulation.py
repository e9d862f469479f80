"""Windowed programs give the same result whatever happens to their workers and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from riverrun.api.evictors import CountEvictor
from riverrun.api.functions import AggregateFunction
from riverrun.api.triggers import ContinuousEventTimeTrigger, CountTrigger, PurgingTrigger
from riverrun.api.watermark_strategy import TimestampAssigner, WatermarkStrategy
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.windowed import WindowedStream
from riverrun.testing.simulate import Faults, Variety, simulate

Build = Callable[[StreamExecutionEnvironment], DataStream]


class Times(TimestampAssigner):
    """The time of a record is in it."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Sorted(ProcessWindowFunction[Any, Any, Any, Any]):
    """The window with its records, in an order that does not depend on who came first."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        window = context.window()
        span = (getattr(window, "start", None), getattr(window, "end", None))
        yield key, span, tuple(sorted(value[1] for value in elements))


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Named(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield from ((key, context.window().start, count) for count in elements)


def keyed(env: StreamExecutionEnvironment, assigner: Any) -> WindowedStream[DataStream]:
    """Records of four keys over time, none of which is ever late: out of order by at most 30."""
    env.configure({"pipeline.auto-watermark-interval": "2 ms"})
    times = [(n * 7) // 5 + (n * 13) % 29 for n in range(36)]
    records = [(number % 4, time) for number, time in enumerate(times)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(30))
    stream = env.from_collection(records).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Times())
    )
    return stream.key_by(lambda value: value[0]).window(assigner)


def tumbling(env: StreamExecutionEnvironment) -> DataStream:
    return keyed(env, TumblingEventTimeWindows.of(10)).process(Sorted())


def sliding(env: StreamExecutionEnvironment) -> DataStream:
    return keyed(env, SlidingEventTimeWindows.of(12, 5)).aggregate(Count(), Named())


def sessions(env: StreamExecutionEnvironment) -> DataStream:
    return keyed(env, EventTimeSessionWindows.with_gap(6)).process(Sorted())


def counted_sessions(env: StreamExecutionEnvironment) -> DataStream:
    return keyed(env, EventTimeSessionWindows.with_gap(6)).aggregate(Count(), Named())


def purged(env: StreamExecutionEnvironment) -> DataStream:
    """Each record of a window is in one firing, whenever that is; so is the count of all of them."""
    trigger = PurgingTrigger.of(ContinuousEventTimeTrigger.of(4))
    windows = keyed(env, TumblingEventTimeWindows.of(20)).trigger(trigger)
    return windows.process(Sorted()).flat_map(lambda fired: [(fired[0], time) for time in fired[2]])


def evicted(env: StreamExecutionEnvironment) -> DataStream:
    """How many records each firing of a key has: one key is in one subtask and has one order."""
    windows = keyed(env, GlobalWindows.create()).trigger(CountTrigger.of(2))
    fired = windows.evictor(CountEvictor.of(3)).process(Sorted())
    return fired.map(lambda window: (window[0], len(window[2])))


PROGRAMS = [tumbling, sliding, sessions, counted_sessions, purged, evicted]


@pytest.mark.parametrize("build", PROGRAMS)
def test_windows_survive_every_fault(build: Build) -> None:
    report = simulate(build, seeds=range(12), variety=Variety(parallelism=(1, 2, 3)))

    assert report.attempts > report.runs


@pytest.mark.parametrize("build", [sessions, counted_sessions, sliding])
def test_windows_survive_another_parallelism(build: Build) -> None:
    often = Faults(master_crashes=3)

    simulate(build, seeds=range(6), faults=often, variety=Variety(parallelism=(1, 2, 3)))


@pytest.mark.parametrize("build", [tumbling, sessions, evicted])
def test_windows_survive_with_state_on_disk(build: Build) -> None:
    simulate(build, seeds=range(2), variety=Variety(backends=("rocksdb",)))


@pytest.mark.slow
@pytest.mark.parametrize("build", PROGRAMS)
def test_windows_survive_very_many_runs(build: Build) -> None:
    simulate(build, seeds=range(1000, 2000), variety=Variety(parallelism=(1, 2, 3)))
