"""Spark Structured Streaming: with Python functions, and in SQL alone."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import (
    CHAIN,
    COLUMNS,
    JOIN,
    KEYED,
    LARGE_RECORDS,
    NEXMARK,
    SESSIONS,
    SKEWED,
    SLIDING,
    STATE,
    STATELESS,
    SUBTASKS,
    WINDOWS,
    WORKLOADS,
)

_PEER: Final = "benchmarks.peers.structured_streaming"
_LARGE: Final = ("--batch", "200", "--arrow-rows", "16")
"""A micro-batch of 200 MB, messages of 16 MB to and from Python."""

STRUCTURED: Final = System(
    "structured",
    {
        STATELESS: Case(_PEER, Sizes(1_000_000, 6_000_000)),
        **dict.fromkeys(
            (KEYED, STATE, SKEWED, *SUBTASKS), Case(_PEER, Sizes(1_000_000, 3_000_000))
        ),
        WINDOWS: Case(_PEER, Sizes(1_000_000, 3_000_000)),
        SLIDING: Case(_PEER, Sizes(500_000, 1_500_000)),
        SESSIONS: Case(_PEER, Sizes(500_000, 1_500_000)),
        JOIN: Case(_PEER, Sizes(100_000, 350_000)),
        LARGE_RECORDS: Case(_PEER, Sizes(200, 1_000), _LARGE),
        CHAIN: Case(_PEER, Sizes(100_000, 700_000)),
    },
    left_out={
        COLUMNS: "sums that are declared on columns are Spark SQL, which has a line of its own",
        **dict.fromkeys(NEXMARK, "no program was written for it"),
    },
)
"""Python functions: ``mapInArrow`` and stateful functions, micro-batches."""

SPARK_SQL: Final = System(
    "spark-sql",
    {COLUMNS: Case("benchmarks.peers.spark_sql_columns", Sizes(10_000_000, 60_000_000))},
    left_out=dict.fromkeys(
        (workload for workload in WORKLOADS if workload != COLUMNS),
        "calls no Python function for a record; it is what columns are compared with",
    ),
)
"""No record is ever in Python."""
