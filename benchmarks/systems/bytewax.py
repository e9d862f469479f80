"""Bytewax, two processes."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import KEYED, STATE, STATELESS, WINDOWS

_PEER: Final = "benchmarks.peers.bytewax_peer"

BYTEWAX: Final = System(
    "bytewax",
    {
        STATELESS: Case(_PEER, Sizes(500_000, 5_500_000), ("--batch", "5000")),
        KEYED: Case(_PEER, Sizes(200_000, 2_200_000), ("--batch", "5000", "--logic", "batch")),
        STATE: Case(_PEER, Sizes(200_000, 2_200_000), ("--batch", "5000")),
        WINDOWS: Case("benchmarks.peers.bytewax_windows", Sizes(100_000, 1_100_000)),
    },
    peer="bytewax",
)
