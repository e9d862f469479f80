"""The limit of each workload: a function that takes a range of indexes through the user's functions in a bare loop.

It makes the same records with the same generator and calls the same functions as every engine does, once a record.
Nothing is inlined: a function call per record is what the user's code is. What it gives back is for tests.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from benchmarks.loops.batches import columns
from benchmarks.loops.clicks import sessions
from benchmarks.loops.payments import sliding, windows
from benchmarks.loops.records import chain, large
from benchmarks.loops.shipments import join
from benchmarks.loops.transactions import keyed, skewed, state, stateless
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

__all__ = ["LOOPS"]

LOOPS: Final[Mapping[str, Callable[[range], Any]]] = {
    STATELESS: stateless,
    KEYED: keyed,
    STATE: state,
    SKEWED: skewed,
    WINDOWS: windows,
    SLIDING: sliding,
    SESSIONS: sessions,
    JOIN: join,
    COLUMNS: columns,
    LARGE_RECORDS: large,
    CHAIN: chain,
    **dict.fromkeys(SUBTASKS, state),
}
