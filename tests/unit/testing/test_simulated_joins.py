"""Joins of two streams while tasks, masters and stores fail, jobs are rescaled, and checkpoints go on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from riverrun.api.functions import KeyedCoProcessFunction
from riverrun.api.join_functions import CoGroupFunction, ProcessJoinFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.watermark_strategy import TimestampAssigner, WatermarkStrategy
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.core.time import Duration, Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.simulate import Variety, simulate
from tests.oracles.joins import (
    Record,
    Session,
    Sliding,
    Tumbling,
    Windows,
    groups,
    interval_join,
    window_join,
)

DISORDER = 12
VARIETY = Variety(backends=("hashmap", "hashmap", "rocksdb"), parallelism=(1, 2, 3))


class TimeOf(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return value.time


def records(seed: int, side: str) -> list[Record]:
    """Forty records of four keys, at most ``DISORDER`` milliseconds out of order."""
    rng = random.Random(f"{seed} {side}")
    by_time = sorted(
        Record(rng.randrange(4), f"{side}{number}", rng.randrange(80)) for number in range(40)
    )
    by_time.sort(key=lambda record: record.time + rng.random() * DISORDER)
    return by_time


LEFT, RIGHT = records(7, "L"), records(7, "R")


def stream(env: StreamExecutionEnvironment, values: Sequence[Record]) -> DataStream:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER))
    strategy = bounded.with_timestamp_assigner(TimeOf())
    made = env.from_collection(list(values)).assign_timestamps_and_watermarks(strategy)
    return made.set_parallelism(1)


def both(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    env.configure({"pipeline.auto-watermark-interval": "2 ms"})
    return stream(env, LEFT), stream(env, RIGHT)


def key_of(record: Record) -> Any:
    return record.key


class Pair(ProcessJoinFunction[Record, Record, Any]):
    def process_element(
        self, left: Record, right: Record, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        yield left.value, right.value, ctx.get_timestamp()


def expects(expected: Counter[Any]) -> Callable[[Sequence[Any]], None]:
    def check(results: Sequence[Any]) -> None:
        found = Counter(results)
        assert found == expected, f"missing {expected - found}, too many {found - expected}"

    return check


@pytest.mark.parametrize("bounds", [(-6, 3), (2, 9), (-1, -1)])
def test_an_interval_join_gives_each_pair_once(bounds: tuple[int, int]) -> None:
    lower, upper = bounds

    def build(env: StreamExecutionEnvironment) -> DataStream:
        left, right = both(env)
        joined = left.key_by(key_of).interval_join(right.key_by(key_of))
        bounded = joined.between(Time.milliseconds(lower), Time.milliseconds(upper))
        return bounded.process(Pair())

    expected = interval_join(LEFT, RIGHT, lower, upper)
    assert expected
    simulate(build, seeds=range(12), variety=VARIETY, check=expects(expected))


ASSIGNERS: list[tuple[Windows, WindowAssigner[Any, Any]]] = [
    (Tumbling(10), TumblingEventTimeWindows.of(Time.milliseconds(10))),
    (Sliding(10, 5), SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))),
    (Session(3), EventTimeSessionWindows.with_gap(Time.milliseconds(3))),
]
KINDS = ["tumbling", "sliding", "session"]


@pytest.mark.parametrize(("windows", "assigner"), ASSIGNERS, ids=KINDS)
def test_a_window_join_gives_each_pair_once_per_window(
    windows: Windows, assigner: WindowAssigner[Any, Any]
) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        left, right = both(env)
        windowed = left.join(right).where(key_of).equal_to(key_of).window(assigner)
        return windowed.apply(lambda first, second: (first.value, second.value))

    expected = Counter[Any]()
    for (first, second, _), count in window_join(LEFT, RIGHT, windows).items():
        expected[first, second] += count
    assert expected
    simulate(build, seeds=range(8), variety=VARIETY, check=expects(expected))


class Sides(CoGroupFunction[Record, Record, Any]):
    def co_group(self, first: Iterable[Record], second: Iterable[Record]) -> Iterator[Any]:
        sides = [tuple(sorted(record.value for record in side)) for side in (first, second)]
        yield sides[0], sides[1]


@pytest.mark.parametrize(("windows", "assigner"), ASSIGNERS, ids=KINDS)
def test_a_co_group_gives_each_window_once(
    windows: Windows, assigner: WindowAssigner[Any, Any]
) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        left, right = both(env)
        windowed = left.co_group(right).where(key_of).equal_to(key_of).window(assigner)
        return windowed.apply(Sides())

    expected = Counter(group[3:] for group in groups(LEFT, RIGHT, windows))
    simulate(build, seeds=range(8), variety=VARIETY, check=expects(expected))


class Latest(KeyedCoProcessFunction):
    """Each left record with how many right ones of its key there are up to 10 ms after it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.times = runtime_context.get_state(ValueStateDescriptor("times"))

    def process_element1(self, value: Record, ctx: KeyedCoProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value.time + 10)

    def process_element2(self, value: Record, ctx: KeyedCoProcessFunction.Context) -> None:
        self.times.update([*(self.times.value() or []), value.time])

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        up_to = [time for time in self.times.value() or [] if time <= timestamp]
        yield ctx.get_current_key(), timestamp, len(up_to)


def test_connected_streams_share_state_and_timers_through_failures() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        left, right = both(env)
        return left.connect(right).key_by(key_of, key_of).process(Latest())

    expected = Counter(
        {
            (key, time + 10, sum(r.key == key and r.time <= time + 10 for r in RIGHT)): 1
            for key, _, time in LEFT
        }
    )
    simulate(build, seeds=range(15), variety=VARIETY, check=expects(expected))
