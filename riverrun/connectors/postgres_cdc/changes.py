"""The stream of messages as rows, with a position that is exact inside transactions too."""

from __future__ import annotations

from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.jdbc.errors import DatabaseRefused
from riverrun.connectors.postgres_cdc.bad_rows import BadRows
from riverrun.connectors.postgres_cdc.chunks import ChunkedTables
from riverrun.connectors.postgres_cdc.pgoutput import (
    Begin,
    Change,
    Commit,
    Identity,
    Message,
    Operation,
    Relation,
    Truncate,
    decoded,
)
from riverrun.connectors.postgres_cdc.preparation import CdcSettings
from riverrun.connectors.postgres_cdc.rows import RowMaker, TableRows
from riverrun.serde.row import Row, RowKind

__all__ = ["Changes"]


class Changes:
    """Turns messages into rows.

    Args:
        settings: what is read.
        maker: makes the rows.
        bad_rows: gets what no row can be made of.
        lsn: up to where every transaction was given.
        changes: how many changes of the next one were.
    """

    def __init__(
        self, settings: CdcSettings, maker: RowMaker, bad_rows: BadRows, lsn: int, changes: int
    ) -> None:
        self._settings = settings
        self._bad_rows = bad_rows
        self._maker = maker
        self.lsn = lsn
        self.changes = changes
        self._transaction: Begin | None = None
        self._seen = 0
        self._skip = 0
        self._relations: dict[int, TableRows | None] = {}
        self._chunked: ChunkedTables | None = None
        self._chunks_until = 0

    def leave_out(self, chunked: ChunkedTables, until: int) -> None:
        """Leave out what the chunks of the tables have, up to a position."""
        self._chunked = chunked if until > self.lsn else None
        self._chunks_until = until

    @property
    def leaves_out(self) -> bool:
        """Whether changes may still be ones that the chunks have."""
        return self._chunked is not None

    def take(self, item: bytes | int, rows: list[Row], times: list[int]) -> None:
        """Take the next message, or position, and append the rows that it makes with their times."""
        if isinstance(item, int):
            if self._transaction is None and not self.changes:
                self._reach(item)
            return
        message = decoded(item)
        if message is not None:
            self._take(message, rows, times)

    def _take(self, message: Message, rows: list[Row], times: list[int]) -> None:
        match message:
            case Begin():
                # A transaction that was cut off comes again from its beginning.
                self._transaction, self._seen, self._skip = message, 0, self.changes
            case Commit(end_lsn):
                self._transaction, self.changes = None, 0
                self._reach(end_lsn)
            case Relation():
                self._relations[message.oid] = self._maker.relation(message)
            case Change() | Truncate():
                self._seen += 1
                if self._seen <= self._skip:
                    return
                self.changes = self._seen
                if isinstance(message, Truncate):
                    self._refuse_truncate(message)
                    return
                try:
                    made = self._rows_of(message)
                except BadMessage as bad:
                    self._bad_rows.take(bad, message.new or message.old or ())
                    return
                rows += made
                times += [self._begun.time_ms] * len(made)

    def _reach(self, lsn: int) -> None:
        self.lsn = max(self.lsn, lsn)
        if self._chunked is not None and self.lsn > self._chunks_until:
            self._chunked = None

    @property
    def _begun(self) -> Begin:
        assert self._transaction is not None  # noqa: S101  (changes come inside of transactions)
        return self._transaction

    def _rows_of(self, change: Change) -> list[Row]:
        table = self._relations.get(change.relation)
        if table is None:
            return []
        known = change.old if change.identity is Identity.ALL else None
        old = None if change.old is None else table.values(change.old)
        new = None if change.new is None else table.values(change.new, known)
        gone = old is not None and not self._has(table, old)
        there = new is not None and not self._has(table, new)
        kinds = _KINDS[change.operation]
        made = []
        if gone and old is not None:
            # Half of a change of the key may be part of a chunk: the other half stands for itself.
            kind = kinds[0] if there or change.operation is Operation.DELETE else RowKind.DELETE
            made.append(self._row(table, kind, old))
        if there and new is not None:
            kind = kinds[1] if gone or old is None else RowKind.INSERT
            made.append(self._row(table, kind, new))
        return made

    def _row(self, table: TableRows, kind: RowKind, values: list[object]) -> Row:
        begin = self._begun
        return table.row(kind, values, begin.commit_lsn, begin.time_ms)

    def _has(self, table: TableRows, values: list[object]) -> bool:
        """Whether a chunk has what this change did to the row."""
        begin = self._begun
        if self._chunked is None or begin.commit_lsn > self._chunks_until:
            return False
        return self._chunked.has_seen(table.table, table.key(values), begin.xid)

    def _refuse_truncate(self, message: Truncate) -> None:
        tables = [
            each.table
            for oid in message.relations
            if (each := self._relations.get(oid)) is not None
            and not (self._chunked and self._chunked.all_saw(each.table, self._begun.xid))
        ]
        if tables and not self._settings.skip_truncates:
            raise DatabaseRefused(
                f"{self._settings.where()}: the tables {tables} were emptied with TRUNCATE, which says of no "
                f"row that it is gone; use DELETE, or go on as if nothing had happened with skip_truncates()"
            )


_KINDS = {
    Operation.INSERT: (RowKind.DELETE, RowKind.INSERT),
    Operation.UPDATE: (RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER),
    Operation.DELETE: (RowKind.DELETE, RowKind.INSERT),
}
"""The kinds of the row as it was and as it is."""
