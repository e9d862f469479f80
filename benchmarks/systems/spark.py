"""Spark Structured Streaming: with Python functions, and in SQL alone."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import KEYED, STATE, STATELESS, WINDOWS

_PEER: Final = "benchmarks.peers.structured_streaming"

STRUCTURED: Final = System(
    "structured",
    {
        STATELESS: Case(_PEER, Sizes(1_000_000, 6_000_000)),
        KEYED: Case(_PEER, Sizes(1_000_000, 4_000_000), ("--logic", "pandas")),
        STATE: Case(_PEER, Sizes(1_000_000, 4_000_000), ("--logic", "pandas")),
    },
)
"""Python functions: ``mapInArrow`` and ``transformWithState``, micro-batches."""

SPARK_SQL: Final = System(
    "spark-sql",
    {WINDOWS: Case(_PEER, Sizes(10_000_000, 60_000_000), ("--batch", "5000000"))},
)
"""No record is ever in Python."""
