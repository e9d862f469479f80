"""Programs whose results do not depend on their parallelism, one for each way to share records out.

What they give tells every record that is lost or counted twice, and where it is promised also every
record that overtakes another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from riverrun.api.broadcast_functions import KeyedBroadcastProcessFunction
from riverrun.api.functions import Partitioner
from riverrun.api.process_functions import KeyedProcessFunction, ProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.data_stream_utils import reinterpret_as_keyed_stream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.unit.testing.event_time_streams import strategy
from tests.unit.testing.simulated_programs import Count
from tests.unit.testing.skewed_source import SkewedSource, records, skewed

RULES = MapStateDescriptor("rules", Types.INT(), Types.STRING())
LATE = 10**12
"""A time that only the end of input reaches."""


class Before(KeyedProcessFunction):
    """Each value of a key with the one before it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield ctx.get_current_key(), self.last.value(), value
        self.last.update(value)


def in_order_by_key(env: StreamExecutionEnvironment) -> DataStream:
    """Splits move between sources when they are rescaled; the records of each stay in order."""
    made = records(40, "in order", keys="k")
    splits = skewed(made)
    home = {record.number: split.name for split in splits for record in split.records}
    numbers = env.from_source(SkewedSource(splits), strategy(), "splits")
    by_split = numbers.key_by(lambda record: home[record.number])
    return by_split.process(Before()).name("before").uid("before")


class LastRules(KeyedBroadcastProcessFunction[int, Any, Any, Any]):
    """Writes the rules down in the order in which they come; at the end each key tells them."""

    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(LATE)
        yield "value", value

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> None:
        rules = ctx.get_broadcast_state(RULES)
        rules[len(list(rules.keys()))] = value

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        yield ctx.get_current_key(), tuple(rules[number] for number in sorted(rules.keys()))


def broadcast(env: StreamExecutionEnvironment) -> DataStream:
    """Every subtask knows every rule once and in order, whoever it was before."""
    rules = env.from_collection([f"rule {number}" for number in range(9)]).set_parallelism(1)
    numbers = env.from_sequence(1, 24).rebalance().map(lambda value: value)
    by_rest = numbers.key_by(lambda value: value % 8)
    return by_rest.connect(rules.broadcast(RULES)).process(LastRules())


class ByTens(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return int(key) // 10 % num_partitions


def custom(env: StreamExecutionEnvironment) -> DataStream:
    """A partitioner of the user's; what it gives is checked where it arrives."""
    numbers = env.from_sequence(1, 30).partition_custom(ByTens(), lambda value: value)
    return numbers.process(Placed())


class Placed(ProcessFunction):
    """Each value with whether it is where the partitioner wants it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count = runtime_context.get_number_of_parallel_subtasks()

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ByTens().partition(value, self.count) == self.subtask


def anywhere(env: StreamExecutionEnvironment) -> DataStream:
    """Without chains every step is an exchange: forward, shuffle, rescale, rebalance and global."""
    env.disable_operator_chaining()
    stream = env.from_sequence(1, 16).map(lambda value: value + 1).shuffle()
    stream = stream.map(lambda value: value + 1).rescale().map(lambda value: value + 1)
    stream = stream.rebalance().map(lambda value: value + 1).global_().map(lambda value: value + 1)
    return stream.key_by(lambda value: value % 3).process(Count())


def keyed_without_exchange(env: StreamExecutionEnvironment) -> DataStream:
    """A forward edge whose records have their place all the same, by the key that they came with."""
    env.disable_operator_chaining()
    counted = env.from_sequence(1, 20).key_by(lambda value: value % 6).process(Tagged())
    return reinterpret_as_keyed_stream(counted, lambda pair: pair[0]).process(Count())


class Tagged(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield ctx.get_current_key(), value


PROGRAMS = {
    "in order by key": in_order_by_key,
    "broadcast": broadcast,
    "custom": custom,
    "anywhere": anywhere,
    "keyed without exchange": keyed_without_exchange,
}
