# ruff: noqa: N802, N803, ARG002  # the names and arguments are those of Spark's interfaces
"""The timed pipeline on Spark Structured Streaming; runs in our own environment.

Micro-batches one right after the other. Lines come over a socket from a feeder in this process, the sum is
a ``transformWithState`` processor, the sink a Python ``foreach`` writer. The real-time mode is left
out: it reads no socket, only sources made for it, such as Kafka.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.latencies.feeder import record_of, serve
from benchmarks.latencies.timed import Samples, Timed, add_timed, measured
from benchmarks.measurement import PARALLELISM
from riverrun.spark.java import ensure_java_home

SETTINGS = {"arrow_rows": "10000"}
_START_SECONDS = 10
_TIMED = "customer bigint, amount bigint, due bigint"


class _Sum(StatefulProcessor):
    """The running sum of a customer, read and written once a micro-batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", _TIMED)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        known = self._total.get()
        total: Timed | None = None if known is None else (known[0], known[1], known[2])
        updates: list[Timed] = []
        for frame in rows:
            for record in frame.itertuples(index=False, name=None):
                total = record if total is None else add_timed(total, record)
                updates.append(total)
        self._total.update(total)
        yield pd.DataFrame(updates, columns=["customer", "amount", "due"])

    def close(self) -> None:
        pass


class _Arrivals:
    """Takes the latency of each record; a file for each micro-batch."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, partition_id: int, epoch_id: int) -> bool:
        self._samples = Samples(self._folder)
        return True

    def process(self, row: Row) -> None:
        self._samples.take(row.due)

    def close(self, error: Exception | None) -> None:
        self._samples.save()


def _parsed(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        records = [record_of(line) for line in frame["value"]]
        yield pd.DataFrame(records, columns=["customer", "amount", "due"])


def _session(arguments: argparse.Namespace) -> SparkSession:
    ensure_java_home(os.environ)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").appName("latency")
    state = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(PARALLELISM),
        "spark.sql.execution.arrow.maxRecordsPerBatch": arguments.arrow_rows,
        "spark.sql.streaming.stateStore.providerClass": state,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _totals(lines: DataFrame) -> DataFrame:
    made = lines.mapInPandas(_parsed, _TIMED)
    return made.groupBy("customer").transformWithStateInPandas(
        statefulProcessor=_Sum(),
        outputStructType=_TIMED,
        outputMode="Update",
        timeMode="None",
    )


def run(arguments: argparse.Namespace, records: int) -> None:
    """Run the query for as long as the feeder feeds it, and for the batches after that."""
    spark = _session(arguments)
    port = serve(arguments.rate, records)
    socket = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port)
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = _totals(socket.load()).writeStream.foreach(_Arrivals(arguments.folder))
        writer = writer.outputMode("update").option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime="0 seconds").start()
        time.sleep(records / arguments.rate + _START_SECONDS)
        query.processAllAvailable()
        query.stop()


if __name__ == "__main__":
    measured(run, SETTINGS)
