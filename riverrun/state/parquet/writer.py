"""Rows of a state as they come become a file of row groups, each small enough to be held in memory.

Rows come in the order of their key groups, so a row group spans few of them, and who wants some key groups
passes over the row groups whose statistics say that they have none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.serde.check import TypeMismatch
from riverrun.serde.pickled_runs import UnpicklableValue
from riverrun.state.parquet.columns import GROUP, Rows, StateColumns
from riverrun.state.parquet.facts import FileFacts, with_facts
from riverrun.state.serializers import UnstorableValue
from riverrun.storage.os_errors import reported

_MOST_ROWS: Final = 32_768
"""Of a row group."""
_MOST_BYTES: Final = 32 << 20
"""Of a row group, before compression."""
_STEP_ROWS: Final = 2048
"""What is made columns at a time."""
_STEP_BYTES: Final = 4 << 20
"""The same where rows are long; then at least ``_FEWEST``, and the first time, before their length is
known, ``_FIRST``."""
_FEWEST: Final = 16
_FIRST: Final = 128


class TableFile(AbstractContextManager["TableFile"]):
    """Writes one file; used from one thread. A file that got no rows is not there."""

    def __init__(
        self, path: Path, facts: FileFacts, choose: Callable[[Rows], StateColumns]
    ) -> None:
        """``choose`` is called once, with the first rows."""
        self._path = path
        self._facts = facts
        self._choose = choose
        self._columns: StateColumns | None = None
        self._writer: pq.ParquetWriter | None = None
        self._waiting: Rows = {}
        self._step = _FIRST
        self._batches: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._held_bytes = 0
        self.rows = 0
        """So many were written."""

    def add(self, rows: Rows) -> None:
        """Append rows.

        Raises:
            UnstorableValue: a value is not what the state's type says, or cannot be pickled.
            StorageError: the disk did not take it.
        """
        if not self._waiting:
            self._waiting = {name: list(column) for name, column in rows.items()}
        else:
            for name, column in rows.items():
                self._waiting[name] += column
        if self._waiting_rows() >= self._step:
            self._convert()

    def finish(self) -> None:
        """Write all that waits."""
        self._convert()
        self._write_group()
        writer, self._writer = self._writer, None
        if writer is not None:
            with reported("writing", str(self._path)):
                writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        elif self._writer is not None:
            # The file is of no use any more; only what holds it open must go.
            writer, self._writer = self._writer, None
            with reported("writing", str(self._path)):
                writer.close()

    def _waiting_rows(self) -> int:
        return len(next(iter(self._waiting.values()), ()))

    def _convert(self) -> None:
        """Make columns of what waits, a step at a time."""
        rows, self._waiting = self._waiting, {}
        count, start = len(next(iter(rows.values()), ())), 0
        while start < count:
            end = start + self._step
            self._take({name: column[start:end] for name, column in rows.items()})
            start = end

    def _take(self, rows: Rows) -> None:
        if self._columns is None:
            self._columns = self._choose(rows)
        try:
            batch = self._columns.batch(rows)
        except (TypeMismatch, UnpicklableValue) as error:
            owner, state = self._facts.owner, self._facts.state
            raise UnstorableValue(owner.operator, state.name, str(error)) from error
        self._batches.append(batch)
        self._held_rows += batch.num_rows
        self._held_bytes += batch.nbytes
        per_row = max(batch.nbytes // batch.num_rows, 1)
        self._step = max(min(_STEP_BYTES // per_row, _STEP_ROWS), _FEWEST)
        if self._held_rows >= _MOST_ROWS or self._held_bytes >= _MOST_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if not self._batches:
            return
        table = pa.Table.from_batches(self._batches)
        self._batches, self._held_rows, self._held_bytes = [], 0, 0
        with reported("writing", str(self._path)):
            if self._writer is None:
                self._writer = _open(self._path, with_facts(table.schema, self._facts))
            self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self.rows += table.num_rows


def _open(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    known = [GROUP] if GROUP in schema.names else False
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        version="2.6",
        # Keys and values differ from row to row: to look for repetitions costs more than all the rest, and
        # zstd finds those that there are.
        use_dictionary=known,
        write_statistics=known,
        write_page_checksum=True,
    )
