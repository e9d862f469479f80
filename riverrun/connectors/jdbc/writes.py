"""What a batch of records does to a database: a statement of the program's own, or a table's upserts and deletes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from riverrun.connectors.jdbc.dialect import Dialect, Target
from riverrun.connectors.jdbc.errors import DatabaseRefused
from riverrun.connectors.jdbc.rows import RowShape
from riverrun.core.short_repr import short_repr

__all__ = ["Batch", "Rows", "StatementWrite", "TableWrite", "Write"]

Values: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """What is to be written, as plain tuples: small when pickled."""

    written: list[Values] = field(default_factory=list)
    deleted: list[Values] = field(default_factory=list)
    """Keys only."""


class Batch(ABC):
    """Records that wait to be written."""

    @abstractmethod
    def add(self, records: Sequence[Any]) -> None:
        """Take a run of records in."""

    @abstractmethod
    def __len__(self) -> int:
        """How many rows wait."""

    @abstractmethod
    def rows(self) -> Rows:
        """All of it."""


@dataclass(frozen=True)
class Write(ABC):
    """A way of writing; describes, and holds no connection."""

    shape: RowShape

    @abstractmethod
    def batch(self) -> Batch:
        """An empty batch."""

    @abstractmethod
    def check(self, dialect: Dialect, connection: Any) -> None:
        """Refuse what the database would refuse later.

        Raises:
            DatabaseRefused: a table or a column is missing.
        """

    @abstractmethod
    def apply(self, dialect: Dialect, connection: Any, rows: Rows) -> None:
        """Write, inside the transaction that the connection is in."""


@dataclass(frozen=True)
class StatementWrite(Write):
    """Runs one statement for each record."""

    sql: str

    def batch(self) -> Batch:
        return _InOrder(self.shape)

    def check(self, dialect: Dialect, connection: Any) -> None:
        dialect.dry_run(connection, self.sql)

    def apply(self, dialect: Dialect, connection: Any, rows: Rows) -> None:
        dialect.execute_many(connection, self.sql, rows.written)


@dataclass(frozen=True)
class TableWrite(Write):
    """Inserts into a table; with a key the newest record of a key is its row, and records can delete."""

    target: Target

    def batch(self) -> Batch:
        if not self.target.key_fields:
            return _InOrder(self.shape)
        places = [self.target.fields.index(each) for each in self.target.key_fields]
        return _NewestOfEachKey(self.shape, places)

    def check(self, dialect: Dialect, connection: Any) -> None:
        target, user = self.target, self.shape.user
        columns = dialect.columns(connection, target.table)
        if not columns:
            raise DatabaseRefused(
                f"{user}: {dialect.name} at {dialect.options.shown_url()!r} has no table "
                f"{target.table!r}; create it, or correct the name (names are exact, capitals too)"
            )
        missing = [each for each in target.fields if each not in columns]
        if missing:
            raise DatabaseRefused(
                f"{user}: the table {target.table!r} has no columns {missing}; it has {list(columns)}"
            )
        dialect.dry_run(connection, dialect.upsert_sql(target))

    def apply(self, dialect: Dialect, connection: Any, rows: Rows) -> None:
        if rows.deleted:
            dialect.execute_many(connection, dialect.delete_sql(self.target), rows.deleted)
        if rows.written:
            dialect.write(connection, self.target, rows.written, bulk=True)


class _InOrder(Batch):
    """Keeps all records; none of them may delete."""

    def __init__(self, shape: RowShape) -> None:
        self._shape = shape
        self._rows: list[Values] = []

    def add(self, records: Sequence[Any]) -> None:
        deletes = self._shape.deletes(records)
        if deletes is not None and any(deletes):
            found = records[deletes.index(True)]
            raise DatabaseRefused(
                f"{self._shape.user}: got {found.get_row_kind()} {short_repr(found)}, and only a table "
                f"with a key can delete; use JdbcSink.upsert(table, fields, key_fields, ...)"
            )
        self._rows += self._shape.run_of(records)

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> Rows:
        return Rows(self._rows)


class _NewestOfEachKey(Batch):
    """Keeps what is left to do for each key: one statement may not write a row twice."""

    def __init__(self, shape: RowShape, key_places: Sequence[int]) -> None:
        self._shape = shape
        self._places = tuple(key_places)
        self._newest: dict[Values, Values | None] = {}

    def add(self, records: Sequence[Any]) -> None:
        newest, places = self._newest, self._places
        values = self._shape.run_of(records)
        deletes = self._shape.deletes(records)
        if deletes is None:
            newest.update({tuple([row[place] for place in places]): row for row in values})
            return
        for row, gone in zip(values, deletes, strict=True):
            newest[tuple([row[place] for place in places])] = None if gone else row

    def __len__(self) -> int:
        return len(self._newest)

    def rows(self) -> Rows:
        newest = self._newest
        return Rows(
            [row for row in newest.values() if row is not None],
            [key for key, row in newest.items() if row is None],
        )
