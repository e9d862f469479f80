"""A job with state of every kind, and what it must have saved after its last record."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from riverrun.api.broadcast_functions import BroadcastProcessFunction
from riverrun.api.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.functions import AggregateFunction, MapFunction
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.api.watermark_strategy import TimestampAssigner, WatermarkStrategy
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.connectors.discard import DiscardingSink
from riverrun.core.time import Time
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.spark.allround.file_sink import FileSink

PATIENCE_S: Final = 30
KEYS: Final = [f"k{number}" for number in range(10)]
COUNT: Final = 60
RECORDS: Final = [(KEYS[number % 10], number) for number in range(COUNT)]
FAR: Final = 4_000_000_000_000
"""A time that a wall clock will not reach while the test runs."""


@dataclass(frozen=True)
class Account:
    """A value of a class of the program."""

    owner: str
    balance: float


class Waits(Source[Any]):
    """Gives its values, says so, and goes on with nothing."""

    exhausted: ClassVar = {name: threading.Event() for name in ("orders", "rules")}

    def __init__(self, name: str, values: list[Any]) -> None:
        self._name = name
        self._values = values

    def create_splits(self, parallelism: int) -> list[Any]:
        return [{"file": f"{self._name}.log", "offset": 0}]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _WaitingReader(self._name, self._values, splits[0]["offset"])

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def get_forced_parallelism(self) -> int | None:
        return 1


class _WaitingReader(SourceReader[Any]):
    def __init__(self, name: str, values: list[Any], offset: int) -> None:
        self._name = name
        self._values = values
        self._offset = offset

    def poll(self, limit: int) -> Polled:
        values = self._values[self._offset : self._offset + limit]
        self._offset += len(values)
        if values:
            return Polled(values)
        Waits.exhausted[self._name].set()
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=5)

    def snapshot_splits(self) -> list[Any]:
        return [{"file": f"{self._name}.log", "offset": self._offset}]


class Mean(AggregateFunction):
    """The mean of numbers."""

    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, a: Any, b: Any) -> Any:
        return (a[0] + b[0], a[1] + b[1])


class MeanNumber(Mean):
    """The mean of the numbers of records."""

    def add(self, value: Any, accumulator: Any) -> Any:
        return super().add(value[1], accumulator)


class Everything(KeyedProcessFunction):
    """Keeps what it saw in states of every kind, with declared types or without."""

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed

    def open(self, runtime_context: RuntimeContext) -> None:
        long = Types.LONG() if self._typed else None
        account = (
            Types.ROW_NAMED(["owner", "balance"], [Types.STRING(), Types.DOUBLE()])
            if self._typed
            else None
        )
        pair = Types.TUPLE([Types.LONG(), Types.LONG()]) if self._typed else None
        text = Types.STRING() if self._typed else None
        context = runtime_context
        self._last = context.get_state(ValueStateDescriptor("last", long))
        self._account = context.get_state(ValueStateDescriptor("account", account))
        self._seen = context.get_list_state(ListStateDescriptor("seen", long))
        self._by = context.get_map_state(MapStateDescriptor("by parity", text, long))
        add = ReducingStateDescriptor("sum", lambda a, b: a + b, long)
        self._sum = context.get_reducing_state(add)
        mean = AggregatingStateDescriptor("mean", Mean(), pair)
        self._mean = context.get_aggregating_state(mean)
        fleeting = ValueStateDescriptor("fleeting", long)
        fleeting.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self._fleeting = context.get_state(fleeting)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key, number = value
        self._last.update(number)
        row = Types.ROW_NAMED(["owner", "balance"], [Types.STRING(), Types.DOUBLE()])
        account = row.coerce((key, number / 2)) if self._typed else Account(key, number / 2)
        self._account.update(account)
        self._seen.add(number)
        parity = "even" if number % 2 == 0 else "odd"
        self._by.put(parity, number)
        self._by.put("all", number)
        self._sum.add(number)
        self._mean.add(number)
        self._fleeting.update(number)
        ctx.timer_service().register_event_time_timer(10_000 + number)
        ctx.timer_service().register_processing_time_timer(FAR)
        yield value


class Remembers(MapFunction, CheckpointedFunction):
    """Has operator state: a list, and one that everybody gets."""

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed
        self._numbers: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        long = Types.LONG() if self._typed else None
        store = context.get_operator_state_store()
        self._list = store.get_list_state(ListStateDescriptor("numbers", long))
        self._union = store.get_union_list_state(ListStateDescriptor("counts", long))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._list.update(self._numbers)
        self._union.update([len(self._numbers)])

    def map(self, value: Any) -> Any:
        self._numbers.append(value[1])
        return value


RULES: Final = {"discount": 10, "surcharge": 3}


class Ruled(BroadcastProcessFunction[Any, Any, Any]):
    """Keeps the rules that come."""

    def __init__(self, rules: MapStateDescriptor) -> None:
        self._rules = rules

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(self._rules).put(*value)
        yield from ()


class _Number(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def build(env: StreamExecutionEnvironment, folder: Path, *, typed: bool) -> None:
    """The job."""
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Number())
    records = env.from_source(Waits("orders", RECORDS), times, "orders").uid("orders")
    key_type = Types.STRING() if typed else None
    keyed = records.key_by(lambda record: record[0], key_type)
    everything = keyed.process(Everything(typed=typed)).uid("everything").name("all kinds")
    remembered = everything.map(Remembers(typed=typed)).uid("remembers")
    text, long = (Types.STRING(), Types.LONG()) if typed else (None, None)
    rules = MapStateDescriptor("rules", text, long)
    rule_source = Waits("rules", list(RULES.items()))
    told = env.from_source(rule_source, WatermarkStrategy.no_watermarks(), "rules").uid("rules")
    ruled = remembered.connect(told.broadcast(rules)).process(Ruled(rules)).uid("ruled")
    ruled.sink_to(FileSink(str(folder / "results"))).uid("files")
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1)))
    windows.aggregate(MeanNumber()).uid("windows").sink_to(DiscardingSink()).uid("nowhere")


@dataclass(frozen=True)
class Saved:
    """What one job left."""

    savepoint: str
    checkpoint: str
    """Of the same moment."""
    first: str
    """The checkpoint before it, with what the sink was about to commit."""


def saved(folder: Path, *, typed: bool, **config: Any) -> Saved:
    """Run the job until its last record, and save its state in two ways."""
    given = {
        "riverrun.master": "in-process",
        "execution.checkpointing.interval": "1 h",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.num-retained": "10",
        **config,
    }
    env = StreamExecutionEnvironment.get_execution_environment(given)
    env.set_parallelism(2)
    build(env, folder, typed=typed)
    for event in Waits.exhausted.values():
        event.clear()
    client = env.execute_async("shop")
    try:
        assert all(event.wait(PATIENCE_S) for event in Waits.exhausted.values())
        first = client.trigger_checkpoint(PATIENCE_S)
        checkpoint = client.trigger_checkpoint(PATIENCE_S)
        savepoint = client.trigger_savepoint().result(PATIENCE_S)
        client.cancel().result(PATIENCE_S)
    finally:
        env.close()
    return Saved(savepoint, checkpoint, first)
