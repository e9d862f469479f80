"""Streams and functions of programs of event time whose results follow from their input alone.

Watermarks depend on who runs when, so a program will do only if that does not show. Either nothing is
late and every window has its final contents; or every record shows once, in a window or among the late
ones, whichever it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.api.functions import AggregateFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.watermark_strategy import TimestampAssigner, WatermarkStrategy
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.api.windows import TimeWindow
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream, KeyedStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.oracles.windows import Record
from tests.unit.testing.skewed_source import DISORDER, SkewedSource, Split, records, skewed

Build: TypeAlias = Callable[[StreamExecutionEnvironment], DataStream]
LATE = OutputTag("late")

IN_TIME = records(48, "in time")
IN_ORDER = records(40, "in order", disorder=0)
ALL_OVER = records(48, "all over", disorder=60)
SETTLED = [
    *(Record(f"k{number}", number, number // 2, 400 + number) for number in range(30)),
    *(Record("ab"[each.number % 2], 30 + each.number, 20 + each.time, 5) for each in IN_ORDER),
]
"""Many keys at first, whose sessions and timers stay, and then few: little changes between checkpoints."""


@dataclass(frozen=True)
class Simulated:
    """A program, what it must give, and in how many runs of the usual test."""

    build: Build
    expected: Counter[Any]
    runs: int = 3
    repeatable: bool = False
    """Whether records that count twice give more results and change none: it may run at-least-once."""
    incremental: tuple[bool, ...] = (False, True)
    """How checkpoints may be taken."""


class TimeOf(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return value.time


def strategy(bound_ms: int = DISORDER) -> WatermarkStrategy:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    return bounded.with_timestamp_assigner(TimeOf())


def key_of(record: Record) -> str:
    return record.key


def stream(env: StreamExecutionEnvironment, made: Sequence[Record] = IN_TIME) -> DataStream:
    """Three splits of different speeds, none of which is ever late."""
    env.configure({"pipeline.auto-watermark-interval": "3 ms"})
    return env.from_source(SkewedSource(skewed(made)), strategy(), "skewed")


def in_order(env: StreamExecutionEnvironment, made: Sequence[Record] = IN_ORDER) -> KeyedStream:
    """One split: the records of a key arrive in one order, whatever happens."""
    env.configure({"pipeline.auto-watermark-interval": "3 ms"})
    source = SkewedSource([Split("only", tuple(made), burst=5, pause_ms=10)])
    return env.from_source(source, strategy(), "in order").key_by(key_of)


class Each(ProcessWindowFunction[Any, Any, Any, Any]):
    """Every record of a window by itself."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Record]
    ) -> Iterator[Any]:
        window = context.window()
        span = (window.start, window.end) if isinstance(window, TimeWindow) else None
        for record in elements:
            yield key, span, record.number


class Together(ProcessWindowFunction[Any, Any, Any, Any]):
    """A window and all that is in it, which is one thing or several."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        window = context.window()
        span = (window.start, window.end) if isinstance(window, TimeWindow) else None
        yield key, span, tuple(getattr(each, "number", each) for each in elements)


class Numbers(AggregateFunction):
    """The records' numbers; its accumulator is a list that it changes."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Record, accumulator: list[int]) -> list[int]:
        accumulator.append(value.number)
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(sorted(accumulator))

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class EachOnce(ProcessWindowFunction[Any, Any, Any, Any]):
    """Every record of a window that forgets what it gave."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Record]
    ) -> Iterator[Any]:
        window = context.window()
        for record in elements:
            assert not isinstance(window, TimeWindow) or window.start <= record.time < window.end
            yield key, record.number


def with_idle_splits(env: StreamExecutionEnvironment, aligned_ms: int = 0) -> DataStream:
    """Splits that fall silent are idle, and what they bring when they come back may be late."""
    env.configure({"pipeline.auto-watermark-interval": "3 ms"})
    made = strategy(4).with_idleness(Duration.of_millis(8))
    if aligned_ms:
        made = made.with_watermark_alignment(
            "together", Duration.of_millis(aligned_ms), Duration.of_millis(5)
        )
    return env.from_source(SkewedSource(skewed(ALL_OVER)), made, "all over")


def with_late(made: DataStream) -> DataStream:
    late = made.get_side_output(LATE).map(lambda record: (record.key, record.number))
    return made.union(late)


def once(made: Sequence[Record]) -> Counter[Any]:
    return Counter((record.key, record.number) for record in made)
