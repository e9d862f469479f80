"""The workloads on Spark Structured Streaming with Python functions, in micro-batches; runs in our own environment.

* ``stateless``: one Python function over Arrow batches.
* ``keyed``, ``state``, ``skewed`` and ``subtasks``: a Python function makes the transactions, Spark groups them by
  customer, a stateful function hands on each update.
* ``windows`` and ``sliding``: grouped by customer; a stateful function keeps the sums of the windows that are not
  over. Spark's own windows take no aggregate functions in Python on a stream.
* ``sessions``: grouped by visitor; a stateful function keeps the open sessions.
* ``join``: Spark's join of two streams within bounds of time, then a Python function over the pairs.
* ``large``: a Python function makes the records, Spark exchanges them by key, another one measures them.
* ``chain``: a hundred Python functions of a column, which Spark calls in one Python process, one after the other.

Stateful functions are those of ``benchmarks.peers.structured_state``: ``logic=groups`` takes the older interface,
``applyInPandasWithState``, and ``logic=processor`` the newer one, ``transformWithStateInPandas``. Time counts from the
start of the query to its end; a query's start is in both sizes and drops out. Larger micro-batches give higher rates
and, in the same measure, later results. What is open when input ends stays open: a query ends without it.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.streaming.state import GroupStateTimeout

from benchmarks import orders, payments, visits
from benchmarks.measurement import measure, parallelism_of
from benchmarks.peers import structured_maps as maps
from benchmarks.peers.structured_source import drain, indexes, session
from benchmarks.peers.structured_state import STATE as STATE_COLUMNS
from benchmarks.peers.structured_state import (
    Keeper,
    Processor,
    Sessions,
    Totals,
    WindowSums,
    group_function,
)
from benchmarks.steps import FUNCTIONS, number
from benchmarks.workloads import (
    CHAIN,
    JOIN,
    KEYED,
    LARGE_RECORDS,
    SESSIONS,
    SKEWED,
    SLIDING,
    STATE,
    STATELESS,
    SUBTASKS,
    WINDOWS,
)

SETTINGS = {
    "batch": "1000000",
    "logic": "groups",
    "arrow_rows": "10000",
    "provider": "RocksDBStateStoreProvider",
    "udf": "arrow",
}

Query = Callable[[argparse.Namespace, Callable[[], DataFrame]], DataFrame]
"""Makes a query of a stream of indexes; asks for one as often as it has sources."""


def _grouped(
    arguments: argparse.Namespace, records: DataFrame, keys: tuple[str, ...], keeper: Keeper
) -> DataFrame:
    groups = records.groupBy(*keys)
    if arguments.logic == "processor":
        time_mode = "EventTime" if keeper.timed else "None"
        return groups.transformWithStateInPandas(
            Processor(keeper), keeper.results, "Update", time_mode
        )
    timeout = GroupStateTimeout.EventTimeTimeout if keeper.timed else GroupStateTimeout.NoTimeout
    return groups.applyInPandasWithState(
        group_function(keeper), keeper.results, STATE_COLUMNS, "Update", timeout
    )


def _timed(records: DataFrame, column: str, bound_ms: int, timestamp: str = "ts") -> DataFrame:
    timed = records.withColumn(timestamp, fn.timestamp_millis(fn.col(column)))
    return timed.withWatermark(timestamp, f"{bound_ms} milliseconds")


def _stateless(_: argparse.Namespace, source: Callable[[], DataFrame]) -> DataFrame:
    return source().mapInArrow(maps.large_transactions, maps.declared(maps.TRANSACTION))


def _totals(
    make: maps.MapFunction, arguments: argparse.Namespace, source: Callable[[], DataFrame]
) -> DataFrame:
    made = source().mapInArrow(make, maps.declared(maps.TRANSACTION))
    return _grouped(arguments, made, ("customer",), Totals())


def _windows(
    size_ms: int, arguments: argparse.Namespace, source: Callable[[], DataFrame]
) -> DataFrame:
    made = source().mapInArrow(maps.payments, maps.declared(maps.PAYMENT))
    timed = _timed(made, "time", payments.BOUND_MS)
    return _grouped(arguments, timed, ("customer",), WindowSums(size_ms))


def _sessions(arguments: argparse.Namespace, source: Callable[[], DataFrame]) -> DataFrame:
    made = source().mapInArrow(maps.clicks, maps.declared(maps.CLICK))
    timed = _timed(made, "time", visits.BOUND_MS)
    return _grouped(arguments, timed, ("visitor",), Sessions())


def _join(_: argparse.Namespace, source: Callable[[], DataFrame]) -> DataFrame:
    left = source().mapInArrow(maps.orders, maps.declared(maps.ORDER))
    right = source().mapInArrow(maps.shipments, maps.declared(maps.SHIPMENT))
    left = _timed(left, "time", orders.BOUND_MS)
    right = _timed(right, "sent_time", orders.BOUND_MS, "sent_ts")
    within = f"sent_ts BETWEEN ts AND ts + INTERVAL {orders.WITHIN_MS} MILLISECONDS"
    pairs = left.join(right, fn.expr(f"number = sent_number AND {within}"))
    bare = pairs.select(*maps.ORDER, *maps.SHIPMENT)
    return bare.mapInArrow(maps.sent_orders, maps.declared(maps.SENT))


def _large(_: argparse.Namespace, source: Callable[[], DataFrame]) -> DataFrame:
    made = source().mapInArrow(maps.blobs, maps.BLOB)
    return made.repartition("key").mapInArrow(maps.sizes, maps.declared(maps.SIZE))


def _chain(arguments: argparse.Namespace, source: Callable[[], DataFrame]) -> DataFrame:
    arrow = arguments.udf == "arrow"
    column = fn.col("id")
    for function in (number, *FUNCTIONS):
        column = fn.udf(function, "bigint", useArrow=arrow)(column)
    return source().select(column.alias("value"))


QUERIES: Final[Mapping[str, Query]] = {
    STATELESS: _stateless,
    KEYED: partial(_totals, maps.transactions),
    STATE: partial(_totals, maps.transactions),
    SKEWED: partial(_totals, maps.skewed_transactions),
    WINDOWS: partial(_windows, payments.WINDOW_MS),
    SLIDING: partial(_windows, payments.SLIDING_MS),
    SESSIONS: _sessions,
    JOIN: _join,
    LARGE_RECORDS: _large,
    CHAIN: _chain,
    **dict.fromkeys(SUBTASKS, partial(_totals, maps.transactions)),
}
_STATELESS: Final = (STATELESS, JOIN, LARGE_RECORDS, CHAIN)
"""Those without a function of the user's that keeps state: their output mode is another."""


def run(arguments: argparse.Namespace, records: int, sink: str = "noop") -> float:
    """Seconds that the query takes, its start included."""
    workload = arguments.workload
    spark = session(parallelism_of(workload))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", arguments.arrow_rows)
    provider = f"org.apache.spark.sql.execution.streaming.state.{arguments.provider}"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    batch = int(arguments.batch)
    if workload == JOIN:
        # Two sources, each with an index for an order or its shipment.
        records, batch = records // 2, batch // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = iter(
            [indexes(spark, folder / side, records, batch) for side in ("left", "right")]
            if workload == JOIN
            else [indexes(spark, folder / "indexes", records, batch)]
        )
        result = QUERIES[workload](arguments, lambda: next(sources))
        mode = "append" if workload in _STATELESS else "update"
        return drain(result, folder / "checkpoint", mode, sink)


if __name__ == "__main__":
    measure("structured", run, SETTINGS, tuple(QUERIES))
