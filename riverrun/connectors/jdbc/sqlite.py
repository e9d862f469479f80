"""SQLite: a file that several processes of one machine share."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from riverrun.connectors.jdbc.dialect import Addresses, Dialect
from riverrun.connectors.jdbc.errors import DatabaseRefused, Trouble
from riverrun.connectors.jdbc.placeholders import count
from riverrun.connectors.jdbc.ranges import inner_borders
from riverrun.core.errors import ProgramError
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["SqliteDialect"]

_BUSY_S: Final = 30.0
"""How long a statement waits for another writer: there is one at a time."""

_PASSING: Final = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT}
)
_MISTAKES: Final = (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
_REFUSED: Final = (
    "no such table",
    "no such column",
    "has no column named",
    "syntax error",
    "ON CONFLICT clause does not match",
    "attempt to write a readonly database",
    "unable to open database file",
    "values for",
)


class SqliteDialect(Dialect):
    """``jdbc:sqlite:/path/to/file.db``; the folder must exist."""

    name: ClassVar[str] = "SQLite"
    scheme: ClassVar[str] = "sqlite"
    drivers: ClassVar[tuple[str, ...]] = ("org.sqlite.JDBC",)
    placeholder: ClassVar[str] = "?"
    # The write lock is taken at once: a transaction that reads first and writes later could not wait for it.
    begin: ClassVar[str] = "BEGIN IMMEDIATE"
    lock_row: ClassVar[str] = ""
    readers_hold_writers_up: ClassVar[bool] = True
    time_type: ClassVar[str] = "TEXT"

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.options.url.removeprefix("jdbc:").removeprefix("sqlite:").split("?")[0])

    def check(self, user: str) -> None:
        text = str(self.path)
        if text in {".", ":memory:"} or "mode=memory" in self.options.url:
            raise ProgramError(
                f"{user}: the address {self.options.shown_url()!r} names no file, and the processes of "
                f"a job share none of their memory; expected such as 'jdbc:sqlite:/data/shop.db'"
            )

    def connect(self, *, reads: bool = False) -> Any:
        del reads  # a reader holds nobody up
        path = self.path
        if not path.parent.is_dir():
            raise DatabaseRefused(
                f"SQLite: there is no folder {str(path.parent)!r} for the file {path.name!r}; create it, or "
                f"correct the address"
            )
        connection = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def interrupt(self, connection: Any) -> None:
        connection.interrupt()

    def trouble(self, error: Exception) -> Trouble:
        if not isinstance(error, sqlite3.Error):
            return Trouble.FOREIGN
        if isinstance(error, _MISTAKES):
            return Trouble.REFUSED
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _PASSING:
            return Trouble.PASSING
        if isinstance(error, sqlite3.OperationalError) and any(
            text in str(error) for text in _REFUSED
        ):
            return Trouble.REFUSED
        return Trouble.UNCLEAR

    def columns(self, connection: Any, table: str) -> dict[str, str]:
        rows = connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (_bare(table),))
        return dict(rows.fetchall())

    def primary_key(self, connection: Any, table: str) -> tuple[str, ...]:
        rows = connection.execute(
            "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (_bare(table),)
        )
        return tuple(name for (name,) in rows)

    def dry_run(self, connection: Any, text: str) -> None:
        self.execute(connection, f"EXPLAIN {text}", [None] * count(text)).close()

    def now_minus_days(self, days: int) -> str:
        return f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{days} days')"

    def lock_creation(self, connection: Any, table: str) -> None:
        del connection, table  # the transaction holds the only write lock

    def type_of_column(self, declared: str) -> TypeInformation:
        # SQLite's own rules: which words in a declared type mean which kind of value.
        upper = declared.upper()
        if "INT" in upper:
            return Types.LONG()
        if any(word in upper for word in ("CHAR", "CLOB", "TEXT")):
            return Types.STRING()
        if any(word in upper for word in ("REAL", "FLOA", "DOUB")):
            return Types.DOUBLE()
        return Types.PICKLED_BYTE_ARRAY()

    def addresses(self, connection: Any, table: str, parts: int) -> Addresses | None:
        found = connection.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (_bare(table),)
        ).fetchone()
        if found is None or "WITHOUT ROWID" in found[0].upper():
            return None
        name = self.table_name(table)
        query = f"SELECT min(rowid), max(rowid) FROM {name}"  # noqa: S608  (names are quoted)
        low, high = connection.execute(query).fetchone()
        borders = () if low is None else inner_borders(low, high, parts)
        return Addresses("rowid", "INTEGER", tuple(borders))

    def described(self, connection: Any, sql: str, parameters: Sequence[Any]) -> dict[str, str]:
        query = f"SELECT * FROM ({sql}) LIMIT 0"  # noqa: S608  (the program's own query)
        cursor = self.execute(connection, query, parameters)
        return {column[0]: "" for column in cursor.description}

    def stream(self, connection: Any, sql: str, parameters: Sequence[Any]) -> Any:
        return self.execute(connection, sql, parameters)


def _bare(table: str) -> str:
    """The name as the catalogue has it: without quotes and without a schema."""
    return table.rpartition(".")[2].strip('"')
