"""The limit: the user's functions in a bare loop, one process per core."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import KEYED, STATE, STATELESS, WINDOWS

_LOOP: Final = "benchmarks.baseline"

BASELINE: Final = System(
    "baseline",
    {
        STATELESS: Case(_LOOP, Sizes(1_000_000, 11_000_000)),
        KEYED: Case(_LOOP, Sizes(1_000_000, 11_000_000)),
        STATE: Case(_LOOP, Sizes(1_000_000, 11_000_000)),
        WINDOWS: Case("benchmarks.window_baseline", Sizes(1_000_000, 9_000_000)),
    },
)
