"""State that has no key, or two inputs: broadcast, lists, calls under way, join buffers, sources and sinks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.broadcast_functions import KeyedBroadcastProcessFunction
from riverrun.api.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.co_functions import KeyedCoProcessFunction
from riverrun.api.functions import FlatMapFunction
from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.time import Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.compatibility.held_source import HOLD, HeldSource

KEYS: Final = 6
PER_KEY: Final = 30
RULES: Final = 3
SPLITS: Final = 2 * KEYS
"""Those of both sources that stand still; the rules are all read before that."""
HOLD_AT: Final = 20
_TYPED_RULES: Final = MapStateDescriptor("typed rules", Types.STRING(), Types.LONG())
_UNTYPED_RULES: Final = MapStateDescriptor("untyped rules")


class Ruled(KeyedBroadcastProcessFunction[int, Any, Any, Any]):
    """Tells the rules at the last record of a key, and how many records the key had."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        if value[1] == PER_KEY - 1:
            typed = sorted(ctx.get_broadcast_state(_TYPED_RULES).items())
            untyped = sorted(map(list, ctx.get_broadcast_state(_UNTYPED_RULES).items()))
            yield ["ruled", value[0], self.count.value(), typed, untyped]

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        ctx.get_broadcast_state(_TYPED_RULES)[f"rule {value[1]}"] = value[1]
        ctx.get_broadcast_state(_UNTYPED_RULES)[value[1]] = [f"rule {value[1]}"]
        yield from ()


class Keeper(FlatMapFunction, CheckpointedFunction):
    """Keeps some records in a list until the stream goes on, and counts all in a union list."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.count = 0
        self.before = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first = runtime_context.get_index_of_this_subtask() == 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved = store.get_list_state(ListStateDescriptor("kept"))
        self.typed = store.get_list_state(ListStateDescriptor("numbers", Types.LONG()))
        self.counts = store.get_union_list_state(ListStateDescriptor("counts", Types.LONG()))
        self.kept = [*self.saved.get(), *([number] for number in self.typed.get())]
        self.before = sum(self.counts.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([each for each in self.kept if len(each) > 1])
        self.typed.update([each[0] for each in self.kept if len(each) == 1])
        self.counts.update([self.count])

    def flat_map(self, value: tuple[int, int]) -> Iterator[Any]:
        if value[1] < HOLD_AT:
            self.count += 1
            if value[1] % 5 == 0:
                self.kept += [list(value), [value[1]]]
            return
        if self.is_first and self.before:
            yield ["counted before", self.before]
            self.before = 0
        yield from (["kept", *each] for each in self.kept)
        self.kept.clear()


class Call(AsyncFunction[Any, Any]):
    """Calls for the last records before the snapshot are under way when it is taken."""

    async def async_invoke(self, value: Any) -> list[Any]:
        if HOLD.calls_wait and value[1] >= HOLD_AT - 2:
            await asyncio.Event().wait()
        return [["called", *value]] if value[1] % 6 > 3 else []


class Pair(ProcessJoinFunction[Any, Any, Any]):
    """Numbers of both records."""

    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        yield ["joined", left[0], left[1], right[1]]


class Both(KeyedCoProcessFunction):
    """Counts the records of both inputs, and tells at a timer after the last."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(
            MapStateDescriptor("counts", Types.STRING(), Types.LONG())
        )

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.counts["left"] = (self.counts.get("left") or 0) + 1
        ctx.timer_service().register_event_time_timer(PER_KEY * 1000)
        yield from ()

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.counts["right"] = (self.counts.get("right") or 0) + 1
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ["both", ctx.get_current_key(), sorted(self.counts.items())]


def _key(record: tuple[int, int]) -> int:
    return record[0]


def _source(env: StreamExecutionEnvironment, name: str, keys: int, per_key: int) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    source = HeldSource(name, keys, per_key, patient=False)
    return env.from_source(source, strategy, name).uid(name)


def rows(env: StreamExecutionEnvironment) -> DataStream:
    """Define the program; gives the stream of its rows."""
    left = _source(env, "left", KEYS, PER_KEY)
    right = _source(env, "right", KEYS, PER_KEY)
    rules = _source(env, "rules", 1, RULES).broadcast(_TYPED_RULES, _UNTYPED_RULES)
    joined = left.key_by(_key).interval_join(right.key_by(_key))
    parts = [
        left.key_by(_key).connect(rules).process(Ruled()).uid("ruled"),
        left.rebalance().flat_map(Keeper()).uid("keeper"),
        AsyncDataStream.unordered_wait(left, Call(), Time.minutes(5), 100).uid("called"),
        joined.between(Time.milliseconds(-2000), Time.milliseconds(0))
        .process(Pair())
        .uid("joined"),
        left.connect(right).key_by(_key, _key).process(Both()).uid("both"),
    ]
    return parts[0].union(*parts[1:])
