"""Rows sorted by key group and key, however many they are: sorted runs on disk, merged as they are read.

What is held in memory is one run while rows come in, and one batch of each run while they go out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from riverrun.storage.os_errors import reported

_Numbers: TypeAlias = npt.NDArray[Any]

RANK: Final = "_rank"
NUMBER: Final = "_number"
RUN_BYTES: Final = 48 << 20
"""Of a run, before it goes to the disk."""
_RUN_ROWS: Final = 1 << 18
_BATCH_BYTES: Final = 512 << 10
_BATCH_ROWS: Final = 4096
_HASH_BITS: Final = np.uint64(48)
_HASH_REST: Final = np.uint64(16)


class Sorted(NamedTuple):
    """Rows in order."""

    batch: pa.RecordBatch
    ranks: _Numbers
    """Equal for equal keys, and greater in a later key group."""
    numbers: _Numbers
    """As they were given; in order among rows of one rank."""


def ranks_of(hashes: npt.NDArray[np.uint64], max_parallelism: int) -> npt.NDArray[np.uint64]:
    """Where the keys with these hashes stand: by their key group, in it by their hash."""
    groups = hashes % np.uint64(max_parallelism)
    return groups << _HASH_BITS | hashes >> _HASH_REST


def groups_of(ranks: npt.NDArray[np.uint64]) -> list[int]:
    """The key groups of ranks."""
    found: list[int] = (ranks >> _HASH_BITS).tolist()
    return found


class Sorter:
    """Takes batches in any order and gives them back sorted; used once, from one thread."""

    def __init__(self, folder: Path, run_bytes: int = RUN_BYTES) -> None:
        """Runs that do not fit in memory go into ``folder``."""
        self._folder = folder
        self._run_bytes = run_bytes
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._rows = 0
        self._runs: list[Path] = []

    def add(self, batch: pa.RecordBatch, ranks: _Numbers, numbers: list[int]) -> None:
        """Take in rows.

        Raises:
            StorageError: the disk did not take a run.
        """
        with_place = batch.append_column(RANK, pa.array(ranks, pa.uint64())).append_column(
            NUMBER, pa.array(numbers, pa.int64())
        )
        self._held.append(with_place)
        self._bytes += with_place.nbytes
        self._rows += with_place.num_rows
        if self._bytes >= self._run_bytes or self._rows >= _RUN_ROWS:
            self._spill()

    def sorted(self) -> Iterator[Sorted]:
        """All rows, some at a time."""
        cursors = [_Cursor(_read(path)) for path in self._runs]
        cursors.append(_Cursor(iter(self._sorted_run())))
        alive = [cursor for cursor in cursors if cursor.fill()]
        while alive:
            border = min(cursor.last for cursor in alive)
            pieces = [piece for cursor in alive if (piece := cursor.take(border)).num_rows]
            yield _in_order(pieces)
            alive = [cursor for cursor in alive if cursor.fill()]
        for path in self._runs:
            path.unlink()

    def _spill(self) -> None:
        path = self._folder / f"run-{len(self._runs)}.arrow"
        batches = self._sorted_run()
        with (
            reported("writing", str(path)),
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_stream(file, batches[0].schema) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
        self._runs.append(path)

    def _sorted_run(self) -> list[pa.RecordBatch]:
        if not self._rows:
            return []
        table = pa.Table.from_batches(self._held).combine_chunks()
        per_row = max(self._bytes // self._rows, 1)
        self._held, self._bytes, self._rows = [], 0, 0
        order = np.lexsort((table[NUMBER].to_numpy(), table[RANK].to_numpy()))
        size = max(min(_BATCH_BYTES // per_row, _BATCH_ROWS), 1)
        batches: list[pa.RecordBatch] = table.take(order).combine_chunks().to_batches(size)
        return batches


class _Cursor:
    """How far a run is read."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._batch: pa.RecordBatch | None = None
        self._ranks: _Numbers = np.empty(0, np.uint64)
        self._numbers: _Numbers = np.empty(0, np.int64)
        self.last = (0, 0)
        """Rank and number of the last row that is in memory."""

    def fill(self) -> bool:
        """Have rows in memory; false when there are no more."""
        while self._batch is None or not self._batch.num_rows:
            batch = next(self._batches, None)
            if batch is None:
                return False
            self._set(batch)
        return True

    def take(self, border: tuple[int, int]) -> pa.RecordBatch:
        """The rows in memory up to the border."""
        batch = self._batch
        assert batch is not None  # noqa: S101  (it was filled)
        rank, number = border
        start = int(np.searchsorted(self._ranks, np.uint64(rank), "left"))
        end = int(np.searchsorted(self._ranks, np.uint64(rank), "right"))
        cut = start + int(np.searchsorted(self._numbers[start:end], number, "right"))
        self._set(batch.slice(cut))
        return batch.slice(0, cut)

    def _set(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        if batch.num_rows:
            self._ranks = batch.column(RANK).to_numpy()
            self._numbers = batch.column(NUMBER).to_numpy()
            self.last = (int(self._ranks[-1]), int(self._numbers[-1]))


def _in_order(pieces: list[pa.RecordBatch]) -> Sorted:
    batch = pieces[0]
    if len(pieces) > 1:
        batch = pa.concat_batches(pieces)
        ranks, numbers = batch.column(RANK).to_numpy(), batch.column(NUMBER).to_numpy()
        batch = batch.take(pa.array(np.lexsort((numbers, ranks))))
    ranks, numbers = batch.column(RANK).to_numpy(), batch.column(NUMBER).to_numpy()
    return Sorted(batch.select(batch.schema.names[:-2]), ranks, numbers)


def _read(path: Path) -> Iterator[pa.RecordBatch]:
    with reported("reading", str(path)), pa.OSFile(str(path)) as file:
        yield from pa.ipc.open_stream(file)
