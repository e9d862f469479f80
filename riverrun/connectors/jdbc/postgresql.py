"""PostgreSQL, through psycopg 3 (``pip install 'riverrun[postgresql]'``)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from riverrun.connectors.base.extras import require
from riverrun.connectors.jdbc.dialect import Addresses, Dialect, Target
from riverrun.connectors.jdbc.errors import Trouble
from riverrun.connectors.jdbc.placeholders import count
from riverrun.connectors.jdbc.postgresql_types import type_of
from riverrun.core.errors import ProgramError
from riverrun.serde.type_info import TypeInformation

__all__ = ["PostgresDialect"]

_IDLE_IN_TRANSACTION: Final = "60s"
"""When the server ends a transaction whose owner says nothing: it may hold a lock that others wait for."""

_LOCK_WAIT: Final = "60s"
"""How long to wait for a lock of others, unless the address says; who is frozen may hold one for ever."""
_INTERRUPT_S: Final = 5.0

_FROM_JDBC: Final = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "sslrootcert": "sslrootcert",
    "sslkey": "sslkey",
    "sslcert": "sslcert",
}
"""What JDBC's driver calls what libpq calls otherwise; the rest has the same names or does not exist."""

_REFUSED_TEXTS: Final = (
    "password authentication failed",
    "no password supplied",
    "does not exist",
    "no pg_hba.conf entry",
    "is not permitted to log in",
    "permission denied",
)
"""How a server that refuses a connection says that it always will; there is no code for it then."""

_PASSING_CLASSES: Final = ("08", "40", "53", "55", "57")
_REFUSED_CLASSES: Final = ("0A", "21", "22", "23", "26", "28", "34", "3D", "3F", "42", "44")

_PREPARED: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "SELECT", "WITH", "VALUES"})
"""Statements that PostgreSQL can read ahead."""

_BULK: Final = 64
"""From how many rows on COPY is faster than statements."""


class PostgresDialect(Dialect):
    """``jdbc:postgresql://host:port/database?parameters``."""

    name: ClassVar[str] = "PostgreSQL"
    scheme: ClassVar[str] = "postgresql"
    drivers: ClassVar[tuple[str, ...]] = ("org.postgresql.Driver", "psycopg")
    placeholder: ClassVar[str] = "%s"
    begin: ClassVar[str] = "BEGIN ISOLATION LEVEL READ COMMITTED"
    lock_row: ClassVar[str] = " FOR UPDATE"
    time_type: ClassVar[str] = "TIMESTAMPTZ"

    def check(self, user: str) -> None:
        psycopg = require("psycopg", extra="postgresql", user=user)
        if self.options.shown_url().endswith("://..."):
            raise ProgramError(
                f"{user}: the address {self.options.shown_url()!r} has signs in its user or password that "
                f"mean something else there; write / ? # and @ as %2F %3F %23 and %40, or give them with "
                f"with_user_name and with_password"
            )
        try:
            psycopg.conninfo.make_conninfo(**self.parameters())
        except psycopg.ProgrammingError as e:
            raise ProgramError(
                f"{user}: the address {self.options.shown_url()!r} has a parameter that PostgreSQL's "
                f"client does not know: {e}; see libpq's parameter key words"
            ) from None

    def parameters(self) -> dict[str, Any]:
        """The connection's parameters, as libpq names them."""
        parts = urlsplit(self.options.url.removeprefix("jdbc:"))
        # JDBC also has jdbc:postgresql:database, for the server of this machine.
        found: dict[str, Any] = {"dbname": unquote(parts.path.lstrip("/"))}
        credentials, _, hosts = parts.netloc.rpartition("@")
        if hosts:
            pairs = [_host_and_port(each) for each in hosts.split(",")]
            found["host"] = ",".join(host for host, _ in pairs)
            found["port"] = ",".join(port for _, port in pairs)
        elif not parts.netloc:
            found["host"] = "localhost"
        if credentials:
            user, _, password = credentials.partition(":")
            found |= {"user": unquote(user), "password": unquote(password)}
        found |= _query_parameters(parts.query)
        if self.options.user_name is not None:
            found["user"] = self.options.user_name
        if self.options.password is not None:
            found["password"] = self.options.password
        found.setdefault("application_name", "riverrun")
        found.setdefault("connect_timeout", "10")
        return {name: value for name, value in found.items() if value != ""}

    def connect(self, *, reads: bool = False) -> Any:
        psycopg = require("psycopg", extra="postgresql", user=self.name)
        connection = psycopg.connect(**self.parameters(), autocommit=True)
        connection.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, false), "
            "set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), %s), false)",
            ("0" if reads else _IDLE_IN_TRANSACTION, "0" if reads else _LOCK_WAIT),
        )
        return connection

    def interrupt(self, connection: Any) -> None:
        connection.cancel_safe(timeout=_INTERRUPT_S)

    def trouble(self, error: Exception) -> Trouble:
        psycopg = require("psycopg", extra="postgresql", user=self.name)
        if not isinstance(error, psycopg.Error):
            return Trouble.FOREIGN
        code: str | None = error.sqlstate
        if code is None:
            if isinstance(error, psycopg.OperationalError):
                refused = any(text in str(error) for text in _REFUSED_TEXTS)
                return Trouble.REFUSED if refused else Trouble.PASSING
            mistaken = isinstance(error, psycopg.ProgrammingError | psycopg.DataError)
            return Trouble.REFUSED if mistaken else Trouble.UNCLEAR
        if code.startswith(_PASSING_CLASSES) or code == "25P03":
            return Trouble.PASSING
        return Trouble.REFUSED if code.startswith(_REFUSED_CLASSES) else Trouble.UNCLEAR

    def columns(self, connection: Any, table: str) -> dict[str, str]:
        rows = connection.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (self.table_name(table),),
        )
        return dict(rows.fetchall())

    def primary_key(self, connection: Any, table: str) -> tuple[str, ...]:
        rows = connection.execute(
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
            "AND a.attnum = ANY(i.indkey) WHERE i.indrelid = to_regclass(%s) AND i.indisprimary "
            "ORDER BY array_position(i.indkey::int2[], a.attnum)",
            (self.table_name(table),),
        )
        return tuple(name for (name,) in rows)

    def dry_run(self, connection: Any, text: str) -> None:
        psycopg = require("psycopg", extra="postgresql", user=self.name)
        if text.split(maxsplit=1)[0].upper() not in _PREPARED:
            return
        numbers = itertools.count(1)
        statement = re.sub("%s|%%", lambda found: _numbered(found[0], numbers), self.sql(text))
        nulls = ", ".join("NULL" for _ in range(count(text)))
        values = f"({nulls})" if nulls else ""
        try:
            connection.execute(f"PREPARE riverrun_check AS {statement}".encode())
        except psycopg.errors.IndeterminateDatatype:
            return  # the values themselves will say of which type they are
        connection.execute(f"EXPLAIN EXECUTE riverrun_check{values}")
        connection.execute("DEALLOCATE riverrun_check")

    def now_minus_days(self, days: int) -> str:
        return f"now() - interval '{days} days'"

    def lock_creation(self, connection: Any, table: str) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (table,))

    def type_of_column(self, declared: str) -> TypeInformation:
        return type_of(declared)

    def addresses(self, connection: Any, table: str, parts: int) -> Addresses | None:
        blocks = connection.execute(
            "SELECT pg_relation_size(oid) / current_setting('block_size')::bigint FROM pg_class "
            "WHERE oid = to_regclass(%s) AND relkind IN ('r', 'm')",
            (self.table_name(table),),
        ).fetchone()
        if blocks is None:
            return None
        borders = sorted({blocks[0] * part // parts for part in range(1, parts)} - {0})
        return Addresses("ctid", "tid", tuple(f"({block},0)" for block in borders))

    def described(self, connection: Any, sql: str, parameters: Sequence[Any]) -> dict[str, str]:
        query = f"SELECT * FROM ({sql}) described LIMIT 0"  # noqa: S608  (the program's own query)
        described = self.execute(connection, query, parameters).description
        names = connection.execute(
            "SELECT format_type(oid, -1) FROM unnest(%s::oid[]) WITH ORDINALITY o (oid, place) "
            "ORDER BY place",
            ([column.type_code for column in described],),
        )
        return {column.name: name for column, (name,) in zip(described, names, strict=True)}

    def stream(self, connection: Any, sql: str, parameters: Sequence[Any]) -> Any:
        cursor = connection.cursor(name="riverrun")
        try:
            cursor.execute(self.sql(sql), parameters)
        except BaseException:
            connection.close()  # so that closing the cursor asks nothing of the server
            cursor.close()
            raise
        return cursor

    def cast(self, declared: str) -> str:
        return f"?::{declared}"

    def write(
        self, connection: Any, target: Target, rows: Sequence[Sequence[Any]], *, bulk: bool
    ) -> None:
        if not bulk or len(rows) < _BULK:
            self.execute_many(connection, self.upsert_sql(target), _adapted(rows))
            return
        names, table = self.names(target.fields), self.table_name(target.table)
        if target.key_fields and not _may_create_temporary(connection):
            self.execute_many(connection, self.upsert_sql(target), _adapted(rows))
            return
        if not target.key_fields:
            self._copy(connection, f"{table} ({names})", rows)
            return
        # Rows go to a table of this session first: COPY itself cannot replace rows.
        connection.execute(
            f"CREATE TEMP TABLE riverrun_rows ON COMMIT DROP AS "  # noqa: S608  (names are quoted)
            f"SELECT {names} FROM {table} WITH NO DATA"
        )
        self._copy(connection, "riverrun_rows", rows)
        connection.execute(
            f"INSERT INTO {table} ({names}) SELECT {names} FROM riverrun_rows"  # noqa: S608
            f"{self.on_conflict(target)}"
        )
        connection.execute("DROP TABLE riverrun_rows")

    def _copy(self, connection: Any, into: str, rows: Sequence[Sequence[Any]]) -> None:
        with connection.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN") as copy:
            write_row = copy.write_row
            for row in _adapted(rows):
                write_row(row)


def _adapted(rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """Rows that psycopg understands: a dict is JSON."""
    if not any(isinstance(value, dict) for row in rows[:1] for value in row):
        plain = not any(dict in map(type, row) for row in rows)
        if plain:
            return rows
    return [[json.dumps(item) if isinstance(item, dict) else item for item in row] for row in rows]


def _may_create_temporary(connection: Any) -> bool:
    question = "SELECT has_database_privilege(current_database(), 'TEMP')"
    return bool(connection.execute(question).fetchone()[0])


def _numbered(found: str, numbers: Iterator[int]) -> str:
    return "%" if found == "%%" else f"${next(numbers)}"


def _host_and_port(address: str) -> tuple[str, str]:
    """Host and port of one of the servers.

    >>> _host_and_port("db:5433"), _host_and_port("[::1]"), _host_and_port("db")
    (('db', '5433'), ('::1', '5432'), ('db', '5432'))
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        host, port = address, "5432"
    return unquote(host).strip("[]"), port


def _query_parameters(query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in parse_qsl(query):
        if name == "currentSchema":
            found["options"] = f"-c search_path={value}"
        elif name == "ssl":
            if value.lower() != "false":
                found.setdefault("sslmode", "verify-full")
        else:
            found[_FROM_JDBC.get(name, name)] = value
    return found
