"""Windows of every shape that are open at the snapshot: accumulators, slices, sessions, lists, counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from riverrun.api.evictors import CountEvictor
from riverrun.api.functions import AggregateFunction
from riverrun.api.nesting_triggers import PurgingTrigger
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.triggers import CountTrigger
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.api.window_functions import ProcessAllWindowFunction, ProcessWindowFunction
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream, KeyedStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.compatibility.held_source import HeldSource

KEYS: Final = 4
PER_KEY: Final = 30
SPLITS: Final = KEYS


class Sum(AggregateFunction):
    """Its accumulator is a dict, which has no type."""

    def create_accumulator(self) -> Any:
        return {"count": 0, "sum": 0}

    def add(self, value: tuple[int, int], accumulator: Any) -> Any:
        return {"count": accumulator["count"] + 1, "sum": accumulator["sum"] + value[1]}

    def get_result(self, accumulator: Any) -> list[int]:
        return [accumulator["count"], accumulator["sum"]]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return {name: acc_a[name] + acc_b[name] for name in acc_a}


class Bounds(ProcessWindowFunction[Any, Any, Any, Any]):
    """Key, bounds and contents of a window, and which of its key's windows it is."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        number = context.global_state().get_state(ValueStateDescriptor("windows", Types.LONG()))
        number.update((number.value() or 0) + 1)
        window = context.window()
        yield [key, number.value(), window.start, window.end, list(elements)]


class OfAll(ProcessAllWindowFunction[Any, Any, Any]):
    """How many records of all keys are in a window."""

    def process(
        self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield [context.window().start, len(list(elements))]


def _shapes(keyed: KeyedStream, records: DataStream) -> dict[str, DataStream]:
    tumbling = TumblingEventTimeWindows.of(Time.seconds(8))
    sliding = SlidingEventTimeWindows.of(Time.seconds(12), Time.seconds(4))
    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(1500))
    bursts = records.filter(lambda record: record[1] % 6 != 5).uid("bursts")
    thrice = PurgingTrigger.of(CountTrigger.of(3))
    return {
        "tumbling": keyed.window(tumbling).reduce(lambda a, b: (a[0], a[1] + b[1])),
        "late": keyed.window(tumbling).allowed_lateness(20_000).aggregate(Sum(), Bounds()),
        "sliding": keyed.window(sliding).aggregate(Sum(), Bounds()),
        "session": bursts.key_by(lambda record: record[0])
        .window(sessions)
        .aggregate(Sum(), Bounds()),
        "listed": keyed.window(tumbling).process(Bounds()),
        "evicted": keyed.window(sliding).evictor(CountEvictor.of(3)).process(Bounds()),
        "counted": keyed.count_window(7).reduce(lambda a, b: (a[0], a[1] + b[1])),
        "triggered": keyed.window(GlobalWindows.create())
        .trigger(thrice)
        .reduce(lambda a, b: (a[0], a[1] + b[1])),
        "all": records.window_all(tumbling).process(OfAll()),
    }


def _labelled(name: str, stream: DataStream) -> DataStream:
    return stream.uid(name).map(lambda value: [name, value])


def rows(env: StreamExecutionEnvironment) -> DataStream:
    """Define the program; gives the stream of its rows."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    source = HeldSource("records", KEYS, PER_KEY, patient=False)
    records = env.from_source(source, strategy, "records").uid("records")
    keyed = records.key_by(lambda record: record[0])
    shapes = _shapes(keyed, records)
    labelled = [_labelled(name, stream) for name, stream in shapes.items()]
    return labelled[0].union(*labelled[1:])
