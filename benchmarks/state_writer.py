"""A savepoint written from Arrow batches: how long it takes, and by how much the process grows.

    python -m benchmarks.state_writer [--keys N]

A tenth of the keys is written first, so that what the process grows by afterwards is what more keys cost. The
batches are made as they are asked for, in an order that has nothing to do with that of key groups.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from riverrun.api.state import ValueStateDescriptor
from riverrun.serde.types import NamedTupleTypeInfo, Types
from riverrun.state_processor.writer import SavepointWriter

BATCH: Final = 8192


class Account(NamedTuple):
    """What the state holds for a customer."""

    balance: int
    average: float
    city: str


ACCOUNTS = ValueStateDescriptor(
    "accounts", NamedTupleTypeInfo(Account, [Types.LONG(), Types.DOUBLE(), Types.STRING()])
)


def batches(keys: int) -> Iterator[pa.RecordBatch]:
    """A row for each key."""
    for start in range(0, keys, BATCH):
        numbers = np.arange(start, min(start + BATCH, keys))
        yield pa.RecordBatch.from_pydict(
            {
                "customer": [f"customer-{number:08}" for number in numbers],
                "balance": numbers * 37 % 100_000,
                "average": numbers / 7,
                "city": [f"city {number % 500}" for number in numbers],
            }
        )


def write(keys: int, folder: Path) -> float:
    """Write a savepoint with so many keys; the seconds of the CPU that it took."""
    start = time.process_time()
    columns = ("balance", "average", "city")
    writer = SavepointWriter.new_savepoint().with_keyed_state(
        "totals",
        ACCOUNTS,
        batches(keys),
        key="customer",
        value=columns,
        key_type=Types.STRING(),
    )
    writer.write(folder)
    return time.process_time() - start


def peak_megabytes() -> float:
    """The most that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Write a tenth of the keys, then all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    keys = parser.parse_args().keys
    with tempfile.TemporaryDirectory() as made:
        for count in (keys // 10, keys):
            before = peak_megabytes()
            seconds = write(count, Path(made) / str(count))
            size = sum(file.stat().st_size for file in (Path(made) / str(count)).rglob("*.parquet"))
            print(
                f"{count:>10,} keys  {seconds:6.2f} s  {size / 1e6:7.1f} MB  "
                f"peak {peak_megabytes():5.0f} MB (+{peak_megabytes() - before:.0f} MB)"
            )


if __name__ == "__main__":
    main()
