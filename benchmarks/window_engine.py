"""The ``windows`` workload on riverrun, on a local Spark, as ``python -m benchmarks.window_engine``.

``--logic rows`` calls a Python aggregate function per record; ``--logic columns`` declares the same sum
on columns.
"""

import argparse
import time
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.payments import (
    BOUND_MS,
    START_MS,
    WINDOW_MS,
    Spend,
    customer_of,
    payment,
    time_of,
)
from riverrun import (
    Agg,
    AggregateFunction,
    BatchGeneratorSource,
    DataStream,
    Duration,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    WatermarkStrategy,
    col,
)
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink

SETTINGS: Final[Mapping[str, str]] = {
    "buffer_timeout": "10",
    "backend": "hashmap",
    "logic": "rows",
}


class SpendFunction(Spend, AggregateFunction):
    """The sum for riverrun."""


def environment_of(backend: str, buffer_timeout: int) -> StreamExecutionEnvironment:
    """Where the job is to run."""
    environment = StreamExecutionEnvironment.get_execution_environment(
        {"state.backend.type": backend}
    )
    environment.set_parallelism(PARALLELISM)
    environment.set_buffer_timeout(buffer_timeout)
    return environment


def rows(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """The sums, by a Python function."""
    strategy = _watermarks().with_timestamp_assigner(time_of)
    stream = environment.from_source(DataGeneratorSource(payment, records), strategy, "payments")
    windows = stream.key_by(customer_of).window(TumblingEventTimeWindows(WINDOW_MS))
    return windows.aggregate(SpendFunction())


def payment_columns(indexes: "np.ndarray[Any, np.dtype[np.int64]]") -> dict[str, Any]:
    """The payments of ``benchmarks.payments`` for many indexes at once."""
    mixed = indexes * 2_654_435_761 & 0xFFFFFFFF
    return {
        "customer": mixed % 1_000,
        "amount": (mixed >> 16) % 50_000,
        "time": START_MS + indexes // 10 + (mixed >> 8 & 127),
    }


def columns(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """The sums, declared on columns."""
    schema = pa.schema([(name, pa.int64()) for name in ("customer", "amount", "time")])
    strategy = _watermarks().with_timestamp_assigner(col("time"))
    source = BatchGeneratorSource(payment_columns, schema, records)
    stream = environment.from_source(source, strategy, "payments")
    windows = stream.key_by_columns("customer").window(TumblingEventTimeWindows(WINDOW_MS))
    return windows.aggregate_columns(Agg.sum("amount").alias("spend"))


def _watermarks() -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))


LOGIC: Final = {"rows": rows, "columns": columns}


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that ``execute`` takes, the start of the job included."""
    environment = environment_of(arguments.backend, int(arguments.buffer_timeout))
    LOGIC[arguments.logic](environment, records).sink_to(DiscardingSink())
    started = time.perf_counter()
    environment.execute("windows")
    return time.perf_counter() - started


def check(records: int, logic: str = "rows", backend: str = "hashmap") -> None:
    """Fail unless the sums of the windows of ``records`` payments are right."""
    expected: dict[tuple[int, int], int] = {}
    for customer, amount, when in map(payment, range(records)):
        window = customer, when // WINDOW_MS
        expected[window] = expected.get(window, 0) + amount
    with LOGIC[logic](environment_of(backend, 10), records).execute_and_collect() as results:
        found = sorted(result if logic == "rows" else result["spend"] for result in results)
    if found != sorted(expected.values()):
        raise SystemExit(f"riverrun: the sums of {records} payments are not the generator's")


if __name__ == "__main__":
    measure("riverrun", run, SETTINGS)
