"""From what the replication stream says to rows with the kind of their change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import repeat
from typing import Any, Final

from riverrun.connectors.base.extras import require
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.postgres_cdc.pgoutput import Cell, Relation, Unsent
from riverrun.core.short_repr import short_repr
from riverrun.serde.row import Row, RowKind, rows_of

__all__ = ["METADATA", "RowMaker", "TableRows", "Unavailable"]

METADATA: Final = ("_table", "_lsn", "_time_ms")
"""What is put in front of the columns of a row if it is asked for."""


class Unavailable(Enum):
    """Stands for a large value that an update did not touch, which PostgreSQL does not send.

    With ``ALTER TABLE ... REPLICA IDENTITY FULL`` there is none of it.
    """

    UNAVAILABLE = "unavailable"

    def __repr__(self) -> str:
        return "UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class TableRows:
    """Makes the rows of a table as it is at the moment."""

    table: str
    names: tuple[str, ...]
    loads: tuple[Callable[[bytes], Any], ...]
    key_places: tuple[int, ...]
    with_metadata: bool

    def values(self, cells: Sequence[Cell], instead: Sequence[Cell] | None = None) -> list[Any]:
        """The values; what was not sent comes from ``instead``, or is UNAVAILABLE.

        Raises:
            BadMessage: there is none for one of them.
        """
        values: list[Any] = []
        try:
            for place, cell in enumerate(cells):
                if cell is Unsent.UNSENT and instead is not None:
                    cell = instead[place]  # noqa: PLW2901  (the same cell, from where it is known)
                if cell is None:
                    values.append(None)
                elif cell is Unsent.UNSENT:
                    values.append(Unavailable.UNAVAILABLE)
                else:
                    values.append(self.loads[place](cell))
        except Exception as error:
            raise self._bad(cells, len(values), error) from error
        return values

    def key(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values of the primary key."""
        return tuple([values[place] for place in self.key_places])

    def key_in(self, cells: Sequence[bytes | None]) -> tuple[Any, ...]:
        """The values of the primary key, whatever else is in the row."""
        found = [(self.loads[place], cells[place]) for place in self.key_places]
        return tuple([None if cell is None else load(cell) for load, cell in found])

    def row(self, kind: RowKind, values: list[Any], lsn: int, time_ms: int) -> Row:
        """One row."""
        (row,) = self.rows(kind, [values], lsn, time_ms)
        return row

    def rows(self, kind: RowKind, values: list[list[Any]], lsn: int, time_ms: int) -> list[Row]:
        """Rows of one kind."""
        names = self.names
        if self.with_metadata:
            names = METADATA + names
            values = [[self.table, lsn, time_ms, *each] for each in values]
        return rows_of(names, values, repeat(kind.value))

    def _bad(self, cells: Sequence[Cell], place: int, error: Exception) -> BadMessage:
        key = {self.names[each]: cells[each] for each in self.key_places}
        return BadMessage(
            f"PostgresCdcSource: the table {self.table!r}, row {short_repr(key)}, column "
            f"{self.names[place]!r}",
            f"Python has no value for {short_repr(cells[place])} ({type(error).__name__}: {error})",
        )


class RowMaker:
    """Knows how PostgreSQL's types are read."""

    def __init__(self, keys: dict[str, tuple[str, ...]], *, with_metadata: bool) -> None:
        require("psycopg", extra="postgresql", user="PostgresCdcSource")
        from psycopg import pq  # noqa: PLC0415  (an extra)
        from psycopg.adapt import Transformer  # noqa: PLC0415

        self._text = pq.Format.TEXT
        self._transformer = Transformer()
        self._keys = keys
        self._with_metadata = with_metadata

    def table(self, table: str, columns: Sequence[tuple[str, int]]) -> TableRows:
        """What makes the rows of a table with these columns, given with the numbers of their types."""
        names = tuple(name for name, _ in columns)
        get_loader = self._transformer.get_loader
        loads = tuple(get_loader(oid, self._text).load for _, oid in columns)
        key_places = tuple(names.index(name) for name in self._keys[table] if name in names)
        return TableRows(table, names, loads, key_places, self._with_metadata)

    def relation(self, relation: Relation) -> TableRows | None:
        """What makes the rows of a relation; ``None`` when its table is not read."""
        if relation.table not in self._keys:
            return None
        columns = [(column.name, column.type_oid) for column in relation.columns]
        return self.table(relation.table, columns)
