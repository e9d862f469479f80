"""Keyed state to the open format of savepoints and back, beside plain pyarrow with the same columns.

    python -m benchmarks.savepoint_format [--keys N] [--backend hashmap|rocksdb]

Prints seconds of the CPU of one process for: freezing and writing the state, reading its entries, restoring
a backend and asking for the state; what plain pyarrow takes to write and to read the same columns, and the
ratio; and by how much the process grew while it wrote.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.api.state import ValueStateDescriptor
from riverrun.core.clock import ManualClock
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.types import NamedTupleTypeInfo, Types
from riverrun.state.backend import BackendSettings, KeyedStateBackend
from riverrun.state.backends import create_backend
from riverrun.state.interchange import iterate
from riverrun.state.parquet.snapshot import write_keyed
from riverrun.storage.local import LocalStorage
from riverrun.storage.savepoint_files import SavedSavepointFiles, SavepointFiles

GROUPS = 128


class Account(NamedTuple):
    """What the state holds for a customer."""

    balance: int
    average: float
    city: str


ACCOUNTS = ValueStateDescriptor(
    "accounts", NamedTupleTypeInfo(Account, [Types.LONG(), Types.DOUBLE(), Types.STRING()])
)


def make(kind: str, folder: Path) -> KeyedStateBackend:
    """An empty backend with all key groups."""
    settings = BackendSettings(
        operator="accounts",
        operator_id="ac" * 16,
        subtask=0,
        first_group=0,
        last_group=GROUPS - 1,
        max_parallelism=GROUPS,
        clock=ManualClock(0),
        folder=folder,
        key_type=Types.STRING(),
    )
    return create_backend(kind, settings)


def fill(backend: KeyedStateBackend, keys: int) -> None:
    """A value for each key."""
    state: Any = backend.state(ACCOUNTS)
    for number in range(keys):
        backend.key = f"customer-{number:07}"
        state.update(Account(number * 37 % 100_000, number / 7, f"city {number % 500}"))


def timed(what: str, act: Callable[[], Any]) -> tuple[float, Any]:
    """Print how long ``act`` took, and give it back with what ``act`` gave."""
    start = time.process_time()
    found = act()
    took = time.process_time() - start
    print(f"{what:34} {took:6.2f} s")
    return took, found


def peak_mb() -> float:
    """The most that this process ever had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--backend", default="hashmap")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        measure(given.keys, given.backend, Path(made))


def measure(keys: int, kind: str, folder: Path) -> None:
    """Write, read and restore one state."""
    pa.set_cpu_count(1)
    pa.array(["loads pandas, which a job has loaded long before"])
    backend = make(kind, folder / "backend")
    fill(backend, keys)
    files = SavepointFiles(LocalStorage(), str(folder / "savepoint"), folder / "scratch")
    before = peak_mb()

    def write() -> KeyedSnapshot:
        frozen = backend.freeze(1, savepoint=True)
        snapshot = write_keyed(frozen, files)
        frozen.discard()
        return snapshot

    wrote, snapshot = timed("write", write)
    print(
        f"{'grew while writing':34} {peak_mb() - before:6.0f} MB, file {files.bytes_written >> 20} MB"
    )
    backend.close()
    saved = SavedSavepointFiles(LocalStorage(), str(folder / "savepoint"))

    def read() -> int:
        return sum(len(block.keys) for block in iterate(snapshot, saved, range(GROUPS)))

    took, found = timed("read every entry", read)
    assert found == keys, f"read {found} entries of {keys}"
    timed("read one of 128 key groups", lambda: list(iterate(snapshot, saved, range(60, 61))))
    again = make(kind, folder / "again")
    timed("restore a backend", lambda: again.restore([snapshot], saved, owned=False))
    timed("ask for the state", lambda: again.state(ACCOUNTS))
    again.close()
    plain(folder, snapshot, wrote, took)


def plain(folder: Path, snapshot: KeyedSnapshot, wrote: float, read: float) -> None:
    """The same columns with nothing but pyarrow."""
    path = folder / "savepoint" / snapshot.parts[0].blob.path  # type: ignore[union-attr]
    rows = pq.read_table(path).to_pylist()
    schema = pq.read_schema(path)

    def write_rows() -> None:
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "plain", compression="zstd")

    write_plain, _ = timed("plain pyarrow, write from dicts", write_rows)
    read_plain, _ = timed("plain pyarrow, read to dicts", lambda: pq.read_table(path).to_pylist())
    print(f"write {wrote / write_plain:.2f} x, read {read / read_plain:.2f} x of plain pyarrow")


if __name__ == "__main__":
    main()
