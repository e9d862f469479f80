"""Parts of a table or of a query's result, each read from where it was left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from riverrun.connectors.jdbc.dialect import Dialect

__all__ = ["Key", "Part", "statement_of"]

Key: TypeAlias = tuple[tuple[str, str], ...]
"""Columns that tell any two rows apart, with their types."""


@dataclass(frozen=True, slots=True)
class Part:
    """A split of a JdbcSource: what to read, and what of it was read.

    With a key rows come in its order and the position is the last one's key; without, it is a number of
    rows, and the query must give the same rows in the same order each time.
    """

    name: str
    relation: str
    """A table's name or a query in parentheses, as SQL."""
    columns: tuple[str, ...] = ()
    """All of them if there are none."""
    where: str = ""
    parameters: tuple[Any, ...] = ()
    """For the question marks of the relation, then of the condition."""
    key: Key = ()
    after: tuple[Any, ...] | None = None
    given: int = 0

    def advanced(self, rows: Sequence[Sequence[Any]]) -> Part:
        """The part after these rows, with their keys in front, were read."""
        if not rows:
            return self
        given = self.given + len(rows)
        if not self.key:
            return replace(self, given=given)
        return replace(self, after=tuple(rows[-1][: len(self.key)]), given=given)


def statement_of(part: Part, dialect: Dialect) -> tuple[str, list[Any]]:
    """The query that gives what is left of a part, and its parameters.

    Each row has the columns of the key in front of its own. Without a key it gives the whole part, and
    whoever reads it leaves the first rows out: an OFFSET could make the database choose another order.
    """
    keys = [f"r.{_column(dialect, name)}" for name, _ in part.key]
    columns = [f"r.{dialect.quote(name)}" for name in part.columns] or ["r.*"]
    conditions = [part.where] if part.where else []
    parameters = list(part.parameters)
    if part.after is not None:
        marks = ", ".join(dialect.cast(declared) for _, declared in part.key)
        conditions.append(f"({', '.join(keys)}) > ({marks})")
        parameters += part.after
    where = f" WHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else ""
    ends = f" ORDER BY {', '.join(keys)}" if keys else ""
    names = ", ".join([*keys, *columns])
    # The names are quoted, and the rest is the program's own.
    return f"SELECT {names} FROM {part.relation} r{where}{ends}", parameters  # noqa: S608


def _column(dialect: Dialect, name: str) -> str:
    """A column's name; the places of rows are columns without quotes."""
    return name if name in {"ctid", "rowid"} else dialect.quote(name)
