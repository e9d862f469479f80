"""Pathway."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import KEYED, STATELESS

_PEER: Final = "benchmarks.peers.pathway_peer"

PATHWAY: Final = System(
    "pathway",
    {
        STATELESS: Case(_PEER, Sizes(200_000, 2_200_000)),
        KEYED: Case(_PEER, Sizes(200_000, 2_200_000)),
    },
    peer="pathway",
)
