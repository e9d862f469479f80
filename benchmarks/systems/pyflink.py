"""PyFlink in its two modes, tuned."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import KEYED, STATE, STATELESS, WINDOWS

_PEER: Final = "benchmarks.peers.pyflink_peer"
_WINDOWS: Final = "benchmarks.peers.pyflink_windows"
_LARGE_BUNDLES: Final = ("--bundle-size", "300000", "--bundle-time", "60000")

PYFLINK: Final = System(
    "pyflink",
    {
        STATELESS: Case(
            _PEER, Sizes(200_000, 1_700_000), ("--bundle-size", "10000", "--bundle-time", "1000")
        ),
        KEYED: Case(_PEER, Sizes(200_000, 1_200_000), _LARGE_BUNDLES),
        STATE: Case(_PEER, Sizes(200_000, 1_200_000), _LARGE_BUNDLES),
        WINDOWS: Case(
            _WINDOWS,
            Sizes(100_000, 600_000),
            ("--bundle-size", "100000", "--bundle-time", "1000", "--types", "pickled"),
        ),
    },
    peer="pyflink",
)
"""In process mode, which is PyFlink's default."""

PYFLINK_THREAD: Final = System(
    "pyflink-thread",
    {
        STATELESS: Case(_PEER, Sizes(200_000, 1_700_000), ("--mode", "thread")),
        KEYED: Case(_PEER, Sizes(200_000, 1_200_000), ("--mode", "thread")),
        STATE: Case(_PEER, Sizes(200_000, 1_200_000), ("--mode", "thread")),
        WINDOWS: Case(
            _WINDOWS, Sizes(100_000, 600_000), ("--mode", "thread", "--types", "pickled")
        ),
    },
    peer="pyflink",
)
"""With Python inside of Flink's JVM."""
