# ruff: noqa: N802, N803, ARG002  # the names and arguments are those of Spark's interfaces
"""The workloads on Spark Structured Streaming in micro-batches; runs in our own environment.

The indexes of the records wait in files, two for each micro-batch, written before time counts; a query
with ``availableNow`` reads them all, batch by batch, and ends. Its sink is Spark's own that discards.

* ``stateless``: one Python function over batches calls the generator and the user's functions once a
  record, with Arrow (``logic=arrow``, ``mapInArrow``) or pandas (``logic=pandas``, ``mapInPandas``).
* ``keyed`` and ``state``: a Python function makes the transactions, Spark groups them by customer, and a
  stateful processor (``transformWithState``, of rows with ``logic=rows``, else in pandas) hands on each
  update. As its interface suggests, it reads and writes its state once for each key of a micro-batch,
  which is to its advantage: other systems do so once a record.
* ``windows``: made, grouped and summed by Spark SQL; no record is ever in Python.

Time counts from the start of the query to its end; a query's start is in both sizes and drops out.
Larger micro-batches give higher rates and, in the same measure, later results.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.payments import BOUND_MS, START_MS, WINDOW_MS
from benchmarks.workloads import (
    STATELESS,
    WINDOWS,
    Transaction,
    add_amounts,
    is_large,
    transaction,
    with_fee,
)
from riverrun.spark.java import ensure_java_home

SETTINGS = {
    "batch": "1000000",
    "logic": "arrow",
    "arrow_rows": "10000",
    "provider": "RocksDBStateStoreProvider",
}

_PAIR = "customer bigint, amount bigint"
_ARROW_PAIR = pa.schema([("customer", pa.int64()), ("amount", pa.int64())])


@cache
def session() -> SparkSession:
    """The session of all runs of this process, with as many cores as every system gets."""
    ensure_java_home(os.environ)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").appName("benchmark")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(PARALLELISM),
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }.items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def _columns(records: list[Transaction]) -> pa.RecordBatch:
    customers, amounts = zip(*records, strict=True) if records else ((), ())
    arrays = [pa.array(customers, pa.int64()), pa.array(amounts, pa.int64())]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW_PAIR)


def _large(indexes: list[int]) -> list[Transaction]:
    charged = [with_fee(transaction(index)) for index in indexes]
    return [record for record in charged if is_large(record)]


def _large_arrow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield _columns(_large(batch.column(0).to_pylist()))


def _large_pandas(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield pd.DataFrame(_large(frame["id"].tolist()), columns=["customer", "amount"])


def _transactions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield _columns([transaction(index) for index in batch.column(0).to_pylist()])


class _Totals(StatefulProcessor):
    """The running sum of a customer, held as a value state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", "amount bigint")

    def _updates(self, customer: int, amounts: Iterable[int]) -> list[Transaction]:
        known = self._total.get()
        total = None if known is None else (customer, known[0])
        updates = []
        for amount in amounts:
            record = customer, amount
            total = record if total is None else add_amounts(total, record)
            updates.append(total)
        if total is not None:
            self._total.update((total[1],))
        return updates

    def close(self) -> None:
        pass


class _RowTotals(_Totals):
    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for customer, amount in self._updates(int(key[0]), (row.amount for row in rows)):
            yield Row(customer=customer, amount=amount)


class _PandasTotals(_Totals):
    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        amounts = (amount for frame in rows for amount in frame["amount"].tolist())
        updates = self._updates(int(key[0]), amounts)
        yield pd.DataFrame(updates, columns=["customer", "amount"])


def _stateless(arguments: argparse.Namespace, indexes: DataFrame) -> DataFrame:
    if arguments.logic == "pandas":
        return indexes.mapInPandas(_large_pandas, _PAIR)
    return indexes.mapInArrow(_large_arrow, _PAIR)


def _totals(arguments: argparse.Namespace, indexes: DataFrame) -> DataFrame:
    customers = indexes.mapInArrow(_transactions, _PAIR).groupBy("customer")
    if arguments.logic == "rows":
        return customers.transformWithState(_RowTotals(), _PAIR, "Update", "None")
    return customers.transformWithStateInPandas(_PandasTotals(), _PAIR, "Update", "None")


def _windows(indexes: DataFrame) -> DataFrame:
    mixed = indexes.selectExpr("id", "(id * 2654435761) & 4294967295 AS mixed")
    when = f"{START_MS} + id DIV 10 + (shiftright(mixed, 8) & 127)"
    payments = mixed.selectExpr(
        "mixed % 1000 AS customer",
        "shiftright(mixed, 16) % 50000 AS amount",
        f"timestamp_millis({when}) AS ts",
    )
    timed = payments.withWatermark("ts", f"{BOUND_MS} milliseconds")
    window = fn.window("ts", f"{WINDOW_MS} milliseconds")
    return timed.groupBy("customer", window).agg(fn.sum("amount").alias("spend"))


def _write_indexes(folder: str, records: int, batch: int) -> None:
    """Files of indexes: as many for each micro-batch as there are cores, in the order of the indexes."""
    files = PARALLELISM * math.ceil(records / batch)
    session().range(0, records, 1, files).write.parquet(folder)
    # A stream reads files in the order of their times of change, which may be equal here.
    for place, file in enumerate(sorted(Path(folder).glob("part-*"))):
        os.utime(file, (place, place))


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that the query takes, its start included."""
    spark = session()
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", arguments.arrow_rows)
    provider = f"org.apache.spark.sql.execution.streaming.state.{arguments.provider}"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    with tempfile.TemporaryDirectory() as folder:
        files = str(Path(folder, "indexes"))
        _write_indexes(files, records, int(arguments.batch))
        indexes = (
            spark.readStream.schema("id bigint")
            .option("maxFilesPerTrigger", PARALLELISM)
            .parquet(files)
        )
        if arguments.workload == WINDOWS:
            result = _windows(indexes)
        elif arguments.workload == STATELESS:
            result = _stateless(arguments, indexes)
        else:
            result = _totals(arguments, indexes)
        writer = (
            result.writeStream.format("noop")
            .outputMode("append" if arguments.workload in (WINDOWS, STATELESS) else "update")
            .option("checkpointLocation", str(Path(folder, "checkpoint")))
            .trigger(availableNow=True)
        )
        started = time.perf_counter()
        query = writer.start()
        query.awaitTermination()
        return time.perf_counter() - started


if __name__ == "__main__":
    measure("structured", run, SETTINGS)
