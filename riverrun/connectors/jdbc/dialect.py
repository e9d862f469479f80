"""What differs between databases, and what does not.

A dialect is made from connection options without connecting, travels to the workers and connects there. Every
connection that it gives commits each statement by itself; a transaction is what ``begin`` and ``COMMIT`` stand
around. Statements are written with question marks and go through ``sql``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.errors import Trouble
from riverrun.connectors.jdbc.placeholders import translated
from riverrun.serde.type_info import TypeInformation

__all__ = ["Addresses", "Dialect", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """A table that rows are written to: these of its fields, with these of them as the key."""

    table: str
    fields: tuple[str, ...]
    key_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Addresses:
    """Places of rows in a table, as a column that the table has without anybody having made it."""

    column: str
    declared: str
    borders: tuple[Any, ...]
    """Where parts end and the next ones begin."""


@dataclass(frozen=True)
class Dialect(ABC):
    """One kind of database, at one address."""

    options: JdbcConnectionOptions

    name: ClassVar[str]
    scheme: ClassVar[str]
    """How addresses of it begin."""
    drivers: ClassVar[tuple[str, ...]]
    """What JDBC calls the driver."""
    placeholder: ClassVar[str]
    begin: ClassVar[str]
    lock_row: ClassVar[str]
    """What makes a SELECT keep the rows that it finds from others until the end of the transaction."""
    readers_hold_writers_up: ClassVar[bool] = False
    """Whether nobody can write while a query is read, so that it must be read in short ones."""
    time_type: ClassVar[str]
    """The type of a point in time in the marker table."""

    @abstractmethod
    def check(self, user: str) -> None:
        """Refuse an address that cannot work, without connecting.

        Raises:
            ProgramError: it cannot, or a package is missing; ``user`` is who wants to connect.
        """

    @abstractmethod
    def connect(self, *, reads: bool = False) -> Any:
        """A new connection in which each statement commits by itself; may be used in any thread.

        With ``reads`` a transaction may be left waiting: it holds nothing that others want.
        """

    @abstractmethod
    def interrupt(self, connection: Any) -> None:
        """Break off the statement that runs, which fails then; called from another thread."""

    @abstractmethod
    def trouble(self, error: Exception) -> Trouble:
        """What an error of the driver means."""

    @abstractmethod
    def columns(self, connection: Any, table: str) -> dict[str, str]:
        """The columns of ``table`` in order, with their types; empty when there is no such table."""

    @abstractmethod
    def primary_key(self, connection: Any, table: str) -> tuple[str, ...]:
        """The columns of the table's primary key in order; empty when it has none."""

    @abstractmethod
    def dry_run(self, connection: Any, text: str) -> None:
        """Let the database read a statement as far as it goes without doing it: names, types, privileges."""

    @abstractmethod
    def now_minus_days(self, days: int) -> str:
        """An expression for the time so many days ago, of the type ``time_type``."""

    @abstractmethod
    def lock_creation(self, connection: Any, table: str) -> None:
        """Let nobody else create ``table`` until the end of the transaction."""

    @abstractmethod
    def type_of_column(self, declared: str) -> TypeInformation:
        """The type of the values of a column with this type."""

    @abstractmethod
    def addresses(self, connection: Any, table: str, parts: int) -> Addresses | None:
        """Where the rows of a table lie, in so many parts; ``None``: the database does not tell."""

    @abstractmethod
    def described(self, connection: Any, sql: str, parameters: Sequence[Any]) -> dict[str, str]:
        """The names of a query's columns, and their types where the database tells them."""

    @abstractmethod
    def stream(self, connection: Any, sql: str, parameters: Sequence[Any]) -> Any:
        """A cursor over a query's rows that holds few of them at a time; inside a transaction."""

    def write(
        self, connection: Any, target: Target, rows: Sequence[Sequence[Any]], *, bulk: bool
    ) -> None:
        """Insert rows, or replace those with the same key; with ``bulk`` in the fastest way.

        Keys must not repeat within ``rows``.
        """
        del bulk
        self.execute_many(connection, self.upsert_sql(target), rows)

    def cast(self, declared: str) -> str:
        """A placeholder for a value of a column with this type."""
        del declared
        return "?"

    def sql(self, text: str) -> str:
        """The statement as the driver takes it."""
        return translated(text, self.placeholder)

    def execute(self, connection: Any, text: str, parameters: Sequence[Any] = ()) -> Any:
        """Run a statement written with question marks; a cursor."""
        return connection.execute(self.sql(text), parameters)

    def execute_many(self, connection: Any, text: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each of ``rows``."""
        cursor = connection.cursor()
        try:
            cursor.executemany(self.sql(text), rows)
        finally:
            cursor.close()

    def quote(self, identifier: str) -> str:
        """One name, whatever is in it."""
        doubled = identifier.replace('"', '""')
        return f'"{doubled}"'

    def table_name(self, table: str) -> str:
        """The name of a table, with its schema before a dot if it has one; as it stands if it is quoted."""
        if '"' in table:
            return table
        return ".".join(self.quote(part) for part in table.split("."))

    def names(self, fields: Sequence[str]) -> str:
        """Names in a list."""
        return ", ".join(self.quote(field) for field in fields)

    def upsert_sql(self, target: Target) -> str:
        """A statement that inserts a row; one with the same key is replaced if there is a key."""
        marks = ", ".join("?" for _ in target.fields)
        insert = (
            f"INSERT INTO {self.table_name(target.table)} ({self.names(target.fields)}) "  # noqa: S608  (names are quoted)
            f"VALUES ({marks})"
        )
        return insert + self.on_conflict(target)

    def on_conflict(self, target: Target) -> str:
        """The end of an INSERT that replaces rows with the same key; empty without a key."""
        if not target.key_fields:
            return ""
        others = [field for field in target.fields if field not in target.key_fields]
        conflict = f" ON CONFLICT ({self.names(target.key_fields)}) DO "
        if not others:
            return f"{conflict}NOTHING"
        assigned = ", ".join(f"{self.quote(each)} = excluded.{self.quote(each)}" for each in others)
        return f"{conflict}UPDATE SET {assigned}"

    def delete_sql(self, target: Target) -> str:
        """A statement that deletes the row with a key."""
        where = " AND ".join(f"{self.quote(each)} = ?" for each in target.key_fields)
        return f"DELETE FROM {self.table_name(target.table)} WHERE {where}"  # noqa: S608  (names are quoted)
