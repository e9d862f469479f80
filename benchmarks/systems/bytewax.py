"""Bytewax, a process for each worker."""

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

_PEER: Final = "benchmarks.peers.bytewax_peer"
_WINDOWS: Final = "benchmarks.peers.bytewax_windows"

BYTEWAX: Final = System(
    "bytewax",
    {
        STATELESS: Case(_PEER, Sizes(500_000, 5_500_000)),
        KEYED: Case(_PEER, Sizes(200_000, 1_700_000)),
        STATE: Case(_PEER, Sizes(200_000, 1_700_000)),
        SKEWED: Case(_PEER, Sizes(200_000, 1_700_000)),
        WINDOWS: Case(_WINDOWS, Sizes(100_000, 1_100_000)),
        SLIDING: Case(_WINDOWS, Sizes(50_000, 550_000)),
        SESSIONS: Case(_WINDOWS, Sizes(100_000, 1_100_000)),
        JOIN: Case(_WINDOWS, Sizes(100_000, 900_000)),
        LARGE_RECORDS: Case(_PEER, Sizes(200, 2_200), ("--batch", "16")),
        CHAIN: Case(_PEER, Sizes(100_000, 900_000)),
        **dict.fromkeys(SUBTASKS, Case(_PEER, Sizes(100_000, 1_100_000))),
    },
    peer="bytewax",
    left_out={
        COLUMNS: "it has no aggregates declared on columns: every record is a Python object",
        **dict.fromkeys(NEXMARK, "asked of the DataStream API: PyFlink and riverrun only"),
    },
)
