"""Pathway, a process for each worker."""

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

_PEER: Final = "benchmarks.peers.pathway_peer"
_WINDOWS: Final = "benchmarks.peers.pathway_windows"

PATHWAY: Final = System(
    "pathway",
    {
        STATELESS: Case(_PEER, Sizes(100_000, 1_100_000), ("--chunk", "100000")),
        KEYED: Case(_PEER, Sizes(100_000, 900_000)),
        STATE: Case(_PEER, Sizes(100_000, 900_000)),
        SKEWED: Case(_PEER, Sizes(100_000, 900_000)),
        WINDOWS: Case(_WINDOWS, Sizes(40_000, 340_000)),
        SLIDING: Case(_WINDOWS, Sizes(10_000, 90_000)),
        SESSIONS: Case(_WINDOWS, Sizes(5_000, 45_000)),
        JOIN: Case(_WINDOWS, Sizes(40_000, 440_000)),
        COLUMNS: Case(_WINDOWS, Sizes(40_000, 340_000)),
        LARGE_RECORDS: Case(_PEER, Sizes(100, 1_600), ("--chunk", "8")),
        CHAIN: Case(_PEER, Sizes(20_000, 120_000)),
        **dict.fromkeys(SUBTASKS, Case(_PEER, Sizes(100_000, 700_000))),
    },
    peer="pathway",
    left_out=dict.fromkeys(NEXMARK, "asked of the DataStream API: PyFlink and riverrun only"),
)
