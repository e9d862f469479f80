"""The reader: rows of the tables, then changes; its position is exact at every row."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from riverrun.api.source import Polled, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.postgres_cdc.bad_rows import BadRows
from riverrun.connectors.postgres_cdc.changes import Changes
from riverrun.connectors.postgres_cdc.chunks import ChunkedTables, with_chunk
from riverrun.connectors.postgres_cdc.feed import Begun, Fed, Feed, Log, TablesRead
from riverrun.connectors.postgres_cdc.position import CdcSplit, Pending
from riverrun.connectors.postgres_cdc.preparation import (
    USER,
    CdcSettings,
    checked_slot,
    prepared,
)
from riverrun.connectors.postgres_cdc.rows import RowMaker, TableRows
from riverrun.connectors.postgres_cdc.table_reader import ChunkRead
from riverrun.serde.row import Row, RowKind

__all__ = ["CdcReader"]

_UNTIL_WOKEN_MS: Final = 1_000.0


class CdcReader(SourceReader[Row]):
    """Reads the one split of a PostgresCdcSource; a reader without a split has nothing to do."""

    def __init__(
        self, split: CdcSplit | None, context: SourceReaderContext, settings: CdcSettings
    ) -> None:
        self._split = split or CdcSplit()
        self._idle = split is None
        self._context = context
        self._settings = settings
        self._feed: Feed | None = None
        self._items: deque[bytes | int] = deque()
        self._snapshots: deque[tuple[int, int]] = deque()
        """Checkpoints that are not complete yet, or never will be, with their positions."""
        self._checkpoint = 0
        self._given = 0
        """How many of the rows that are pending were given."""

    def open(self) -> None:
        if self._idle:
            return
        settings, split = self._settings, self._split
        with closing(Session(settings.dialect, USER, settings.max_retries)) as session:
            tables = prepared(settings, session)
            checked_slot(settings, session, split.lsn)
        keys = {name: table.key for name, table in tables.items()}
        self._maker = RowMaker(keys, with_metadata=settings.with_metadata)
        metrics = self._context.runtime_context().get_metrics_group()
        self._bad_rows = BadRows(settings.bad_records, metrics.counter("numBadRecords"))
        self._changes = Changes(
            settings, self._maker, self._bad_rows, split.lsn or 0, split.changes
        )
        if split.chunks_until is not None:
            self._changes.leave_out(ChunkedTables(split.chunks), split.chunks_until)
        self._feed = Feed(settings, tables, split, self._context.wake)
        self._feed.start()

    def poll(self, limit: int) -> Polled:
        if self._feed is None:
            return Polled(status=SourceStatus.END_OF_INPUT)
        rows: list[Any] = []
        times: list[int] = []
        # An update makes two rows.
        while len(rows) < limit - 1 or not rows:
            if self._split.pending is not None:
                self._give_pending(self._split.pending, max(1, limit - len(rows)), rows, times)
            elif self._items:
                self._changes.take(self._items.popleft(), rows, times)
            elif (piece := self._feed.take()) is not None:
                self._take(piece)
            else:
                break
        letters = self._bad_rows.letters()
        if rows or letters:
            return Polled(rows, times, dead_letters=letters)
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=_UNTIL_WOKEN_MS)

    def prepare_snapshot(self, checkpoint: int) -> None:
        self._checkpoint = checkpoint

    def snapshot_splits(self) -> list[Any]:
        if self._feed is None:
            return []
        split = self._split
        if split.pending is not None:
            rest = split.pending.cells[self._given :]
            split = replace(split, pending=replace(split.pending, cells=rest))
        if split.lsn is not None:
            changes = self._changes
            split = replace(split, lsn=changes.lsn, changes=changes.changes)
            if split.chunks_until is not None and not changes.leaves_out:
                split = replace(split, chunks=())
            self._snapshots.append((self._checkpoint, changes.lsn))
        return [split]

    def notify_checkpoint_complete(self, checkpoint: int) -> None:
        lsn = None
        # With those before it that were given up: nobody goes on from them any more.
        while self._snapshots and self._snapshots[0][0] <= checkpoint:
            lsn = self._snapshots.popleft()[1]
        if self._feed is not None and lsn is not None:
            self._feed.confirm(lsn)

    def close(self) -> None:
        if self._feed is not None:
            self._feed.close()

    def _take(self, piece: Fed) -> None:
        split = self._split
        match piece:
            case Log(items):
                self._items.extend(items)
            case Begun(lsn, before, left):
                self._split = replace(split, lsn=lsn, before=before, left=left)
                self._changes.lsn = lsn
            case ChunkRead(chunk, rows, left):
                others = (split.left or ())[1:]
                self._split = replace(
                    split,
                    before=None,
                    left=others if left is None else (left, *others),
                    chunks=with_chunk(split.chunks, chunk),
                    pending=rows if rows.cells else None,
                )
            case TablesRead(until):
                self._split = replace(split, before=None, left=(), chunks_until=until)
                self._changes.leave_out(ChunkedTables(split.chunks), until)

    def _give_pending(
        self, pending: Pending, limit: int, rows: list[Any], times: list[int]
    ) -> None:
        table = self._maker.table(pending.table, pending.columns)
        taken = pending.cells[self._given : self._given + limit]
        try:
            values = [table.values(cells) for cells in taken]
        except BadMessage:
            values = self._good_ones(table, taken)
        rows += table.rows(RowKind.INSERT, values, self._split.lsn or 0, pending.time_ms)
        times += [pending.time_ms] * len(values)
        self._given += len(taken)
        if self._given == len(pending.cells):
            self._split, self._given = replace(self._split, pending=None), 0

    def _good_ones(
        self, table: TableRows, rows: Sequence[tuple[bytes | None, ...]]
    ) -> list[list[Any]]:
        values = []
        for cells in rows:
            try:
                values.append(table.values(cells))
            except BadMessage as bad:
                self._bad_rows.take(bad, cells)
        return values
