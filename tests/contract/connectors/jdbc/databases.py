"""Databases of both kinds as tests see them, and parts of a sink as a task uses them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from riverrun.api.sink import Committable, Committer, SinkWriter, SinkWriterContext
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.dialects import dialect_of
from riverrun.connectors.jdbc.sink import JdbcSink


@dataclass
class TestDatabase:
    """One empty database."""

    __test__ = False

    options: JdbcConnectionOptions
    kill: Callable[[], None] = lambda: None
    """Ends the server without a warning; a file has none."""
    start: Callable[[], None] = lambda: None

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.options, "test")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        connection = self.dialect.connect()
        try:
            cursor = self.dialect.execute(connection, sql, parameters)
            return [] if cursor.description is None else list(cursor.fetchall())
        finally:
            connection.close()

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert many rows in one transaction."""
        connection = self.dialect.connect()
        marks = ", ".join("?" for _ in rows[0])
        connection.execute("BEGIN")
        self.dialect.execute_many(connection, f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.execute("COMMIT")
        connection.close()

    def rows(self, table: str = "orders") -> list[tuple[Any, ...]]:
        return sorted(self.execute(f"SELECT * FROM {table}"))


class NoClient:
    """Nothing is sent to the client."""

    def send(self, values: Sequence[Any], commit: str | None = None) -> None:
        raise AssertionError((values, commit))


def context(subtask: int = 0, parallelism: int = 1) -> SinkWriterContext:
    return SinkWriterContext(subtask, parallelism, "Sink: orders", NoClient(), checkpointing=True)


@dataclass
class Attempt:
    """A subtask of a sink in one attempt of a job, driven as its operator drives it."""

    sink: JdbcSink
    restored: Sequence[Committable] = ()
    subtask: int = 0
    prepared: list[Committable] = field(default_factory=list)

    def __post_init__(self) -> None:
        sink = pickle.loads(pickle.dumps(self.sink))
        committer = sink.create_committer(context(self.subtask))
        assert committer is not None
        self.committer: Committer = committer
        if self.restored:
            self.committer.commit(self.restored)
        self.writer: SinkWriter[Any] = sink.create_writer(context(self.subtask))
        self.writer.open()

    def write(self, *records: Any) -> None:
        self.writer.write_run(list(records), None)

    def snapshot(self, checkpoint: int) -> list[Committable]:
        """Prepare; what the checkpoint holds, as it comes back from storage."""
        self.writer.flush(end_of_input=False)
        self.prepared += [
            Committable(checkpoint, self.subtask, number, value)
            for number, value in enumerate(self.writer.prepare_commit())
        ]
        kept: list[Committable] = pickle.loads(pickle.dumps(self.prepared))
        return kept

    def complete(self, checkpoint: int) -> None:
        due = [each for each in self.prepared if each.checkpoint <= checkpoint]
        self.prepared = [each for each in self.prepared if each.checkpoint > checkpoint]
        if due:
            self.committer.commit(due)

    def close(self) -> None:
        self.writer.close()
        self.committer.close()
