"""Programs go on from written savepoints: on both backends, at any parallelism, as if they had run before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from riverrun.api.broadcast_functions import BroadcastProcessFunction
from riverrun.api.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.functions import AggregateFunction, MapFunction
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from riverrun.state_processor.bootstrap import OperatorTransformation, bootstrap
from riverrun.state_processor.bootstrap_functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from riverrun.state_processor.writer import SavepointWriter
from riverrun.state_processor.writing.entries import StateRow
from tests.spark.allround.file_sink import FileSink
from tests.unit.local.savepoint_jobs import EXACT, KEYS, Count, Jobs, key_of, numbers, through_gate
from tests.unit.state_processor.writing_checks import contents, going_on, results

EVERYWHERE = pytest.mark.parametrize(
    ("backend", "parallelism"),
    [("hashmap", 1), ("hashmap", 3), ("rocksdb", 1), ("rocksdb", 3)],
)


class Average(AggregateFunction):
    """The accumulator is the pair of sum and count."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


TOTAL = ValueStateDescriptor("total", Types.LONG())
NAMES = ListStateDescriptor("names", Types.STRING())
PRICES = MapStateDescriptor("prices", Types.STRING(), Types.DOUBLE())
HIGHEST = ReducingStateDescriptor("highest", max, Types.LONG())
AVERAGE = AggregatingStateDescriptor(
    "average", Average(), Types.TUPLE([Types.LONG(), Types.LONG()])
)
HISTORY = {
    key: (number, [key, f"{key}!"], {"tea": number + 0.5}, number * 2, (number * 3, 3))
    for number, key in enumerate(["ann", "bob", "cid", "dan", "eve"], 1)
}


class Everything(KeyedProcessFunction):
    """Adds to every kind of state and shows them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._total = runtime_context.get_state(TOTAL)
        self._names = runtime_context.get_list_state(NAMES)
        self._prices = runtime_context.get_map_state(PRICES)
        self._highest = runtime_context.get_reducing_state(HIGHEST)
        self._average = runtime_context.get_aggregating_state(AVERAGE)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        del ctx
        self._total.update((self._total.value() or 0) + 1)
        self._names.add("new")
        self._prices.put("milk", 1.0)
        self._highest.add(0)
        self._average.add(0)
        yield (
            value,
            self._total.value(),
            tuple(self._names.get()),
            tuple(sorted(self._prices.items())),
            self._highest.get(),
            self._average.get(),
        )


@EVERYWHERE
def test_state_from_tables_is_what_a_program_goes_on_with(
    tmp_path: Path, backend: str, parallelism: int
) -> None:
    table = pa.table(
        {
            "who": list(HISTORY),
            "total": [row[0] for row in HISTORY.values()],
            "names": [row[1] for row in HISTORY.values()],
            "price": [row[2]["tea"] for row in HISTORY.values()],
            "drink": ["tea"] * len(HISTORY),
            "highest": [row[3] for row in HISTORY.values()],
            "sum": [row[4][0] for row in HISTORY.values()],
            "count": [row[4][1] for row in HISTORY.values()],
        }
    )
    writer = SavepointWriter.new_savepoint()
    who: dict[str, Any] = {"key": "who", "key_type": Types.STRING()}
    writer.with_keyed_state("all", TOTAL, table, **who, value="total")
    writer.with_keyed_state("all", NAMES, table, **who, value="names")
    writer.with_keyed_state("all", PRICES, table, **who, map_key="drink", value="price")
    writer.with_keyed_state("all", HIGHEST, table, **who, value="highest")
    writer.with_keyed_state("all", AVERAGE, table, **who, value=("sum", "count"))
    savepoint = writer.write(tmp_path / "savepoint")

    with going_on(savepoint, backend, parallelism) as env:
        names = env.from_collection([*HISTORY, "new"])
        keyed = names.key_by(lambda name: name, key_type=Types.STRING())
        found = results(keyed.process(Everything()).uid("all"))

    assert found == sorted(
        [
            (
                key,
                total + 1,
                (*texts, "new"),
                (("milk", 1.0), *prices.items()),
                highest,
                pair[0] / (pair[1] + 1),
            )
            for key, (total, texts, prices, highest, pair) in HISTORY.items()
        ]
        + [("new", 1, ("new",), (("milk", 1.0),), 0, 0.0)]
    )


class Alarm(KeyedProcessFunction):
    """Says when its timers fire."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._total = runtime_context.get_state(TOTAL)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        pass

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self._total.value(), timestamp


class SetAlarms(KeyedStateBootstrapFunction):
    """A total and a timer for each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._total = runtime_context.get_state(TOTAL)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self._total.update((self._total.value() or 0) + value[1])
        assert ctx.get_current_key() == value[0]
        ctx.timer_service().register_event_time_timer(1000 + value[1])


@EVERYWHERE
def test_keyed_state_and_timers_of_a_bootstrap_function_go_on(
    tmp_path: Path, backend: str, parallelism: int
) -> None:
    data = [(f"key {number}", number) for number in range(10)] * 2
    given = OperatorTransformation.bootstrap_with(data)
    made = given.key_by(lambda pair: pair[0]).transform(SetAlarms())
    writer = SavepointWriter.new_savepoint(config={"state.backend.type": backend})
    savepoint = writer.with_operator("alarm", made).write(tmp_path / "savepoint")

    with going_on(savepoint, backend, parallelism) as env:
        nothing = env.from_collection(["other"])
        found = results(nothing.key_by(lambda value: value).process(Alarm()).uid("alarm"))

    assert found == [(f"key {number}", 2 * number, 1000 + number) for number in range(10)]


class Remembers(MapFunction, CheckpointedFunction):
    """Adds what its lists hold."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._split = list(store.get_list_state(ListStateDescriptor("split", Types.LONG())).get())
        self._union = list(store.get_union_list_state(ListStateDescriptor("union")).get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def map(self, value: Any) -> Any:
        del value
        return tuple(self._split), tuple(self._union)


class Fill(StateBootstrapFunction):
    """Puts every value into two lists."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        assert not context.is_restored()
        store = context.get_operator_state_store()
        self._split = store.get_list_state(ListStateDescriptor("split", Types.LONG()))
        self._union = store.get_union_list_state(ListStateDescriptor("union"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._union.add("all")

    def process_element(self, value: Any, ctx: StateBootstrapFunction.Context) -> None:
        assert ctx.current_processing_time() > 0
        self._split.add(value)


@pytest.mark.parametrize("way", ["items", "function"])
@pytest.mark.parametrize("parallelism", [1, 3, 4])
def test_lists_are_dealt_out_and_unions_are_everywhere(
    tmp_path: Path, way: str, parallelism: int
) -> None:
    writer = SavepointWriter.new_savepoint()
    if way == "items":
        writer.with_list_state("lists", "split", range(10), Types.LONG())
        writer.with_union_state("lists", ListStateDescriptor("union"), ["all"])
    else:
        writer.with_operator("lists", bootstrap(range(10)).transform(Fill()))
    savepoint = writer.write(tmp_path / "savepoint")

    with going_on(savepoint, parallelism=parallelism) as env:
        several = env.from_collection(range(12)).rebalance()
        found = set(results(several.map(Remembers()).uid("lists")))

    assert len(found) == parallelism
    assert sorted(item for split, _ in found for item in split) == list(range(10))
    assert {union for _, union in found} == {("all",)}
    if parallelism == 1:
        assert found == {(tuple(range(10)), ("all",))}


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Apply(BroadcastProcessFunction[Any, Any, Any]):
    """Shows the rules that are there."""

    def process_element(
        self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        del value
        yield tuple(sorted(ctx.get_broadcast_state(RULES).items()))

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        pass


class FillRules(BroadcastStateBootstrapFunction):
    """A rule for each row."""

    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        assert ctx.current_processing_time() > 0
        ctx.get_broadcast_state(RULES).put(value.name, value.limit)


@pytest.mark.parametrize("way", ["items", "function"])
@pytest.mark.parametrize("parallelism", [1, 3, 4])
def test_broadcast_state_is_the_same_everywhere(tmp_path: Path, way: str, parallelism: int) -> None:
    writer = SavepointWriter.new_savepoint()
    if way == "items":
        writer.with_broadcast_state("rules", RULES, {"low": 1, "high": 9})
    else:
        table = pa.table({"name": ["low", "high"], "limit": [1, 9]})
        writer.with_operator("rules", bootstrap(table).transform(FillRules()))
    savepoint = writer.write(tmp_path / "savepoint")

    with going_on(savepoint, parallelism=parallelism) as env:
        nothing = env.from_collection([("none", 0)]).broadcast(RULES)
        connected = env.from_collection(range(8)).rebalance().connect(nothing)
        found = results(connected.process(Apply()).uid("rules"))

    assert found == [(("high", 9), ("low", 1))] * 8


# changed savepoints of real jobs


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(tmp_path)
    yield made
    made.close()


def tallying(env: StreamExecutionEnvironment, folder: Path) -> None:
    """The same job; another uid, and another max parallelism."""
    gated = numbers(env).map(through_gate).uid("gate").rebalance()
    counted = gated.key_by(key_of).process(Count()).uid("tally").set_max_parallelism(60)
    counted.sink_to(FileSink(str(folder))).uid("files")


@EVERYWHERE
def test_a_job_goes_on_exactly_after_rename_and_new_key_groups(
    jobs: Jobs, tmp_path: Path, backend: str, parallelism: int
) -> None:
    savepoint = jobs.stop_at(1200, 2, **{"state.backend.type": backend})

    writer = SavepointWriter.from_existing_savepoint(savepoint)
    writer.change_operator_identifier("count", "tally").change_max_parallelism(60, "tally")
    changed = writer.write(tmp_path / "changed")
    jobs.run(parallelism, tallying, start_from=changed, **{"state.backend.type": backend})

    assert jobs.committed() == EXACT


def counts_of(found: Iterable[Any]) -> Counter[Any]:
    return Counter(key for key, _ in found)


def test_a_job_goes_on_from_filtered_and_changed_state(jobs: Jobs, tmp_path: Path) -> None:
    savepoint = jobs.stop_at(1200, 2)
    seen = contents(savepoint, "count", "seen")

    def change(row: StateRow) -> StateRow | None:
        return row._replace(value=row.value + 100_000) if row.key < 3 else None

    writer = SavepointWriter.from_existing_savepoint(savepoint)
    writer.transform_keyed_state("count", "seen", change)
    changed = writer.write(tmp_path / "changed")
    before = jobs.committed()
    jobs.run(3, start_from=changed)

    later = jobs.committed() - before
    for key in range(KEYS):
        first = seen[key] + 100_001 if key < 3 else 1
        rest = counts_of(EXACT)[key] - seen[key]
        assert Counter({(key, first + number): 1 for number in range(rest)}) == Counter(
            {pair: count for pair, count in later.items() if pair[0] == key}
        )
