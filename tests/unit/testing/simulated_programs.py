"""Small programs whose results tell every record that is lost or counted twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from riverrun.api.broadcast_functions import KeyedBroadcastProcessFunction
from riverrun.api.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.functions import FlatMapFunction, MapFunction
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import Committable, Committer, Sink, SinkWriter, SinkWriterContext
from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types

RULES = MapStateDescriptor("rules", Types.INT(), Types.STRING())


class Count(KeyedProcessFunction):
    """How many records of its key came before each record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))
        self.values = runtime_context.get_map_state(MapStateDescriptor("values"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        self.values.put(value, self.values.get(value) or 0)
        self.values[value] = (self.values[value] or 0) + 1
        yield ctx.get_current_key(), seen
        yield "value", value, self.values[value]


def counting(env: StreamExecutionEnvironment) -> DataStream:
    """Two sources' numbers, counted by key: with an exchange, and state of two kinds."""
    env.set_parallelism(2)
    return env.from_sequence(1, 24).key_by(lambda value: value % 3).process(Count())


def settled(env: StreamExecutionEnvironment) -> DataStream:
    """Many keys at first, and few that still change: incremental checkpoints refer to older files."""
    env.set_parallelism(2)
    env.configure({"execution.checkpointing.data-inline-threshold": "0 b"})
    numbers = env.from_collection(list(range(1, 41)))
    return numbers.key_by(lambda value: value % 16 if value <= 16 else value % 2).process(Count())


class CountWithRules(KeyedBroadcastProcessFunction[int, Any, Any, Any]):
    """Counts by key, and numbers the rules as they come, in every subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield value % 4, seen

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        rules[value] = f"rule {value}"
        yield "rule", value, len(list(rules.keys()))


def united(env: StreamExecutionEnvironment) -> DataStream:
    """Two sources of different lengths, shared out, with a broadcast stream beside them."""
    env.set_parallelism(2)
    numbers = env.from_sequence(1, 16).union(env.from_collection(list(range(100, 106))))
    rules = env.from_collection(list(range(1, 5)))
    return (
        numbers.rebalance()
        .map(lambda value: value)
        .key_by(lambda value: value % 4)
        .connect(rules.broadcast(RULES))
        .process(CountWithRules())
    )


class SumsOfThree(FlatMapFunction, CheckpointedFunction):
    """Holds records back until there are three of them."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved = store.get_list_state(ListStateDescriptor("held"))
        self.held = list(self.saved.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update(self.held)

    def flat_map(self, value: int) -> Iterator[tuple[int, ...]]:
        self.held.append(value)
        if len(self.held) == 3:
            yield tuple(self.held)
            self.held.clear()


class Numbered(MapFunction, CheckpointedFunction):
    """Numbers what comes; its number is in a union list, of which each subtask finds its own entry."""

    def __init__(self) -> None:
        self.number = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.number = self.restored.get(self.subtask, 0)

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved = store.get_union_list_state(ListStateDescriptor("numbers"))
        self.restored = dict(self.saved.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([(self.subtask, self.number)])

    def map(self, value: Any) -> Any:
        self.number += 1
        return self.subtask, self.number, value


def batching(env: StreamExecutionEnvironment) -> DataStream:
    """A chain with operator state: the order within each subtask is that of its source."""
    env.set_parallelism(2)
    return env.from_sequence(1, 21).flat_map(SumsOfThree()).map(Numbered())


def passing(env: StreamExecutionEnvironment) -> DataStream:
    """No state at all but the sources' positions: each record comes out as it went in."""
    env.set_parallelism(2)
    return env.from_sequence(1, 20).rebalance().map(lambda value: value * 10)


def rescaled(env: StreamExecutionEnvironment) -> DataStream:
    """Nothing says at which parallelism it runs, and nothing in its result depends on it."""
    numbers = env.from_sequence(1, 18).rebalance().map(lambda value: value + 100)
    return numbers.key_by(lambda value: value % 5).process(Count())


OUTSIDE: dict[str, list[Any]] = {}
"""What is visible in the store of ``OutsideSink``, by the ids of commits."""


class OutsideSink(Sink[Any]):
    """Writes to a store that knows nothing of the job, and that zombies reach too."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _OutsideWriter()

    def create_committer(self, context: SinkWriterContext) -> Committer:
        return _OutsideCommitter()


class _OutsideWriter(SinkWriter[Any]):
    def __init__(self) -> None:
        self._held: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._held.append(value)

    def prepare_commit(self) -> list[Any]:
        held, self._held = self._held, []
        return [held[:1], held[1:]]


class _OutsideCommitter(Committer):
    def commit(self, committables: Sequence[Committable]) -> None:
        for each in committables:
            before = OUTSIDE.setdefault(each.id, each.value)
            assert before == each.value, f"{each.id} was {before!r} and is {each.value!r}"


def written_outside(env: StreamExecutionEnvironment) -> DataStream:
    """The result goes to the outside store, too."""
    env.set_parallelism(2)
    numbers = env.from_sequence(1, 20).rebalance().map(lambda value: value * 10)
    numbers.sink_to(OutsideSink())
    return numbers
