"""PyFlink in its two modes, tuned."""

from collections.abc import Mapping
from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import (
    CHAIN,
    COLUMNS,
    JOIN,
    KEYED,
    LARGE_RECORDS,
    SESSIONS,
    SKEWED,
    SLIDING,
    STATE,
    STATELESS,
    SUBTASKS,
    WINDOWS,
)

_RECORDS: Final = "benchmarks.peers.pyflink_records"
_WINDOWS: Final = "benchmarks.peers.pyflink_windows"
_JOIN: Final = "benchmarks.peers.pyflink_join"
_NEXMARK: Final = "benchmarks.peers.pyflink_nexmark"

_LEFT_OUT: Final = {
    COLUMNS: "PyFlink's DataStream API has no columns; its Table API has, and that is Flink SQL"
}

_PICKLED: Final = ("--types", "pickled")
_STATE: Final = (
    *("--bundle-size", "100000", "--bundle-time", "60000", "--warm-up", "5000"),
    *_PICKLED,
)
"""State is fetched and written back once a bundle for each key: large ones are best, and a run takes whole ones."""
_BUNDLES: Final = Sizes(200_000, 600_000)
"""One bundle and three bundles in each of two subtasks."""
_TIMES: Final = ("--bundle-size", "100000", "--bundle-time", "1000", *_PICKLED)
_THREAD: Final = ("--mode", "thread", *_PICKLED)

_NEXMARK_SIZES: Final[Mapping[str, Sizes]] = {
    "q0": Sizes(20_000, 140_000),
    "q1": Sizes(20_000, 220_000),
    "q2": Sizes(20_000, 270_000),
    "q3": Sizes(20_000, 220_000),
    "q4": Sizes(3_000, 18_000),
    "q5": Sizes(2_000, 8_000),
    "q6": Sizes(3_000, 18_000),
    "q7": Sizes(5_000, 25_000),
    "q8": Sizes(20_000, 170_000),
    "q11": Sizes(2_000, 10_000),
    "q12": Sizes(5_000, 45_000),
}

PYFLINK: Final = System(
    "pyflink",
    {
        STATELESS: Case(_RECORDS, Sizes(20_000, 270_000), _PICKLED),
        KEYED: Case(_RECORDS, _BUNDLES, _STATE),
        STATE: Case(_RECORDS, _BUNDLES, _STATE),
        SKEWED: Case(_RECORDS, _BUNDLES, _STATE),
        WINDOWS: Case(_WINDOWS, Sizes(5_000, 55_000), _TIMES),
        SLIDING: Case(_WINDOWS, Sizes(1_000, 7_000), _TIMES),
        SESSIONS: Case(_WINDOWS, Sizes(1_000, 7_000), _TIMES),
        JOIN: Case(_JOIN, Sizes(1_000, 6_000), _TIMES),
        LARGE_RECORDS: Case(_RECORDS, Sizes(20, 220), ("--bundle-size", "10")),
        CHAIN: Case(_RECORDS, Sizes(1_000, 9_000), _PICKLED),
        **{name: Case(_NEXMARK, sizes, _TIMES) for name, sizes in _NEXMARK_SIZES.items()},
    },
    peer="pyflink",
    left_out={
        **_LEFT_OUT,
        **dict.fromkeys(SUBTASKS, "whole bundles for so many subtasks take minutes; see state"),
    },
)
"""In process mode, which is PyFlink's default."""

PYFLINK_THREAD: Final = System(
    "pyflink-thread",
    {
        STATELESS: Case(_RECORDS, Sizes(20_000, 270_000), _THREAD),
        KEYED: Case(_RECORDS, Sizes(40_000, 160_000), _THREAD),
        STATE: Case(_RECORDS, Sizes(40_000, 160_000), _THREAD),
        SKEWED: Case(_RECORDS, Sizes(40_000, 160_000), _THREAD),
        WINDOWS: Case(_WINDOWS, Sizes(5_000, 55_000), _THREAD),
        SLIDING: Case(_WINDOWS, Sizes(1_000, 6_000), _THREAD),
        SESSIONS: Case(_WINDOWS, Sizes(1_000, 8_000), _THREAD),
        JOIN: Case(_JOIN, Sizes(3_000, 23_000), _THREAD),
        LARGE_RECORDS: Case(_RECORDS, Sizes(20, 420), _THREAD),
        CHAIN: Case(_RECORDS, Sizes(1_000, 9_000), _THREAD),
        **{name: Case(_RECORDS, Sizes(40_000, 160_000), _THREAD) for name in SUBTASKS},
        **{name: Case(_NEXMARK, sizes, _THREAD) for name, sizes in _NEXMARK_SIZES.items()},
    },
    peer="pyflink",
    left_out=_LEFT_OUT,
)
"""With Python inside of Flink's JVM."""
