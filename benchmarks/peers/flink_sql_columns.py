"""The ``columns`` workload as Flink SQL: all of it runs in the JVM; run with PyFlink's own interpreter.

Numbers come from Flink's Java source, whose two splits are the two halves of them; SQL makes the payments
with the arithmetic of ``benchmarks.payments``, and a table that discards takes the results. The program is
in Python, but no record ever is.
"""

import argparse
import time
from typing import Any

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.table import Schema, StreamTableEnvironment

from benchmarks.measurement import measure, parallelism_of
from benchmarks.payments import BOUND_MS, CUSTOMERS, START_MS, WINDOW_MS
from benchmarks.workloads import COLUMNS

SETTINGS = {
    "buffer_timeout": "100",
    "phases": "AUTO",
    "object_reuse": "true",
}

_AGGREGATES = f"""SELECT customer, window_start, SUM(amount), COUNT(*), MIN(amount), MAX(amount)
FROM TABLE(TUMBLE(TABLE payments, DESCRIPTOR(ts), INTERVAL '{WINDOW_MS // 1000}' SECONDS))
GROUP BY customer, window_start, window_end"""
_DISCARD = """CREATE TEMPORARY TABLE results (customer BIGINT, begins TIMESTAMP(3),
spend BIGINT, payments BIGINT, least BIGINT, most BIGINT) WITH ('connector' = 'blackhole')"""


def _environment(arguments: argparse.Namespace) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in {
        "pipeline.object-reuse": arguments.object_reuse,
        "state.backend.type": "hashmap",
        "taskmanager.memory.managed.size": "1g",
        "table.optimizer.agg-phase-strategy": arguments.phases,
    }.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(parallelism_of(COLUMNS))
    environment.set_buffer_timeout(int(arguments.buffer_timeout))
    return environment


def _schema(records: int) -> Schema:
    # Each split holds every second payment, so that both go through the same time.
    first = (records + 1) // 2
    index = f"(CASE WHEN f0 < {first} THEN 2 * f0 ELSE 2 * (f0 - {first}) + 1 END)"
    mixed = f"MOD({index} * 2654435761, 4294967296)"
    when = f"{START_MS} + {index} / 10 + MOD({mixed} / 256, 128)"
    return (
        Schema.new_builder()
        .column("f0", "BIGINT NOT NULL")
        .column_by_expression("customer", f"MOD({mixed}, {CUSTOMERS})")
        .column_by_expression("amount", f"MOD({mixed} / 65536, 50000)")
        .column_by_expression("ts", f"TO_TIMESTAMP_LTZ({when}, 3)")
        .watermark("ts", f"ts - INTERVAL '{BOUND_MS // 1000}' SECOND")
        .build()
    )


def _tables(arguments: argparse.Namespace, records: int) -> StreamTableEnvironment:
    environment = _environment(arguments)
    tables = StreamTableEnvironment.create(environment)
    numbers = environment.from_source(
        NumberSequenceSource(0, records - 1),
        WatermarkStrategy.no_watermarks(),
        "numbers",
        Types.LONG(),
    )
    tables.create_temporary_view("payments", tables.from_data_stream(numbers, _schema(records)))
    return tables


def results(arguments: argparse.Namespace, records: int) -> list[tuple[Any, ...]]:
    """What the query gives: customer, start of the window, sum, count, least and most."""
    with _tables(arguments, records).execute_sql(_AGGREGATES).collect() as rows:
        return [tuple(row) for row in rows]


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that the job takes, its start included."""
    tables = _tables(arguments, records)
    tables.execute_sql(_DISCARD)
    started = time.perf_counter()
    tables.execute_sql(f"INSERT INTO results {_AGGREGATES}").wait()
    return time.perf_counter() - started


if __name__ == "__main__":
    measure("flink-sql", run, SETTINGS, (COLUMNS,))
