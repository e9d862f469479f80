"""What a visit of a random key costs on rocksdb beside hashmap, and what a checkpoint of all keys costs.

``python -m benchmarks.rocksdb_visits [--keys N] [--memory MB] [--visits N]``: one process, no Spark, CPU time of all
its threads. Every key is written once; then keys are visited at random in runs as an operator has them, each
visit one read and one write, and the backends take turns. Then every key changes, and a checkpoint is written.
"""

import argparse
import os
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from benchmarks.resources import memory_bytes
from benchmarks.rocksdb_access import a_backend
from riverrun import Types
from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.state.backend import KeyedStateBackend
from riverrun.storage.blobs import Blob, FileRef

RUN: Final = 2048
TURNS: Final = 4
MB: Final = 1 << 20


class Kept:
    """Where snapshots are written to: counts bytes, after reading them."""

    def __init__(self) -> None:
        self.bytes = 0

    def put(self, data: bytes | memoryview, *, shared: bool) -> Blob:
        """Count."""
        return self._ref(len(data), shared=shared)

    def upload(self, source: Path, *, shared: bool) -> FileRef:
        """Read and count."""
        return self._ref(len(source.read_bytes()), shared=shared)

    def _ref(self, size: int, *, shared: bool) -> FileRef:
        self.bytes += size
        return FileRef(f"kept-{shared}-{self.bytes}", size, "0")


def visit(backend: KeyedStateBackend, keys: Sequence[object]) -> None:
    """One read and one write for each of ``keys``, in runs."""
    state = cast("ValueState[int]", backend.state(ValueStateDescriptor("count", Types.LONG())))
    for start in range(0, len(keys), RUN):
        run = keys[start : start + RUN]
        if backend.reads_ahead:
            backend.expect(run)
        for key in run:
            backend.key = key
            found = state.value()
            state.update(start if found is None else found + 1)


def checkpoint(backend: KeyedStateBackend, number: int) -> int:
    """Take one; the bytes that it wrote."""
    kept = Kept()
    frozen = backend.freeze(number)
    frozen.write(kept)
    frozen.discard()
    backend.checkpoint_completed(number)
    return kept.bytes


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--memory", type=int, default=52, help="MB")
    parser.add_argument("--visits", type=int, default=400_000, help="a turn")
    parser.add_argument("--text", action="store_true", help="keys are text")
    parser.add_argument("--backend", action="append", choices=("hashmap", "rocksdb"))
    asked = parser.parse_args()
    names = asked.backend or ["hashmap", "rocksdb"]
    folder = Path(tempfile.mkdtemp(prefix="rocksdb-visits-"))
    noise = random.Random(7)
    all_keys: list[object] = [f"user-{key}" if asked.text else key for key in range(asked.keys)]
    try:
        spent: dict[str, float] = dict.fromkeys(names, 1e9)
        backends = {}
        for name in names:
            before, began = memory_bytes([os.getpid()]), time.process_time()
            backends[name] = a_backend(name, folder, asked.memory * MB)
            visit(backends[name], all_keys)
            took = (time.process_time() - began) / asked.keys * 1e6
            grown = (memory_bytes([os.getpid()]) - before) / MB
            print(f"{name:8} filled: {took:.2f} us a key, process grew by {grown:.0f} MB")
        for _ in range(TURNS):
            keys = noise.choices(all_keys, k=asked.visits)
            for name, backend in backends.items():
                began = time.process_time()
                visit(backend, keys)
                spent[name] = min(spent[name], (time.process_time() - began) / len(keys) * 1e6)
        for name in names:
            print(f"{name:8} visit: {spent[name]:.2f} us ({spent[name] - spent[names[0]]:+.2f})")
        for name, backend in backends.items():
            checkpoint(backend, 1)
            for number in range(2, 5):
                visit(backend, all_keys)
                began = time.process_time()
                size = checkpoint(backend, number)
                took = (time.process_time() - began) / asked.keys * 1e6
                print(f"{name:8} checkpoint: {took:.2f} us a changed key, {size:,} bytes")
        print(f"process: {memory_bytes([os.getpid()]) / MB:.0f} MB")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
