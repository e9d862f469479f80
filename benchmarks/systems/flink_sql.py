"""Flink SQL: no record is ever in Python."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import COLUMNS, WORKLOADS

FLINK_SQL: Final = System(
    "flink-sql",
    {COLUMNS: Case("benchmarks.peers.flink_sql_columns", Sizes(6_000_000, 36_000_000))},
    peer="pyflink",
    left_out=dict.fromkeys(
        (workload for workload in WORKLOADS if workload != COLUMNS),
        "calls no Python function for a record; it is what columns are compared with",
    ),
)
