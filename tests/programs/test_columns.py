"""Programs that work on columns, on records, and on both in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.columns import col
from riverrun.api.functions import KeyedProcessFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.watermark_generator import Watermark, WatermarkGenerator, WatermarkOutput
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.connectors.arrow_batches import BatchGeneratorSource
from riverrun.core.options import RuntimeExecutionMode
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.programs.conftest import MakeEnv

SALES = Types.ROW_NAMED(["customer", "amount", "ts"], [Types.STRING(), Types.LONG(), Types.LONG()])
COUNT = 3000


def sales(indices: Any) -> Any:
    customers = np.array([f"customer {n}" for n in range(17)])
    return {
        "customer": customers[indices % 17],
        "amount": indices % 5,
        "ts": indices * 10,
    }


def spend_by_window(size: int, slide: int) -> Counter[tuple[str, int]]:
    spend: Counter[tuple[str, int]] = Counter()
    for index in range(COUNT):
        time = index * 10
        for start in range(time - time % slide, time - size, -slide):
            spend[f"customer {index % 17}", start] += index % 5
    return spend


def results(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as rows:
        return list(rows)


def by_time() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")


@pytest.mark.parametrize(("size", "slide"), [(1000, 1000), (1000, 250), (1000, 300)])
def test_spend_per_customer_and_window_stays_columns_from_source_to_sink(
    make_env: MakeEnv, size: int, slide: int
) -> None:
    env = make_env(parallelism=2)
    stream = env.from_source(BatchGeneratorSource(sales, SALES, COUNT), by_time(), "sales")
    windows = SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))

    found = results(
        stream.key_by(col("customer"))
        .window(windows)
        .aggregate_columns(Agg.sum("amount").alias("spend"), Agg.count())
    )

    spend = Counter({(row.customer, row.window_start): row.spend for row in found})
    assert len(found) == len(spend)
    assert spend == spend_by_window(size, slide)
    assert all(row.window_end == row.window_start + size for row in found)


def keep(stream: DataStream) -> DataStream:
    return stream.filter_batches(col("amount") != 0)


def keep_records(stream: DataStream) -> DataStream:
    return stream.filter(lambda row: row.ts != 70)


def double(stream: DataStream) -> DataStream:
    def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
        at = batch.schema.get_field_index("amount")
        return batch.set_column(at, "amount", pc.multiply(batch.column("amount"), 2))

    return stream.map_batches(twice)


def add_one(stream: DataStream) -> DataStream:
    return stream.map(
        lambda row: Row(customer=row.customer, amount=row.amount + 1, ts=row.ts), SALES
    )


STEPS: list[Callable[[DataStream], DataStream]] = [keep, keep_records, double, add_one]


def plainly(step: Callable[[DataStream], DataStream], rows: list[Row]) -> list[Row]:
    if step is keep:
        return [row for row in rows if row.amount != 0]
    if step is keep_records:
        return [row for row in rows if row.ts != 70]
    factor, more = (2, 0) if step is double else (1, 1)
    return [
        Row(customer=row.customer, amount=row.amount * factor + more, ts=row.ts) for row in rows
    ]


def test_functions_of_records_and_of_columns_mix_in_any_order(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    table = pa.table(sales(np.arange(40)))
    origin = [Row(**each) for each in table.to_pylist()]
    streams = []
    expected = Counter[str]()
    orders = list(permutations(STEPS))[::11]  # a Spark job for all would have a hundred tasks
    for number, order in enumerate(orders):
        stream, rows = env.from_batches(table), origin
        for at, step in enumerate(order):
            stream, rows = step(stream), plainly(step, rows)
            if at % 2:
                stream = stream.rebalance()
        streams.append(stream.map(partial(shown, number)))
        expected.update(f"{number}: {row!r}" for row in rows)
    assert Counter(results(streams[0].union(*streams[1:]))) == expected


def shown(number: int, row: Row) -> str:
    return f"{number}: {row!r}"


class Total(KeyedProcessFunction):
    """Says which key it was given."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield ctx.get_current_key(), value.amount


def test_keys_of_columns_are_keys_for_functions_of_records(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    stream = env.from_batches(pa.table(sales(np.arange(100))))

    found = results(stream.key_by_columns("customer", "amount").process(Total()))

    assert Counter(found) == Counter(((f"customer {n % 17}", n % 5), n % 5) for n in range(100))


def test_records_of_any_source_are_aggregated_by_columns(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    pairs = Types.TUPLE([Types.STRING(), Types.LONG()])
    stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)], pairs)

    found = results(
        stream.key_by(lambda pair: pair[0], Types.STRING()).aggregate_columns(
            Agg.sum("f1").alias("total")
        )
    )

    by_key: dict[str, list[int]] = {}
    for row in found:
        by_key.setdefault(row.key, []).append(row.total)
    assert by_key == {"a": [1, 4], "b": [2]}


def test_in_batch_mode_each_key_has_one_result(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_batches(pa.table(sales(np.arange(100))))

    found = results(stream.key_by(col("customer")).aggregate_columns(Agg.count()))

    assert {row.customer: row["count"] for row in found} == Counter(
        f"customer {n % 17}" for n in range(100)
    )
    assert len(found) == 17


class EveryRecord(WatermarkGenerator):
    """Emits a watermark with every record."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        del event
        output.emit_watermark(Watermark(event_timestamp - 1))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_late_rows_go_to_a_side_output(make_env: MakeEnv) -> None:
    env = make_env()
    late = OutputTag("late", SALES)
    rows = [("a", 1, 5), ("a", 2, 5000), ("a", 4, 7), ("a", 8, 5001)]
    stream = env.from_collection(rows, SALES).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_generator(EveryRecord).with_timestamp_column("ts")
    )
    windows = (
        stream.window_all(TumblingEventTimeWindows.of(Time.seconds(1)))
        .side_output_late_data(late)
        .aggregate_columns(Agg.sum("amount").alias("total"))
    )
    tagged = windows.get_side_output(late).map(lambda row: ("late", row.amount))

    found = results(windows.map(lambda row: (row.window_start, row.total)).union(tagged))

    assert sorted(map(repr, found)) == ["('late', 4)", "(0, 1)", "(5000, 10)"]
