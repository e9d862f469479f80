"""Records on their way between tasks when an unaligned checkpoint is taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.compatibility.held_source import HeldSource

KEYS: Final = 6
PER_KEY: Final = 60
SPLITS: Final = KEYS


class Count(KeyedProcessFunction):
    """Tells how many records a key had, and their sum, after the last."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.sum.update((self.sum.value() or 0) + value[1])
        if self.count.value() == PER_KEY:
            yield ["counted", value[0], self.count.value(), self.sum.value()]


def rows(env: StreamExecutionEnvironment) -> DataStream:
    """Define the program; gives the stream of its rows."""
    source = HeldSource("records", KEYS, PER_KEY, patient=False)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    records = env.from_source(source, strategy, "records").uid("records")
    spread = records.rebalance().map(lambda record: record).uid("spread")
    typed = spread.map(lambda record: record, Types.TUPLE([Types.INT(), Types.LONG()])).uid("typed")
    by_type = typed.key_by(lambda record: record[0]).process(Count()).uid("counted typed")
    plain = spread.key_by(lambda record: record[0]).process(Count()).uid("counted plain")
    return plain.union(by_type)
