"""JdbcLookupFunction: what a table knows about each record, asked without holding up the stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.connectors.base.batched_lookup import BatchedLookup
from riverrun.connectors.base.lookup_cache import LookupCache
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.dialects import dialect_of
from riverrun.connectors.jdbc.errors import DatabaseRefused
from riverrun.connectors.jdbc.session import Session
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ProgramError
from riverrun.core.short_repr import short_repr
from riverrun.serde.row import Row, rows_of

__all__ = ["JdbcLookupFunction", "LookupOptions"]

_USER: Final = "JdbcLookupFunction"


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """How much is remembered, and how the database is asked."""

    cache_max_rows: int = 10_000
    """How many rows each subtask remembers; 0: none."""
    cache_ttl_ms: int | None = None
    """How long they are believed; ``None``: for ever."""
    cache_missing: bool = True
    """Whether it is remembered that a key has no row."""
    batch_size: int = 200
    """How many keys one query asks for at most."""
    connections: int = 2
    """How many queries of a subtask are under way at once."""
    max_retries: int = 3


def pairs(value: Any, rows: Sequence[Row]) -> list[Any]:
    """The record with each of its rows, or with ``None`` if there are none."""
    return [(value, row) for row in rows] or [(value, None)]


class JdbcLookupFunction(AsyncFunction[Any, Any]):
    """Looks up the rows of a table whose key is that of the record; for ``AsyncDataStream``.

    Keys that are not in the cache are asked for together: one query for all that wait at the moment.

    Args:
        jdbc_connection_options: where the database is.
        table: the table or view.
        fields: the columns of the rows.
        key_fields: the columns to look up by; an index on them makes it fast.
        key: the values of the key fields for a record: a tuple, or the value itself if there is one.
        join: what comes out for a record and its rows; without it pairs, see ``pairs``.
        options: cache, batches, tries.

    Metrics: ``lookupCacheHits``, ``lookupCacheMisses``, ``lookupCacheSize``.
    """

    def __init__(  # noqa: PLR0913  (a lookup is made of that much, and the last two are rarely given)
        self,
        jdbc_connection_options: JdbcConnectionOptions,
        table: str,
        fields: Sequence[str],
        key_fields: Sequence[str],
        key: Callable[[Any], Any],
        *,
        join: Callable[[Any, Sequence[Row]], list[Any]] = pairs,
        options: LookupOptions | None = None,
    ) -> None:
        if isinstance(fields, str) or isinstance(key_fields, str) or not (fields and key_fields):
            raise ProgramError(
                f"{_USER}: got the fields {fields!r} and the key fields {key_fields!r}; expected lists "
                f"of names"
            )
        self._dialect = dialect_of(jdbc_connection_options, _USER)
        self._table = table
        self._fields = tuple(fields)
        self._key_fields = tuple(key_fields)
        self._key = key
        self._join = join
        self._options = options or LookupOptions()
        self._sessions: list[Session] = []
        self._lookup: BatchedLookup[tuple[Any, ...]] | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        options, dialect = self._options, self._dialect
        with closing(Session(dialect, _USER, options.max_retries, reads=True)) as session:
            self._types = session.run(lambda connection: self._checked(dialect, connection))
        self._own = threading.local()
        cache = LookupCache(
            options.cache_max_rows,
            options.cache_ttl_ms,
            keep_missing=options.cache_missing,
            clock=SystemClock(),
        )
        self._lookup = BatchedLookup(
            self._fetch,
            cache,
            name="riverrun-jdbc-lookup",
            threads=options.connections,
            most=options.batch_size,
            metrics=runtime_context.get_metrics_group(),
        )

    def close(self) -> None:
        if self._lookup is not None:
            self._lookup.close()
        for session in self._sessions:
            session.close()

    async def async_invoke(self, value: Any) -> list[Any]:
        assert self._lookup is not None  # noqa: S101  (opened before it is asked)
        return self._join(value, await self._lookup.rows(self._key_of(value)))

    def _key_of(self, value: Any) -> tuple[Any, ...]:
        given = self._key(value)
        key: tuple[Any, ...] = given if isinstance(given, tuple) else (given,)
        if len(key) != len(self._key_fields):
            raise ProgramError(
                f"{_USER}: the key of {short_repr(value)} is {short_repr(key)}; expected values for "
                f"{list(self._key_fields)}"
            )
        return key

    # in threads of the lookup

    def _fetch(self, keys: Sequence[tuple[Any, ...]]) -> list[list[Row]]:
        dialect = self._dialect
        found: list[list[list[Any]]] = [[] for _ in keys]
        statement = self._statement(len(keys))
        parameters = [value for number, key in enumerate(keys) for value in (number, *key)]

        def work(connection: Any) -> list[Any]:
            return list(dialect.execute(connection, statement, parameters).fetchall())

        for number, *values in self._session().run(work):
            found[number].append(values)
        return [list(rows_of(self._fields, rows, bytes(len(rows)))) for rows in found]

    def _statement(self, number: int) -> str:
        dialect = self._dialect
        marks = ", ".join(
            [dialect.cast("integer")]
            + [dialect.cast(self._types[name]) for name in self._key_fields]
        )
        places = [f"k{place}" for place in range(len(self._key_fields))]
        on = " AND ".join(
            f"t.{dialect.quote(name)} = q.{place}"
            for name, place in zip(self._key_fields, places, strict=True)
        )
        columns = ", ".join(f"t.{dialect.quote(name)}" for name in self._fields)
        values = ", ".join([f"({marks})"] * number)
        return (
            f"WITH q (n, {', '.join(places)}) AS (VALUES {values}) "  # noqa: S608  (names are quoted)
            f"SELECT q.n, {columns} FROM q JOIN {dialect.table_name(self._table)} t ON {on}"
        )

    def _session(self) -> Session:
        """The session of the calling thread."""
        session = getattr(self._own, "session", None)
        if session is None:
            session = self._own.session = Session(
                self._dialect, _USER, self._options.max_retries, reads=True
            )
            self._sessions.append(session)
        return session

    def _checked(self, dialect: Dialect, connection: Any) -> dict[str, str]:
        found = dialect.columns(connection, self._table)
        missing = [name for name in (*self._fields, *self._key_fields) if name not in found]
        if missing:
            what = f"no columns {missing}; it has {list(found)}" if found else "no such table"
            raise DatabaseRefused(
                f"{_USER}: {dialect.name} at {dialect.options.shown_url()!r}, table {self._table!r}: "
                f"{what}"
            )
        return found
