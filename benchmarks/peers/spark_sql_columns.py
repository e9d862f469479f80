"""The ``columns`` workload as Spark SQL on a stream: all of it runs in the JVM; runs in our own environment.

SQL makes the payments of their indexes with the arithmetic of ``benchmarks.payments``, groups them and
aggregates them. The program is in Python, but no record ever is.
"""

import argparse
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from benchmarks.measurement import measure, parallelism_of
from benchmarks.payments import BOUND_MS, CUSTOMERS, START_MS, WINDOW_MS
from benchmarks.peers.structured_source import drain, indexes, session
from benchmarks.workloads import COLUMNS

SETTINGS = {
    "batch": "10000000",
    "provider": "HDFSBackedStateStoreProvider",
}


def _query(numbers: DataFrame) -> DataFrame:
    mixed = numbers.selectExpr("id", "(id * 2654435761) & 4294967295 AS mixed")
    when = f"{START_MS} + id DIV 10 + (shiftright(mixed, 8) & 127)"
    payments = mixed.selectExpr(
        f"mixed % {CUSTOMERS} AS customer",
        "shiftright(mixed, 16) % 50000 AS amount",
        f"timestamp_millis({when}) AS ts",
    )
    timed = payments.withWatermark("ts", f"{BOUND_MS} milliseconds")
    window = fn.window("ts", f"{WINDOW_MS} milliseconds")
    return timed.groupBy("customer", window).agg(
        fn.sum("amount").alias("spend"),
        fn.count("*").alias("payments"),
        fn.min("amount").alias("least"),
        fn.max("amount").alias("most"),
    )


def run(arguments: argparse.Namespace, records: int, sink: str = "noop") -> float:
    """Seconds that the query takes, its start included."""
    spark = session(parallelism_of(arguments.workload))
    provider = f"org.apache.spark.sql.execution.streaming.state.{arguments.provider}"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = indexes(spark, folder / "indexes", records, int(arguments.batch))
        return drain(_query(numbers), folder / "checkpoint", "append", sink)


if __name__ == "__main__":
    measure("spark-sql", run, SETTINGS, (COLUMNS,))
