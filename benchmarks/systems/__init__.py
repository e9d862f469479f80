"""Everybody who takes part, in the order of the tables."""

from collections.abc import Mapping
from typing import Final

from benchmarks.systems.baseline import BASELINE
from benchmarks.systems.bytewax import BYTEWAX
from benchmarks.systems.flink_sql import FLINK_SQL
from benchmarks.systems.ours import RIVERRUN, RIVERRUN_COLUMNS, ROCKSDB
from benchmarks.systems.pathway import PATHWAY
from benchmarks.systems.pyflink import PYFLINK, PYFLINK_THREAD
from benchmarks.systems.spark import SPARK_SQL, STRUCTURED
from benchmarks.systems.system import Case, RunFailed, Sizes, System

__all__ = ["SYSTEMS", "Case", "RunFailed", "Sizes", "System"]

SYSTEMS: Final[Mapping[str, System]] = {
    system.name: system
    for system in (
        BASELINE,
        RIVERRUN,
        RIVERRUN_COLUMNS,
        ROCKSDB,
        BYTEWAX,
        PATHWAY,
        STRUCTURED,
        PYFLINK,
        PYFLINK_THREAD,
        FLINK_SQL,
        SPARK_SQL,
    )
}
