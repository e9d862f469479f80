"""What must be so before anything is read: the server's settings, privileges, tables, publication and slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.api.bad_records import BadRecords
from riverrun.connectors.jdbc.errors import DatabaseRefused
from riverrun.connectors.jdbc.postgresql import PostgresDialect
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.postgres_cdc.lsn import lsn_of, shown_lsn

__all__ = ["CdcSettings", "Slot", "Table", "checked_slot", "prepared"]

USER = "PostgresCdcSource"


@dataclass(frozen=True)
class CdcSettings:
    """What a source was told; travels to the workers."""

    dialect: PostgresDialect
    tables: tuple[str, ...]
    """With their schemas."""
    slot: str
    publication: str
    snapshot: bool
    """Whether the rows that are there are read before the changes."""
    with_metadata: bool
    skip_truncates: bool
    chunk_size: int
    max_retries: int
    bad_records: BadRecords = BadRecords.FAIL

    def where(self) -> str:
        """Who and where, for messages."""
        return f"{USER}: PostgreSQL at {self.dialect.options.shown_url()!r}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as the publication gives it."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    row_filter: str | None


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot that is there."""

    confirmed: int
    active_pid: int | None


def prepared(settings: CdcSettings, session: Session) -> dict[str, Table]:
    """Check the server and make the publication if it is missing; the tables by their names.

    Raises:
        DatabaseRefused: something must be changed first; says what.
    """

    def work(connection: Any) -> dict[str, Table]:
        _check_server(settings, connection)
        columns = {name: _checked_table(settings, connection, name) for name in settings.tables}
        _ensure_publication(settings, connection)
        return {name: _published(settings, connection, name, columns[name]) for name in columns}

    return session.run(work)


def _check_server(settings: CdcSettings, connection: Any) -> None:
    (level,) = connection.execute("SHOW wal_level").fetchone()
    if level != "logical":
        raise DatabaseRefused(
            f"{settings.where()} has wal_level = {level!r}, and changes are in its log only with "
            f"'logical'; set wal_level = logical in postgresql.conf and restart the server"
        )
    (user, may) = connection.execute(
        "SELECT current_user, bool_or(rolreplication OR rolsuper OR rolname = 'rds_replication') "
        "FROM pg_roles WHERE rolname = current_user OR (rolname = 'rds_replication' "
        "AND pg_has_role(current_user, oid, 'member'))"
    ).fetchone()
    if not may:
        raise DatabaseRefused(
            f"{settings.where()}: the role {user!r} may not replicate; let an administrator run: "
            f'ALTER ROLE "{user}" REPLICATION'
        )


def _checked_table(settings: CdcSettings, connection: Any, table: str) -> tuple[str, ...]:
    columns = tuple(settings.dialect.columns(connection, table))
    if not columns:
        raise DatabaseRefused(
            f"{settings.where()} has no table {table!r}; create it, or correct the name (names are "
            f"exact, capitals too)"
        )
    may = connection.execute(
        "SELECT has_table_privilege(%s, 'SELECT')", (settings.dialect.table_name(table),)
    ).fetchone()[0]
    if settings.snapshot and not may:
        raise DatabaseRefused(
            f"{settings.where()}: the table {table!r} may not be read; grant SELECT on it, or read "
            f"changes only with startup_mode('latest')"
        )
    return columns


def _ensure_publication(settings: CdcSettings, connection: Any) -> None:
    dialect, name = settings.dialect, settings.publication
    found = connection.execute(
        "SELECT 1 FROM pg_publication WHERE pubname = %s", (name,)
    ).fetchone()
    if found is None:
        for table in settings.tables:
            _refuse_without_identity(settings, connection, table)
        tables = ", ".join(dialect.table_name(table) for table in settings.tables)
        connection.execute(
            f"CREATE PUBLICATION {dialect.quote(name)} FOR TABLE {tables} "
            f"WITH (publish_via_partition_root = true)"
        )
        return
    published = connection.execute(
        "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = %s",
        (name,),
    ).fetchall()
    missing = [table for table in settings.tables if (table,) not in published]
    if missing:
        raise DatabaseRefused(
            f"{settings.where()}: the publication {name!r} has not the tables {missing}; run: ALTER "
            f"PUBLICATION {dialect.quote(name)} ADD TABLE {', '.join(missing)}"
        )


def _refuse_without_identity(settings: CdcSettings, connection: Any, table: str) -> None:
    """A publication must not break the programs that write to its tables."""
    found = connection.execute(
        "SELECT relreplident = 'n' OR (relreplident = 'd' AND NOT EXISTS (SELECT 1 FROM pg_index i "
        "WHERE i.indrelid = c.oid AND i.indisprimary)) FROM pg_class c "
        "WHERE oid = to_regclass(%s) AND relkind = 'r'",
        (settings.dialect.table_name(table),),
    ).fetchone()
    if found is not None and found[0]:
        raise DatabaseRefused(
            f"{settings.where()}: rows of the table {table!r} have no identity (a primary key), and "
            f"once it is published PostgreSQL refuses every UPDATE and DELETE of it; run: ALTER TABLE "
            f"{settings.dialect.table_name(table)} REPLICA IDENTITY FULL, or make a publication of "
            f"insertions yourself and name it with publication_name(...)"
        )


def _published(settings: CdcSettings, connection: Any, table: str, columns: Sequence[str]) -> Table:
    """Which columns and rows of the table the publication gives; all before PostgreSQL 15."""
    key = settings.dialect.primary_key(connection, table)
    row_filter = None
    if connection.info.server_version >= 150000:  # noqa: PLR2004  (PostgreSQL's own number)
        schema, _, name = table.partition(".")
        columns, row_filter = connection.execute(
            "SELECT attnames::text[], rowfilter FROM pg_publication_tables WHERE pubname = %s "
            "AND schemaname = %s AND tablename = %s",
            (settings.publication, schema, name),
        ).fetchone()
    if connection.info.server_version < 180000:  # noqa: PLR2004
        # Changes do not have them, whatever the catalogue says.
        generated = connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attgenerated <> ''",
            (settings.dialect.table_name(table),),
        ).fetchall()
        columns = [each for each in columns if (each,) not in generated]
    return Table(table, key, tuple(columns), row_filter)


def checked_slot(settings: CdcSettings, session: Session, lsn: int | None) -> Slot | None:
    """The slot, if it is there.

    Args:
        settings: whose slot.
        session: to the database.
        lsn: from where changes are needed; ``None``: from wherever the slot is.

    Raises:
        DatabaseRefused: it does not have these changes, or is of another kind.
    """
    found = session.run(
        lambda connection: connection.execute(
            "SELECT plugin, database = current_database(), active_pid, "
            "confirmed_flush_lsn::text, coalesce(wal_status, '') "
            "FROM pg_replication_slots WHERE slot_name = %s",
            (settings.slot,),
        ).fetchone()
    )
    where = f"{settings.where()}: the replication slot {settings.slot!r}"
    again = "changes are lost; start the job without its state, to read the tables anew"
    if found is None:
        if lsn is not None:
            raise DatabaseRefused(
                f"{where} is gone, and the job goes on from {shown_lsn(lsn)}: {again}"
            )
        return None
    plugin, same_database, active_pid, confirmed, status = found
    if plugin != "pgoutput" or not same_database:
        raise DatabaseRefused(
            f"{where} is of the plugin {plugin!r} or of another database; expected 'pgoutput' and this "
            f"one; choose another name with slot_name(...)"
        )
    if status == "lost":
        raise DatabaseRefused(
            f"{where} has lost its log (see max_slot_wal_keep_size): drop it; {again}"
        )
    if lsn is not None and lsn_of(confirmed) > lsn:
        raise DatabaseRefused(
            f"{where} stands at {confirmed} already, behind {shown_lsn(lsn)} where the job goes on, as "
            f"after another job used it or an old savepoint is restored: {again}"
        )
    return Slot(lsn_of(confirmed), active_pid)
