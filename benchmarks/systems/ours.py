"""riverrun: as it comes, and on its other backend."""

from typing import Final

from benchmarks.systems.system import Case, Sizes, System
from benchmarks.workloads import COLUMNS, KEYED, STATE, STATELESS, WINDOWS

_ENGINE: Final = "benchmarks.engine"
_WINDOWS: Final = "benchmarks.window_engine"

RIVERRUN: Final = System(
    "riverrun",
    {
        STATELESS: Case(_ENGINE, Sizes(1_000_000, 11_000_000)),
        KEYED: Case(_ENGINE, Sizes(1_000_000, 11_000_000)),
        STATE: Case(_ENGINE, Sizes(1_000_000, 9_000_000)),
        WINDOWS: Case(_WINDOWS, Sizes(1_000_000, 9_000_000)),
        COLUMNS: Case(_WINDOWS, Sizes(10_000_000, 110_000_000), ("--logic", "columns")),
    },
)

ROCKSDB: Final = System(
    "rocksdb",
    {
        STATE: Case(_ENGINE, Sizes(1_000_000, 9_000_000), ("--backend", "rocksdb")),
        WINDOWS: Case(_WINDOWS, Sizes(1_000_000, 9_000_000), ("--backend", "rocksdb")),
    },
)
"""riverrun with ``state.backend.type: rocksdb``."""
