"""What Structured Streaming reads in the benchmarks, and its session.

The indexes of the records wait in files, one for each core and micro-batch, written before time counts; a query
with ``availableNow`` reads them all, batch by batch, and ends. Its sink is Spark's own that discards.
"""

import math
import os
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from riverrun.spark.java import ensure_java_home

_SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "4g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Records are cheap integers or do not compress at all.
    "spark.shuffle.compress": "false",
}


@cache
def session(parallelism: int) -> SparkSession:
    """The session of all runs of this process: as many cores, and parts of a shuffle, as asked for."""
    ensure_java_home(os.environ)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{parallelism}]").appName("benchmark")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    started = builder.config("spark.sql.shuffle.partitions", str(parallelism)).getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def indexes(spark: SparkSession, folder: Path, records: int, batch: int) -> DataFrame:
    """A stream of the numbers below ``records``, ``batch`` in each micro-batch, in order."""
    parallelism = spark.sparkContext.defaultParallelism
    files = parallelism * math.ceil(records / batch)
    spark.range(0, records, 1, files).write.parquet(str(folder))
    # A stream reads files in the order of their times of change, which may be equal here.
    for place, file in enumerate(sorted(folder.glob("part-*"))):
        os.utime(file, (place, place))
    reader = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", parallelism)
    return reader.parquet(str(folder))


def drain(result: DataFrame, folder: Path, mode: str, sink: str = "noop") -> float:
    """Seconds that the query takes from its start to the end of its input.

    Args:
        result: The query.
        folder: Where it keeps its checkpoints.
        mode: Its output mode.
        sink: ``noop`` discards; ``memory`` makes a table called ``results``.
    """
    writer = result.writeStream.format(sink).queryName("results").outputMode(mode)
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    started = time.perf_counter()
    query = writer.start()
    query.awaitTermination()
    return time.perf_counter() - started
