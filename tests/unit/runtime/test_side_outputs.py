"""Every function that may have side outputs has them: records and timers, all kinds of streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from riverrun.api.functions import (
    AllWindowFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.state import MapStateDescriptor
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.serde.types import Types
from riverrun.testing.harness import OperatorHarness

SIDE = OutputTag("side", Types.STRING())
STATE = MapStateDescriptor("rules")
WINDOWS = TumblingEventTimeWindows.of(Time.milliseconds(10))


def sides(value: Any) -> Iterator[Any]:
    """A record for the main output between two for the side output, one of which looks like none."""
    yield SIDE, f"{value} before"
    yield value
    yield ["not", value]
    yield SIDE, f"{value} after"


def set_timer(ctx: Any) -> None:
    ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)


class Process(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        return sides(value)


class KeyedProcess(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        set_timer(ctx)
        return sides(value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        return sides(timestamp)


class CoProcess(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        return sides(value)

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        return sides(value)


class KeyedCoProcess(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        set_timer(ctx)
        return sides(value)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        return sides(value)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
        return sides(timestamp)


class Broadcast(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Any:
        return sides(value)

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Any:
        return sides(value)


class KeyedBroadcast(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Any:
        set_timer(ctx)
        return sides(value)

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Any:
        return sides(value)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Any:
        return sides(timestamp)


class InWindow(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        return sides(sum(inputs))


class ProcessWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        return sides(sum(elements))


class InAllWindow(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        return sides(sum(inputs))


class ProcessAllWindow(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        return sides(sum(elements))


class Join(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        return sides(left + right)


def zero(value: Any) -> int:
    del value
    return 0


def joined(a: DataStream, b: DataStream) -> DataStream:
    bounded = a.key_by(zero).interval_join(b.key_by(zero))
    return bounded.between(Time.milliseconds(-5), Time.milliseconds(5)).process(Join())


Build = Callable[..., DataStream]
FUNCTIONS: list[tuple[str, int, Build, list[int]]] = [
    ("process", 1, lambda a: a.process(Process()), [1]),
    ("keyed process", 1, lambda a: a.key_by(zero).process(KeyedProcess()), [1, 6]),
    ("co-process", 2, lambda a, b: a.connect(b).process(CoProcess()), [1, 2]),
    (
        "keyed co-process",
        2,
        lambda a, b: a.connect(b).key_by(zero, zero).process(KeyedCoProcess()),
        [1, 2, 6],
    ),
    ("broadcast", 2, lambda a, b: a.connect(b.broadcast(STATE)).process(Broadcast()), [1, 2]),
    (
        "keyed broadcast",
        2,
        lambda a, b: a.key_by(zero).connect(b.broadcast(STATE)).process(KeyedBroadcast()),
        [1, 2, 6],
    ),
    ("window", 1, lambda a: a.key_by(zero).window(WINDOWS).apply(InWindow()), [1]),
    ("process window", 1, lambda a: a.key_by(zero).window(WINDOWS).process(ProcessWindow()), [1]),
    ("all windows", 1, lambda a: a.window_all(WINDOWS).apply(InAllWindow()), [1]),
    ("process all windows", 1, lambda a: a.window_all(WINDOWS).process(ProcessAllWindow()), [1]),
    ("interval join", 2, joined, [3]),
]


@pytest.mark.parametrize(
    ("inputs", "build", "handled"), [each[1:] for each in FUNCTIONS], ids=[f[0] for f in FUNCTIONS]
)
def test_what_is_tagged_comes_out_at_the_side(
    inputs: int, build: Build, handled: list[int]
) -> None:
    with OperatorHarness(build, inputs=inputs, side_outputs=[SIDE]) as harness:
        harness.push(1, 1)
        if inputs > 1:
            harness.push_second(2, 2)
        harness.watermark(20)

        assert harness.output() == [item for n in handled for item in (n, ["not", n])]
        assert harness.side_output(SIDE) == [
            f"{n} {place}" for n in handled for place in ("before", "after")
        ]


@pytest.mark.parametrize("build", [f[2] for f in FUNCTIONS if f[1] == 1])
def test_a_side_output_that_nobody_reads_goes_nowhere(build: Build) -> None:
    with OperatorHarness(build) as harness:
        harness.push(1, 1)
        harness.watermark(20)

        assert harness.output()[:2] == [1, ["not", 1]]
