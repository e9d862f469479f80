"""A source of changes, read as a task reads it, and the table that its rows describe."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from riverrun.api.source import SourceReader, SourceReaderContext
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.postgres_cdc.source import PostgresCdcSource, PostgresCdcSourceBuilder
from riverrun.core.clock import ManualClock
from riverrun.serde.row import Row, RowKind
from riverrun.testing.waiting import wait_until
from tests.servers.postgres import OWNER, PASSWORD, Database


def options(database: Database, user: str = OWNER) -> JdbcConnectionOptions:
    return JdbcConnectionOptions(database.url, None, user, PASSWORD)


def capturing(database: Database, *tables: str) -> PostgresCdcSourceBuilder:
    builder = PostgresCdcSource.builder().connection_options(options(database))
    # Slots are the server's, and every test has its own database.
    return builder.table_list(*(tables or ("orders",))).slot_name(f"slot_{database.name}")


class Capture:
    """Reads a source; may stop at any moment and go on from the last checkpoint."""

    def __init__(self, source: PostgresCdcSource) -> None:
        self._source = source
        self._saved: list[Any] = source.create_splits(1)
        self._reader: SourceReader[Row] | None = None
        self._checkpoint = 0

    @property
    def reader(self) -> SourceReader[Row]:
        if self._reader is None:
            source: PostgresCdcSource = pickle.loads(pickle.dumps(self._source))
            context = SourceReaderContext(0, 1, ManualClock())
            reader = source.create_reader(pickle.loads(pickle.dumps(self._saved)), context)
            reader.open()
            self._reader = reader
        return self._reader

    def poll(self, limit: int = 100) -> list[Row]:
        polled = self.reader.poll(limit)
        assert len(polled.values) <= limit
        return list(polled.values)

    def rows(self, number: int, limit: int = 100) -> list[Row]:
        """The next rows, and that there are so many."""
        found: list[Row] = []

        def enough() -> bool:
            found.extend(self.poll(limit))
            return len(found) >= number

        wait_until(enough, what=f"{number} rows, with {found} so far")
        assert len(found) == number, found
        return found

    def until(self, condition: Callable[[], Any], take: Callable[[list[Row]], Any]) -> None:
        """Hand rows to ``take`` until ``condition`` holds."""

        def done() -> bool:
            take(self.poll())
            return bool(condition())

        wait_until(done, what="the rows that are expected", timeout_s=60)

    def checkpoint(self, *, complete: bool = True) -> None:
        self._checkpoint += 1
        self.reader.prepare_snapshot(self._checkpoint)
        self._saved = self.reader.snapshot_splits()
        if complete:
            self.reader.notify_checkpoint_complete(self._checkpoint)

    def fail(self) -> None:
        """Lose everything since the last checkpoint."""
        self.close()

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


class Mirror:
    """The table that a stream of changes describes; every change must fit."""

    def __init__(self, key: str = "id") -> None:
        self._key = key
        self.content: dict[Any, dict[str, Any]] = {}

    def take(self, rows: list[Row]) -> None:
        for row in rows:
            key, kind = row[self._key], row.get_row_kind()
            match kind:
                case RowKind.INSERT:
                    assert key not in self.content, row
                    self.content[key] = row.as_dict()
                case RowKind.UPDATE_AFTER:
                    self.content[key] = row.as_dict()
                case RowKind.UPDATE_BEFORE | RowKind.DELETE:
                    assert key in self.content, row
                    del self.content[key]

    def copy(self) -> Mirror:
        other = Mirror(self._key)
        other.content = dict(self.content)
        return other


def shown(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Kinds and values."""
    return [(str(row.get_row_kind()), *row) for row in rows]
