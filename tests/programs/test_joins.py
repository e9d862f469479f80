"""Two streams made one through the front door: connect, interval join, window join, co-group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from riverrun.api.functions import CoFlatMapFunction, CoMapFunction, KeyedCoProcessFunction
from riverrun.api.join_functions import CoGroupFunction, ProcessJoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ListStateDescriptor, ValueStateDescriptor
from riverrun.api.watermark_strategy import TimestampAssigner, WatermarkStrategy
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.core.errors import JobFailed
from riverrun.core.time import Duration, Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.programs.conftest import MakeEnv

CHECKPOINTS = {"execution__checkpointing__interval": "100 ms"}


class TimeOf(TimestampAssigner):
    """Records are numbers, or tuples that end with one: their times in milliseconds."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[-1] if isinstance(value, tuple) else value)


def timed(env: StreamExecutionEnvironment, values: Sequence[Any], bound_ms: int = 0) -> DataStream:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    strategy = bounded.with_timestamp_assigner(TimeOf())
    return env.from_collection(list(values)).assign_timestamps_and_watermarks(strategy)


class Label(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"first {value}"

    def map2(self, value: int) -> str:
        return f"second {value}"


def test_connected_streams_may_be_unions_and_the_stream_itself(make_env: MakeEnv) -> None:
    env = make_env(2)
    numbers = env.from_sequence(1, 10)
    some = numbers.map(lambda value: value * 10).set_parallelism(1)

    labelled = numbers.connect(some.union(numbers)).map(Label())

    expected = Counter(
        [f"first {n}" for n in range(1, 11)]
        + [f"second {n}" for n in range(1, 11)]
        + [f"second {n * 10}" for n in range(1, 11)]
    )
    assert Counter(labelled.execute_and_collect(limit=100)) == expected


class Enrich(CoFlatMapFunction):
    """Orders wait for the name of their customer, and get it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_state(ValueStateDescriptor("name"))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting"))

    def flat_map1(self, value: tuple[int, int]) -> Iterator[Any]:
        name = self.name.value()
        if name is None:
            self.waiting.add(value[1])
        else:
            yield name, value[1]

    def flat_map2(self, value: tuple[int, str]) -> Iterator[Any]:
        self.name.update(value[1])
        waiting, _ = list(self.waiting), self.waiting.clear()
        yield from ((value[1], amount) for amount in waiting)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_records_of_both_streams_meet_in_the_state_of_their_key(
    make_env: MakeEnv, backend: str
) -> None:
    env = make_env(3, state__backend__type=backend, **CHECKPOINTS)
    orders = env.from_collection([(n % 50, n) for n in range(500)]).rebalance()
    names = env.from_collection([(n, f"customer {n}") for n in range(50)])

    keyed = orders.connect(names).key_by(lambda order: order[0], lambda name: name[0])
    enriched = keyed.flat_map(Enrich())

    expected = Counter((f"customer {n % 50}", n) for n in range(500))
    assert Counter(enriched.execute_and_collect(limit=1000)) == expected


class Unanswered(KeyedCoProcessFunction):
    """Questions that nobody answered within 100 ms of event time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.answered = runtime_context.get_state(ValueStateDescriptor("answered"))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        asked = ctx.timestamp()
        assert asked is not None
        ctx.timer_service().register_event_time_timer(asked + 100)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        answered = ctx.timestamp()
        assert answered is not None
        before = self.answered.value()
        self.answered.update(answered if before is None else min(before, answered))

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        answered = self.answered.value()
        if answered is None or answered > timestamp:
            yield ctx.get_current_key()


def test_timers_see_what_both_streams_left(make_env: MakeEnv) -> None:
    env = make_env(2, **CHECKPOINTS)
    asked = timed(env, [(n, n * 10) for n in range(60)])
    answers = timed(env, [(n, n * 10 + (50 if n % 2 else 150)) for n in range(60) if n % 3])

    connected = asked.connect(answers).key_by(lambda q: q[0], lambda a: a[0])
    unanswered = connected.process(Unanswered())

    expected = [n for n in range(60) if n % 3 == 0 or n % 2 == 0]
    assert sorted(unanswered.execute_and_collect(limit=100)) == expected


def joined(
    make_env: MakeEnv, orange: list[int], green: list[int], windows: WindowAssigner[Any, Any]
) -> list[tuple[int, int]]:
    env = make_env(2)
    pairs = (
        timed(env, orange)
        .join(timed(env, green))
        .where(lambda _: 0)
        .equal_to(lambda _: 0)
        .window(windows)
        .apply(lambda first, second: (first, second))
    )
    return sorted(pairs.execute_and_collect(limit=1000))


def test_a_tumbling_window_join_pairs_what_shares_a_window(make_env: MakeEnv) -> None:
    # windows   [0 1] [2 3] [4 5] [6 7]
    # orange     0 1   2 3   4     6 7
    # green      0 1     3   4
    windows = TumblingEventTimeWindows.of(Time.milliseconds(2))

    pairs = joined(make_env, [0, 1, 2, 3, 4, 6, 7], [0, 1, 3, 4], windows)

    assert pairs == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (3, 3), (4, 4)]


def test_a_sliding_window_join_may_give_a_pair_in_several_windows(make_env: MakeEnv) -> None:
    # windows of 2 ms, one every ms: [-1 0] [0 1] [1 2] [2 3] [3 4] [4 5]
    # orange   0 1 2 3 4
    # green    0     3
    windows = SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(1))

    pairs = joined(make_env, [0, 1, 2, 3, 4], [0, 3], windows)

    assert pairs == [(0, 0), (0, 0), (1, 0), (2, 3), (3, 3), (3, 3), (4, 3)]


def test_a_session_window_join_pairs_what_shares_a_session(make_env: MakeEnv) -> None:
    # a session ends when neither stream has a record for more than a millisecond
    # orange   1 2   5 6     10
    # green    1 2 4           12
    # session  [1 2] [4 5 6] [10] [12]
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(1))

    pairs = joined(make_env, [1, 2, 5, 6, 10], [1, 2, 4, 12], windows)

    assert pairs == [(1, 1), (1, 2), (2, 1), (2, 2), (5, 4), (6, 4)]


class Sides(CoGroupFunction[Any, Any, Any]):
    def co_group(self, first: Iterable[int], second: Iterable[int]) -> Iterator[Any]:
        yield tuple(sorted(first)), tuple(sorted(second))


def test_a_co_group_gives_windows_of_one_side_too(make_env: MakeEnv) -> None:
    env = make_env(2)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(2))
    first, second = timed(env, [0, 1, 4]), timed(env, [1, 3])

    grouped = first.co_group(second).where(lambda _: 0).equal_to(lambda _: 0).window(windows)

    assert sorted(grouped.apply(Sides()).execute_and_collect(limit=10)) == [
        ((), (3,)),
        ((0, 1), (1,)),
        ((4,), ()),
    ]


class Both(ProcessJoinFunction[Any, Any, Any]):
    def process_element(
        self, left: int, right: int, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        yield left, right
        yield (
            EARLIER,
            (min(ctx.get_left_timestamp(), ctx.get_right_timestamp()), ctx.get_timestamp()),
        )


EARLIER = OutputTag("earlier")


def test_an_interval_join_pairs_what_is_close(make_env: MakeEnv) -> None:
    # a green record meets orange ones from 1 ms before it to 2 ms after it
    env = make_env(2)
    orange = timed(env, [2, 3, 4, 5, 7]).key_by(lambda _: 0)
    green = timed(env, [0, 1, 6, 7]).key_by(lambda _: 0)

    bounded = orange.interval_join(green).between(Time.milliseconds(-2), Time.milliseconds(1))
    pairs = bounded.process(Both())
    together = pairs.union(pairs.get_side_output(EARLIER).map(lambda times: ("times", *times)))

    found = list(together.execute_and_collect(limit=100))
    assert sorted(each for each in found if len(each) == 2) == [
        (2, 0),
        (2, 1),
        (3, 1),
        (5, 6),
        (7, 6),
        (7, 7),
    ]
    assert ("times", 0, 2) in found


def test_a_join_without_timestamps_fails_with_advice(make_env: MakeEnv) -> None:
    env = make_env(1)
    numbers = env.from_collection([1, 2]).key_by(lambda _: 0)
    bounded = numbers.interval_join(numbers).between(Time.seconds(0), Time.seconds(1))

    with pytest.raises(JobFailed, match=r"has no timestamp.*assign_timestamps_and_watermarks"):
        bounded.process(Both()).execute_and_collect(limit=1)
