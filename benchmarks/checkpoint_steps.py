"""What a checkpoint of keyed state costs for each changed key, without Spark.

    python -m benchmarks.checkpoint_steps [--backend rocksdb] [--keys N] [--keys-are texts] [--changed SHARE]

Nanoseconds of CPU for a changed key: of the freeze and of the write alone, and of all that a checkpoint makes
dearer when it is written by a thread while records go on. The latter contains what the records themselves
take longer because changes are counted, values are held and two threads share caches and the interpreter.
Rounds with and without checkpoints take turns, and the least of each counts. To compare two versions, run it with
``PYTHONPATH`` set to the one and to the other in turn.
"""

import argparse
import queue
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from riverrun.api.state import ValueStateDescriptor
from riverrun.core.clock import SystemClock
from riverrun.serde.types import Types
from riverrun.state.backend import BackendSettings, FrozenState
from riverrun.state.backends import create_backend
from riverrun.storage.checkpoint_files import CheckpointFiles
from riverrun.storage.local import LocalStorage

_RUN: Final = 2_000
"""Records between two looks at how much has changed."""
_GROUPS: Final = 128
_MEMORY: Final = 512 << 20
"""Of rocksdb: room for a million entries in its cache."""


class Totals:
    """A sum for each key in a value state, and checkpoints of it."""

    def __init__(self, backend: str, keys: list[Any], folder: Path) -> None:
        settings = BackendSettings(
            operator="totals",
            operator_id="totals",
            subtask=0,
            first_group=0,
            last_group=_GROUPS - 1,
            max_parallelism=_GROUPS,
            clock=SystemClock(),
            folder=folder / "backend",
            incremental=True,
            memory_bytes=_MEMORY,
        )
        self.backend = create_backend(backend, settings)
        self._total: Any = self.backend.state(ValueStateDescriptor("total", Types.LONG()))
        self._keys = keys
        self._folder = str(folder)
        self._storage = LocalStorage(self._folder)
        self._checkpoint = 0

    def change(self, count: int) -> float:
        """Add to the sums of so many keys; the seconds of CPU that it took."""
        start = time.process_time()
        backend, total = self.backend, self._total
        for first in range(0, count, _RUN):
            for key in self._keys[first : min(first + _RUN, count)]:
                backend.key = key
                total.update((total.value() or 1_000_000) + 1_000)
            backend.records_passed(_RUN)
        return time.process_time() - start

    def freeze(self) -> tuple[int, FrozenState]:
        """Begin the next checkpoint."""
        self._checkpoint += 1
        return self._checkpoint, self.backend.freeze(self._checkpoint)

    def write(self, checkpoint: int, frozen: FrozenState) -> None:
        """Write it."""
        files = CheckpointFiles(self._storage, self._folder, checkpoint, inline_limit=0)
        frozen.write(files)
        frozen.discard()


def alone(totals: Totals, changed: int, rounds: int) -> tuple[float, float]:
    """The least seconds for a freeze and for a write while nothing else happens."""
    freezes, writes = [], []
    for _ in range(rounds):
        totals.change(changed)
        start = time.process_time()
        checkpoint, frozen = totals.freeze()
        middle = time.process_time()
        totals.write(checkpoint, frozen)
        writes.append(time.process_time() - middle)
        freezes.append(middle - start)
        totals.backend.checkpoint_completed(checkpoint)
    return min(freezes), min(writes)


def beside(totals: Totals, changed: int, rounds: int) -> tuple[float, float]:
    """The least seconds for a round of changes without a checkpoint, and with one in another thread."""
    frozen: queue.SimpleQueue[tuple[int, FrozenState] | None] = queue.SimpleQueue()
    written: queue.SimpleQueue[int] = queue.SimpleQueue()

    def work() -> None:
        while (found := frozen.get()) is not None:
            totals.write(*found)
            written.put(found[0])

    thread = threading.Thread(target=work)
    thread.start()
    without, with_one = [], []
    for _ in range(rounds):
        without.append(totals.change(changed))
        start = time.process_time()
        frozen.put(totals.freeze())
        totals.change(changed)
        totals.backend.checkpoint_completed(written.get())
        with_one.append(time.process_time() - start)
    frozen.put(None)
    thread.join()
    return min(without), min(with_one)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="hashmap")
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--keys-are", choices=("ints", "texts"), default="ints")
    parser.add_argument("--changed", type=float, default=1.0, help="the share of the keys")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    numbers = range(100_000, 100_000 + arguments.keys)
    keys = list(numbers) if arguments.keys_are == "ints" else [f"key-{key:09}" for key in numbers]
    changed = int(arguments.keys * arguments.changed)
    with tempfile.TemporaryDirectory() as folder:
        totals = Totals(arguments.backend, keys, Path(folder))
        totals.change(len(keys))
        freeze, write = alone(totals, changed, arguments.rounds)
        without, with_one = beside(totals, changed, arguments.rounds)
    scale = 1e9 / changed
    print(
        f"{arguments.backend}, {arguments.keys:,} {arguments.keys_are}, {arguments.changed:.0%} changed; "
        f"ns of CPU a changed key: "
        f"freeze {freeze * scale:.0f}, write {write * scale:.0f}; a change {without * scale:.0f}, "
        f"with a checkpoint beside it {with_one * scale:.0f}: {(with_one - without) * scale:.0f} more"
    )


if __name__ == "__main__":
    main()
