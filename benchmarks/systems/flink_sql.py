"""Flink SQL: no record is ever in Python."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import WINDOWS

FLINK_SQL: Final = System(
    "flink-sql",
    {WINDOWS: Case("benchmarks.peers.flink_sql_windows", Sizes(10_000_000, 110_000_000))},
    peer="pyflink",
)
