"""The marker table: which epoch of which writer the database has, written in the transaction of its rows.

One row for each writer of each attempt of a job:

    writer        a name that no other writer has
    sink, subtask whose writer it is, for people
    epoch         the newest epoch that was committed
    checkpoint    the checkpoint that it belongs to, for people
    committed_at  when that was

A writer's row is there before its first rows are. Who commits locks the row, so that of two who commit the
same epoch (one of them left over from an attempt that is thought dead) the second waits for the first and then
sees that there is nothing to do. No row means: committed long ago, and forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.session import Session

__all__ = ["MARKER_TABLE", "MarkerTable"]

MARKER_TABLE: Final = "riverrun_commits"
_KEPT_DAYS: Final = 30

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MarkerTable:
    """The marks of one subtask of a sink."""

    table: str
    sink: str
    subtask: int

    def ensure(self, session: Session) -> None:
        """Create the table unless it is there."""
        session.run(lambda connection: self._ensure(session.dialect, connection))

    def register(self, session: Session, writer: str) -> None:
        """Enter a writer that has committed nothing yet."""
        dialect = session.dialect
        statement = (
            f"INSERT INTO {dialect.table_name(self.table)} "  # noqa: S608  (names are quoted)
            f"(writer, sink, subtask, epoch, checkpoint, committed_at) "
            f"VALUES (?, ?, ?, 0, 0, {dialect.now_minus_days(0)}) ON CONFLICT (writer) DO NOTHING"
        )
        session.run(
            lambda connection: dialect.execute(
                connection, statement, (writer, self.sink, self.subtask)
            )
        )

    def locked_epoch(self, dialect: Dialect, connection: Any, writer: str) -> int | None:
        """The newest epoch of ``writer``, and nobody else may commit one until the transaction ends.

        ``None``: the writer is not known any more.
        """
        found = dialect.execute(
            connection,
            f"SELECT epoch FROM {dialect.table_name(self.table)} "  # noqa: S608  (names are quoted)
            f"WHERE writer = ?{dialect.lock_row}",
            (writer,),
        ).fetchone()
        return None if found is None else int(found[0])

    def advance(
        self, dialect: Dialect, connection: Any, writer: str, epoch: int, checkpoint: int
    ) -> None:
        """Enter that ``epoch`` is committed."""
        dialect.execute(
            connection,
            f"UPDATE {dialect.table_name(self.table)} "  # noqa: S608  (names are quoted)
            f"SET epoch = ?, checkpoint = ?, committed_at = {dialect.now_minus_days(0)} "
            f"WHERE writer = ?",
            (epoch, checkpoint, writer),
        )

    def forget_old(self, session: Session) -> None:
        """Remove writers of the sink that gave no sign of life for weeks."""
        dialect = session.dialect
        statement = (
            f"DELETE FROM {dialect.table_name(self.table)} "  # noqa: S608  (names are quoted)
            f"WHERE sink = ? AND committed_at < {dialect.now_minus_days(_KEPT_DAYS)}"
        )
        work: Callable[[Any], Any] = lambda connection: dialect.execute(  # noqa: E731
            connection, statement, (self.sink,)
        )
        session.run(work)

    def _ensure(self, dialect: Dialect, connection: Any) -> None:
        # Who may not create tables can still use one that is there.
        if dialect.columns(connection, self.table):
            return
        dialect.lock_creation(connection, self.table)
        dialect.execute(
            connection,
            f"CREATE TABLE IF NOT EXISTS {dialect.table_name(self.table)} ("
            f"writer TEXT PRIMARY KEY, sink TEXT NOT NULL, subtask INTEGER NOT NULL, "
            f"epoch BIGINT NOT NULL, checkpoint BIGINT NOT NULL, "
            f"committed_at {dialect.time_type} NOT NULL)",
        )
        log.info("marker table created table=%s", self.table)
