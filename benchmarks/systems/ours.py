"""riverrun: as it comes, on its other backend, and on columns where a query of Nexmark's fits them."""

from typing import Final

from benchmarks.nexmark.column_queries import COLUMN_QUERIES
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
)

_ENGINE: Final = "benchmarks.engine"
_NEXMARK: Final = "benchmarks.nexmark.job"

RIVERRUN: Final = System(
    "riverrun",
    {
        STATELESS: Case(_ENGINE, Sizes(1_000_000, 11_000_000)),
        KEYED: Case(_ENGINE, Sizes(1_000_000, 7_000_000)),
        STATE: Case(_ENGINE, Sizes(1_000_000, 6_000_000)),
        SKEWED: Case(_ENGINE, Sizes(1_000_000, 6_000_000)),
        WINDOWS: Case(_ENGINE, Sizes(1_000_000, 5_000_000)),
        SLIDING: Case(_ENGINE, Sizes(500_000, 3_000_000)),
        SESSIONS: Case(_ENGINE, Sizes(300_000, 1_800_000)),
        JOIN: Case(_ENGINE, Sizes(300_000, 2_100_000)),
        COLUMNS: Case(_ENGINE, Sizes(10_000_000, 90_000_000)),
        LARGE_RECORDS: Case(_ENGINE, Sizes(500, 6_500)),
        CHAIN: Case(_ENGINE, Sizes(100_000, 800_000)),
        **dict.fromkeys(SUBTASKS, Case(_ENGINE, Sizes(1_000_000, 6_000_000))),
        **dict.fromkeys(NEXMARK, Case(_NEXMARK, Sizes(500_000, 3_500_000))),
    },
)

ROCKSDB: Final = System(
    "rocksdb",
    {
        STATE: Case(_ENGINE, Sizes(1_000_000, 6_000_000), ("--backend", "rocksdb")),
        WINDOWS: Case(_ENGINE, Sizes(1_000_000, 5_000_000), ("--backend", "rocksdb")),
    },
)
"""riverrun with ``state.backend.type: rocksdb``."""

RIVERRUN_COLUMNS: Final = System(
    "riverrun-columns",
    dict.fromkeys(
        COLUMN_QUERIES, Case(_NEXMARK, Sizes(2_000_000, 22_000_000), ("--logic", "columns"))
    ),
)
"""riverrun with Nexmark's queries written on columns."""
