"""What a source reads, and in which parts: planned once, when the job first starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Final

from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.errors import DatabaseRefused
from riverrun.connectors.jdbc.parts import Key, Part, statement_of
from riverrun.connectors.jdbc.ranges import inner_borders

__all__ = ["Plan", "QueryPlan", "TablePlan"]

_PARTS_OF_A_READER: Final = 4
"""Parts are dealt out as readers get free, so a few more than readers even out their lengths."""


@dataclass(frozen=True)
class Plan(ABC):
    """Says which parts there are."""

    user: str
    key: tuple[str, ...]
    """What orders the rows; empty: whatever the database knows."""
    continuous: bool

    @abstractmethod
    def parts(self, dialect: Dialect, connection: Any, readers: int) -> list[Part]:
        """The parts for so many readers.

        Raises:
            DatabaseRefused: a table or a column is missing.
        """

    @abstractmethod
    def relation(self, dialect: Dialect) -> str:
        """What is read, as SQL behind FROM."""

    @abstractmethod
    def types(self, dialect: Dialect, connection: Any) -> dict[str, str]:
        """The columns of the records, with their types."""


@dataclass(frozen=True)
class QueryPlan(Plan):
    """A query, once for each tuple of parameters."""

    sql: str
    parameters: tuple[tuple[Any, ...], ...]

    def parts(self, dialect: Dialect, connection: Any, readers: int) -> list[Part]:
        del readers
        types = self.types(dialect, connection)
        _refuse_unknown(self.user, "the query", self.key, types)
        key = tuple((name, types[name]) for name in self.key)
        return [
            Part(f"query {number}", self.relation(dialect), parameters=parameters, key=key)
            for number, parameters in enumerate(self.parameters)
        ]

    def relation(self, dialect: Dialect) -> str:
        del dialect
        return f"({self.sql})"

    def types(self, dialect: Dialect, connection: Any) -> dict[str, str]:
        return dialect.described(connection, self.sql, self.parameters[0])


@dataclass(frozen=True)
class TablePlan(Plan):
    """A table or a view, in ranges of one of its columns or of the places of its rows."""

    table: str
    columns: tuple[str, ...]
    partition_column: str | None
    bounds: tuple[Any, Any] | None
    partitions: int | None

    def parts(self, dialect: Dialect, connection: Any, readers: int) -> list[Part]:
        columns = self._columns(dialect, connection)
        number = 1 if self.continuous else self.partitions or readers * _PARTS_OF_A_READER
        names = self.key or dialect.primary_key(connection, self.table)
        key: Key = tuple((name, columns[name]) for name in names)
        column = self.partition_column
        if column is None and len(key) == 1 and _is_whole(key[0][1]):
            column = key[0][0]
        if column is not None and number > 1:
            borders = self._borders(dialect, connection, column, number)
            return list(self._ranged(dialect, column, columns[column], borders, key))
        found = None if self.continuous else dialect.addresses(connection, self.table, number)
        if found is not None:
            # The places also tell rows apart, so they are the order within a part.
            own = ((found.column, found.declared),)
            return list(self._ranged(dialect, *own[0], found.borders, own))
        if self.continuous and not key:
            raise DatabaseRefused(
                f"{self.user}: the table {self.table!r} has no primary key, and new rows are those with "
                f"a greater one; name a column that grows with set_key(...)"
            )
        return list(self._ranged(dialect, "", "", (), key))

    def relation(self, dialect: Dialect) -> str:
        return dialect.table_name(self.table)

    def types(self, dialect: Dialect, connection: Any) -> dict[str, str]:
        found = self._columns(dialect, connection)
        return {name: found[name] for name in self.columns or found}

    def _columns(self, dialect: Dialect, connection: Any) -> dict[str, str]:
        columns = dialect.columns(connection, self.table)
        if not columns:
            raise DatabaseRefused(
                f"{self.user}: {dialect.name} at {dialect.options.shown_url()!r} has no table "
                f"{self.table!r}; create it, or correct the name (names are exact, capitals too)"
            )
        wanted = [*self.columns, *self.key]
        if self.partition_column is not None:
            wanted.append(self.partition_column)
        _refuse_unknown(self.user, f"the table {self.table!r}", wanted, columns)
        return columns

    def _borders(
        self, dialect: Dialect, connection: Any, column: str, number: int
    ) -> Sequence[Any]:
        bounds = self.bounds
        if bounds is None:
            name = dialect.quote(column)
            query = f"SELECT min({name}), max({name}) FROM {self.relation(dialect)}"  # noqa: S608
            bounds = connection.execute(query).fetchone()
        low, high = bounds
        if low is None:
            return []
        try:
            return inner_borders(low, high, number)
        except TypeError:
            raise DatabaseRefused(
                f"{self.user}: the column {column!r} has values such as {low!r}, and there are no equal "
                f"parts of these; name a partition column with numbers or times"
            ) from None

    def _ranged(
        self, dialect: Dialect, column: str, declared: str, borders: Sequence[Any], key: Key
    ) -> Iterator[Part]:
        """One part for each range; the first and the last one are open, so that no row is left out."""
        name = column if column in {"ctid", "rowid"} else dialect.quote(column)
        mark = dialect.cast(declared)
        for number, (low, high) in enumerate(pairwise(chain([None], borders, [None]))):
            conditions, parameters = [], []
            if low is not None:
                conditions.append(f"r.{name} >= {mark}")
                parameters.append(low)
            if high is not None:
                below = f"r.{name} < {mark}"
                conditions.append(below if low is not None else f"({below} OR r.{name} IS NULL)")
                parameters.append(high)
            yield Part(
                f"{self.table} {number}",
                self.relation(dialect),
                columns=self.columns,
                where=" AND ".join(conditions),
                parameters=tuple(parameters),
                key=key,
            )


def check_parts(dialect: Dialect, connection: Any, parts: Sequence[Part]) -> None:
    """Let the database read the first part's query as far as it goes without doing it."""
    for part in parts[:1]:
        dialect.dry_run(connection, statement_of(part, dialect)[0])


def _is_whole(declared: str) -> bool:
    return declared.lower() in {"integer", "bigint", "smallint", "int"}


def _refuse_unknown(user: str, what: str, wanted: Sequence[str], found: dict[str, str]) -> None:
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise DatabaseRefused(f"{user}: {what} has no columns {unknown}; it has {list(found)}")
