"""The limit: the user's functions in a bare loop, one process per core."""

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
)

_LOOP: Final = "benchmarks.baseline"

BASELINE: Final = System(
    "baseline",
    {
        **dict.fromkeys((STATELESS, KEYED), Case(_LOOP, Sizes(1_000_000, 13_000_000))),
        **dict.fromkeys((STATE, SKEWED, *SUBTASKS), Case(_LOOP, Sizes(1_000_000, 13_000_000))),
        **dict.fromkeys((WINDOWS, SLIDING, SESSIONS), Case(_LOOP, Sizes(500_000, 8_500_000))),
        JOIN: Case(_LOOP, Sizes(500_000, 7_500_000)),
        COLUMNS: Case(_LOOP, Sizes(5_000_000, 155_000_000)),
        LARGE_RECORDS: Case(_LOOP, Sizes(5_000, 205_000)),
        CHAIN: Case(_LOOP, Sizes(200_000, 1_700_000)),
        **dict.fromkeys(NEXMARK, Case("benchmarks.nexmark.limit", Sizes(500_000, 4_500_000))),
    },
)
