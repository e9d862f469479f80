"""The guarded paths: each is prepared afresh, then handles its records once.

``PATHS[name](records)`` prepares and gives the work to measure, which says how many records it handled.
What preparation makes (values, programs, encoded frames) does not count. ``bare_of(name)`` is what its
costs are divided by.
"""

from collections.abc import Mapping
from typing import Final

from benchmarks.guard import chain_paths, exchange_paths, window_paths
from benchmarks.guard.work import Path, Work
from benchmarks.loops.transactions import keyed


def bare_loop(records: int) -> Work:
    """The user's functions in a plain loop: calls, tuples and a dict, as in all that follows."""

    def work() -> int:
        keyed(range(records))
        return records

    return work


def bare_of(name: str) -> Path:
    """The loop beside which a path is measured: of calls, or of copies where a path copies large records."""
    return _BARE.get(name, bare_loop)


PATHS: Final[Mapping[str, Path]] = {
    "encode tuples": exchange_paths.encode_pickled,
    "encode named tuples": exchange_paths.encode_named_tuples,
    "encode dataclasses": exchange_paths.encode_dataclasses,
    "decode tuples": exchange_paths.decode_pickled,
    "decode named tuples": exchange_paths.decode_named_tuples,
    "decode dataclasses": exchange_paths.decode_dataclasses,
    "route tuples by key": exchange_paths.route_by_key,
    "route named tuples by key": exchange_paths.route_named_tuples,
    "exchange Arrow batches": exchange_paths.arrow_batches,
    "exchange megabytes": exchange_paths.large_frames,
    "map and filter": chain_paths.map_and_filter,
    "hundred operators": chain_paths.hundred_operators,
    "value state": chain_paths.value_state,
    "value state, rocksdb": chain_paths.value_state_rocksdb,
    "value state, rocksdb, scarce": chain_paths.value_state_scarce,
    "reduce": chain_paths.reduce,
    "timers": chain_paths.timers,
    "source poll": chain_paths.source_poll,
    "snapshot of hashmap": chain_paths.snapshot,
    "tumbling aggregate": window_paths.tumbling_aggregate,
    "sliding aggregate": window_paths.sliding_aggregate,
    "session aggregate": window_paths.session_aggregate,
    "column aggregate": window_paths.column_aggregate,
    "interval join": window_paths.interval_join,
}

_BARE: Final[Mapping[str, Path]] = {"exchange megabytes": exchange_paths.bare_copies}
