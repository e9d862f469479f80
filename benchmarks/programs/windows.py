"""``windows``, ``sliding`` and ``columns`` on riverrun: what customers pay in windows of event time."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from benchmarks.payment_columns import COLUMNS, payment_columns
from benchmarks.payments import (
    BOUND_MS,
    SLIDING_MS,
    WINDOW_MS,
    Spend,
    customer_of,
    payment,
    time_of,
)
from benchmarks.programs.program import Program
from riverrun import (
    Agg,
    AggregateFunction,
    BatchGeneratorSource,
    DataStream,
    Duration,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    WatermarkStrategy,
    col,
)
from riverrun.connectors.datagen import DataGeneratorSource


class SpendFunction(Spend, AggregateFunction):
    """The sum for riverrun."""


def _watermarks() -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))


def _payments(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    strategy = _watermarks().with_timestamp_assigner(time_of)
    return environment.from_source(DataGeneratorSource(payment, records), strategy, "payments")


def windows(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """The sums of ten seconds."""
    keyed = _payments(environment, records).key_by(customer_of)
    return keyed.window(TumblingEventTimeWindows(WINDOW_MS)).aggregate(SpendFunction())


def sliding(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """The sums of a minute, every ten seconds."""
    keyed = _payments(environment, records).key_by(customer_of)
    return keyed.window(SlidingEventTimeWindows(SLIDING_MS, WINDOW_MS)).aggregate(SpendFunction())


def columns(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """Sum, count, least and most of ten seconds, declared on columns."""
    schema = pa.schema([(name, pa.int64()) for name in COLUMNS])
    source = BatchGeneratorSource(payment_columns, schema, records)
    strategy = _watermarks().with_timestamp_column("time")
    keyed = environment.from_source(source, strategy, "payments").key_by(col("customer"))
    return keyed.window(TumblingEventTimeWindows(WINDOW_MS)).aggregate_columns(
        Agg.sum("amount").alias("spend"),
        Agg.count().alias("payments"),
        Agg.min("amount").alias("least"),
        Agg.max("amount").alias("most"),
    )


def amounts(records: int, size_ms: int) -> dict[tuple[int, int], list[int]]:
    """What each customer paid in each window, by customer and end; windows end every ten seconds."""
    paid = defaultdict(list)
    for customer, amount, when in map(payment, range(records)):
        first = when - when % WINDOW_MS + WINDOW_MS
        for end in range(first, first + size_ms, WINDOW_MS):
            paid[customer, end].append(amount)
    return paid


def _sums(records: int, size_ms: int) -> list[int]:
    return [sum(paid) for paid in amounts(records, size_ms).values()]


def _summaries(records: int) -> list[tuple[int, ...]]:
    return [
        (customer, end, sum(paid), len(paid), min(paid), max(paid))
        for (customer, end), paid in amounts(records, WINDOW_MS).items()
    ]


_SUMMARY: Final = ("customer", "window_end", "spend", "payments", "least", "most")


def _as_tuples(rows: Iterable[Any]) -> list[tuple[int, ...]]:
    return sorted(
        row if isinstance(row, tuple) else tuple(row[name] for name in _SUMMARY) for row in rows
    )


WINDOWS_PROGRAM: Final = Program(windows, lambda records: _sums(records, WINDOW_MS))
SLIDING_PROGRAM: Final = Program(sliding, lambda records: _sums(records, SLIDING_MS))
COLUMNS_PROGRAM: Final = Program(columns, _summaries, _as_tuples)
