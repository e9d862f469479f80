"""What keeping state in RocksDB costs beside keeping it in dicts: keys in the cache, and beyond it.

Run it with ``python benchmarks/rocksdb_access.py``. Ratios of one run, the best of several rounds. The
goal: with keys that fit the cache, at least half of the records a second that the hashmap backend does.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from riverrun.api.state import MapState, MapStateDescriptor, ValueState, ValueStateDescriptor
from riverrun.core.clock import SystemClock
from riverrun.state.backend import BackendSettings, KeyedStateBackend
from riverrun.state.backends import create_backend

KEYS = 10_000
RECORDS = 200_000
ROUNDS = 5
MANY_KEYS = 200_000
MB = 1 << 20


def a_backend(name: str, folder: Path, memory_bytes: int = 256 * MB) -> KeyedStateBackend:
    """A backend of all key groups."""
    return create_backend(
        name,
        BackendSettings(
            operator="benchmark",
            operator_id="benchmark",
            subtask=0,
            first_group=0,
            last_group=127,
            max_parallelism=128,
            clock=SystemClock(),
            folder=folder / name,
            incremental=True,
            memory_bytes=memory_bytes,
        ),
    )


def count(backend: KeyedStateBackend, keys: Sequence[int]) -> None:
    """Read and update a value for each record."""
    state = cast("ValueState[int]", backend.state(ValueStateDescriptor("count")))
    for key in keys:
        backend.key = key
        found = state.value()
        state.update(1 if found is None else found + 1)


def count_in_maps(backend: KeyedStateBackend, keys: Sequence[int]) -> None:
    """The same with an entry of a map."""
    state = cast("MapState[str, int]", backend.state(MapStateDescriptor("counts")))
    for key in keys:
        backend.key = key
        found = state.get("n")
        state.put("n", 1 if found is None else found + 1)


def nanoseconds(work: Callable[[], None], records: int) -> float:
    """CPU time of this thread a record, the best of some rounds after one that is not counted."""
    work()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return best / records * 1e9


def in_cache(folder: Path) -> None:
    """Keys that fit the cache: values, maps, and values with a freeze after each round."""
    keys = [record * 7919 % KEYS for record in range(RECORDS)]

    def counting(backend: KeyedStateBackend) -> Callable[[], None]:
        return lambda: count(backend, keys)

    def in_maps(backend: KeyedStateBackend) -> Callable[[], None]:
        return lambda: count_in_maps(backend, keys)

    def freezing(backend: KeyedStateBackend) -> Callable[[], None]:
        def work() -> None:
            count(backend, keys)
            backend.freeze(1).discard()

        return work

    for label, make in (("values", counting), ("maps", in_maps), ("values, frozen", freezing)):
        found = {}
        for name in ("hashmap", "rocksdb"):
            backend = a_backend(name, folder)
            found[name] = nanoseconds(make(backend), RECORDS)
            backend.close()
        print(
            f"{label:16} hashmap {found['hashmap']:5.0f} ns a record, rocksdb {found['rocksdb']:5.0f} ns: "
            f"{found['hashmap'] / found['rocksdb']:.2f} of the hashmap's rate"
        )


def beyond_the_cache(folder: Path) -> None:
    """Random keys, of which the cache holds about a tenth."""
    keys = [record * 7919 % MANY_KEYS for record in range(MANY_KEYS)]
    backend = a_backend("rocksdb", folder, memory_bytes=16 * MB)
    found = nanoseconds(lambda: count(backend, keys), len(keys))
    print(f"{'beyond the cache':16} rocksdb {found:5.0f} ns a record")
    backend.close()


def main() -> None:
    """Print the lines."""
    folder = Path(tempfile.mkdtemp(prefix="rocksdb-access-"))
    try:
        in_cache(folder)
        beyond_the_cache(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
