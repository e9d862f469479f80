"""Reading a table chunk by chunk, each chunk with the moment at which it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.postgres_cdc.chunks import Chunk
from riverrun.connectors.postgres_cdc.position import Pending, TableLeft
from riverrun.connectors.postgres_cdc.preparation import CdcSettings, Table
from riverrun.connectors.postgres_cdc.rows import RowMaker

__all__ = ["AS_TEXT", "ChunkRead", "TableReader"]

AS_TEXT: Final = {
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}
"""How values are written, in the tables' rows as in the changes: they are read by the same rules."""

_ORDERED_ALIKE: Final = frozenset(
    {"int2", "int4", "int8", "oid", "numeric", "uuid", "date", "timestamp", "timestamptz", "bool"}
)
"""Types whose values Python puts in the same order as PostgreSQL."""
_TEXTS: Final = frozenset({"text", "varchar"})
"""These too, if they are compared byte by byte: whatever their own collation is, chunks are read so."""


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """A chunk, its rows, and what is left of its table."""

    chunk: Chunk
    rows: Pending
    left: TableLeft | None


@dataclass(frozen=True, slots=True)
class _KeyColumn:
    name: str
    declared: str
    collate: str


class TableReader:
    """Reads tables; used from one thread."""

    def __init__(self, settings: CdcSettings, tables: dict[str, Table], session: Session) -> None:
        self._settings = settings
        self._tables = tables
        self._session = session
        keys = {name: table.key for name, table in tables.items()}
        self._maker = RowMaker(keys, with_metadata=False)
        self._orders: dict[str, tuple[_KeyColumn, ...]] = {}

    def read(self, left: TableLeft) -> ChunkRead:
        """The next chunk of a table."""
        return self._session.run(lambda connection: self._read(connection, left))

    def _read(self, connection: Any, left: TableLeft) -> ChunkRead:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for name, value in AS_TEXT.items():
            connection.execute(f"SET LOCAL {name} = '{value}'")
        snapshot, time_ms = connection.execute(
            "SELECT pg_current_snapshot()::text, "
            "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        ).fetchone()
        order = self._order(connection, left.table)
        sql, parameters = self._query(left, order)
        cursor = self._settings.dialect.execute(connection, sql, parameters)
        result = cursor.pgresult
        fields = range(result.nfields)
        rows = Pending(
            left.table,
            tuple((result.fname(place).decode(), result.ftype(place)) for place in fields),
            tuple(
                tuple(result.get_value(number, place) for place in fields)
                for number in range(result.ntuples)
            ),
            time_ms,
        )
        if not order or len(rows.cells) < self._settings.chunk_size:
            return ChunkRead(Chunk(left.table, None, snapshot), rows, None)
        table = self._maker.table(rows.table, rows.columns)
        last = table.key_in(rows.cells[-1])
        return ChunkRead(Chunk(left.table, last, snapshot), rows, TableLeft(left.table, last))

    def _query(self, left: TableLeft, order: tuple[_KeyColumn, ...]) -> tuple[str, tuple[Any, ...]]:
        dialect, table = self._settings.dialect, self._tables[left.table]
        keys = ", ".join(f"{dialect.quote(each.name)}{each.collate}" for each in order)
        conditions = [f"({table.row_filter})"] if table.row_filter else []
        parameters: tuple[Any, ...] = ()
        if left.after is not None:
            marks = ", ".join(f"{dialect.cast(each.declared)}{each.collate}" for each in order)
            conditions.append(f"({keys}) > ({marks})")
            parameters = left.after
        sql = f"SELECT {dialect.names(table.columns)} FROM {dialect.table_name(table.name)}"  # noqa: S608
        if conditions:
            sql += f" WHERE {' AND '.join(conditions)}"
        if order:
            sql += f" ORDER BY {keys} LIMIT {self._settings.chunk_size}"
        return sql, parameters

    def _order(self, connection: Any, table: str) -> tuple[_KeyColumn, ...]:
        """What orders a table; nothing if it can only be read as a whole."""
        if table not in self._orders:
            key = self._tables[table].key
            self._orders[table] = _order_of(self._settings.dialect, connection, table, key)
        return self._orders[table]


def _order_of(
    dialect: Dialect, connection: Any, table: str, key: tuple[str, ...]
) -> tuple[_KeyColumn, ...]:
    found = connection.execute(
        "SELECT a.attname, format_type(a.atttypid, -1), t.typname, coalesce(c.collname, '') "
        "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
        "LEFT JOIN pg_collation c ON c.oid = a.attcollation "
        "WHERE a.attrelid = to_regclass(%s) AND a.attname = ANY(%s)",
        (dialect.table_name(table), list(key)),
    ).fetchall()
    columns = {}
    for name, declared, kind, collation in found:
        if kind not in _ORDERED_ALIKE | _TEXTS:
            return ()
        collate = ' COLLATE "C"' if kind in _TEXTS and collation != "C" else ""
        columns[name] = _KeyColumn(name, declared, collate)
    return tuple(columns[name] for name in key)
