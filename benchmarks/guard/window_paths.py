"""Paths through windows and joins of event time, watermarks included."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks import orders, payments, visits
from benchmarks.guard.chains import chain_of
from benchmarks.guard.work import Work, shares, timed_runs
from benchmarks.payment_columns import COLUMNS, payment_columns
from benchmarks.programs.join import Sent
from benchmarks.programs.sessions import ClicksFunction
from benchmarks.programs.windows import SpendFunction
from riverrun.api.column_aggregates import Agg
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.column_views import batch_from
from riverrun.serde.columns import ColumnRun, TimeColumn, layout_of

_FASTER: Final = 16
"""So many times as fast as in the workloads goes event time, for windows to close within few records."""


def tumbling_aggregate(records: int) -> Work:
    """Sums by a Python function in tumbling windows."""
    windows: Any = TumblingEventTimeWindows(payments.WINDOW_MS // _FASTER)
    return _payments(lambda keyed: keyed.window(windows).aggregate(SpendFunction()), records)


def sliding_aggregate(records: int) -> Work:
    """The same in windows that overlap six times."""
    windows: Any = SlidingEventTimeWindows(
        payments.SLIDING_MS // _FASTER, payments.WINDOW_MS // _FASTER
    )
    return _payments(lambda keyed: keyed.window(windows).aggregate(SpendFunction()), records)


def session_aggregate(records: int) -> Work:
    """Counts by a Python function in session windows."""
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(visits.GAP_MS // _FASTER))
    runs = timed_runs(visits.click, visits.time_of, records)

    def build(stream: DataStream) -> DataStream:
        return stream.key_by(visits.visitor_of).window(windows).aggregate(ClicksFunction())

    return _through(build, runs, visits.BOUND_MS // _FASTER)


def column_aggregate(records: int) -> Work:
    """Sums in tumbling windows, declared on columns."""
    type_info = type_of_schema(pa.schema([(name, pa.int64()) for name in COLUMNS]))
    layout = layout_of(type_info)
    assert layout is not None  # columns of integers have one
    runs = []
    for indexes in shares(records):
        columns = payment_columns(np.arange(indexes.start, indexes.stop))
        run = ColumnRun(layout, batch_from(layout, columns))
        runs.append((run, TimeColumn(columns["time"])))

    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by_columns("customer").window(
            TumblingEventTimeWindows(payments.WINDOW_MS // _FASTER)
        )
        return windows.aggregate_columns(Agg.sum("amount").alias("spend"))

    head = chain_of(build, type_info).head

    def work() -> int:
        for values, times in runs:
            columns: Any = times
            head.accept(values, columns)
            head.advance(int(times.array[-1]) - payments.BOUND_MS // _FASTER)
        head.finish()
        return records

    return work


def interval_join(records: int) -> Work:
    """Orders with their shipments, as many of the ones as of the others."""

    def build(left: DataStream, right: DataStream) -> DataStream:
        joined = left.key_by(orders.number_of).interval_join(right.key_by(orders.number_of))
        bounds = Time.milliseconds(0), Time.milliseconds(orders.WITHIN_MS)
        return joined.between(*bounds).process(Sent())

    left = timed_runs(orders.order, orders.time_of, records // 2)
    right = timed_runs(orders.shipment, orders.time_of, records // 2)
    head = chain_of(build, inputs=2).head

    def work() -> int:
        for one, other in zip(left, right, strict=True):
            head.accept(*one)
            head.accept_second(*other)
            head.advance(one[1][-1] - orders.BOUND_MS)
        head.finish()
        return 2 * (records // 2)

    return work


def _payments(build: Callable[[Any], DataStream], records: int) -> Work:
    runs = timed_runs(payments.payment, payments.time_of, records)
    return _through(
        lambda stream: build(stream.key_by(payments.customer_of)),
        runs,
        payments.BOUND_MS // _FASTER,
    )


def _through(
    build: Callable[[DataStream], DataStream],
    runs: list[tuple[list[Any], list[int]]],
    bound_ms: int,
) -> Work:
    head = chain_of(build).head

    def work() -> int:
        for values, times in runs:
            head.accept(values, times)
            head.advance(times[-1] - bound_ms)
        head.finish()
        return sum(len(values) for values, _ in runs)

    return work
