"""PostgresCdcSource: the rows of tables and every change to them."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from riverrun.api.bad_records import BadRecords
from riverrun.api.source import Boundedness, Source, SourceReader, SourceReaderContext
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.dialects import dialect_of
from riverrun.connectors.jdbc.postgresql import PostgresDialect
from riverrun.connectors.postgres_cdc.position import CdcSplit
from riverrun.connectors.postgres_cdc.preparation import USER, CdcSettings
from riverrun.connectors.postgres_cdc.reader import CdcReader
from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row

__all__ = ["PostgresCdcSource", "PostgresCdcSourceBuilder"]

_SLOT_NAME: Final = re.compile(r"[a-z0-9_]{1,63}")


class PostgresCdcSource(Source[Row]):
    """Rows of the kind INSERT for what the tables hold, then each change as it is committed.

    Made by ``builder()``; runs in one subtask, as the order of transactions is one.
    """

    def __init__(self, settings: CdcSettings) -> None:
        self._settings = settings

    @staticmethod
    def builder() -> PostgresCdcSourceBuilder:
        """Begin to describe a source."""
        return PostgresCdcSourceBuilder()

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [CdcSplit()]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Row]:
        return CdcReader(splits[0] if splits else None, context, self._settings)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def get_forced_parallelism(self) -> int | None:
        return 1


class PostgresCdcSourceBuilder:
    """Say where the database is, which tables, and the name of a slot of this job's own."""

    def __init__(self) -> None:
        self._options: JdbcConnectionOptions | None = None
        self._host = "localhost"
        self._port = 5432
        self._database: str | None = None
        self._user_name: str | None = None
        self._password: str | None = None
        self._tables: tuple[str, ...] = ()
        self._slot: str | None = None
        self._publication: str | None = None
        self._startup_mode = "initial"
        self._with_metadata = False
        self._skip_truncates = False
        self._chunk_size = 8192
        self._max_retries = 5
        self._bad_records = BadRecords.FAIL

    def connection_options(self, options: JdbcConnectionOptions) -> PostgresCdcSourceBuilder:
        """Say where the database is and who asks, in one."""
        self._options = options
        return self

    def hostname(self, hostname: str) -> PostgresCdcSourceBuilder:
        """Set the server."""
        self._host = hostname
        return self

    def port(self, port: int) -> PostgresCdcSourceBuilder:
        """Set the server's port."""
        self._port = port
        return self

    def database(self, database: str) -> PostgresCdcSourceBuilder:
        """Set the database."""
        self._database = database
        return self

    def username(self, username: str) -> PostgresCdcSourceBuilder:
        """Set who connects: a role with REPLICATION that may read the tables."""
        self._user_name = username
        return self

    def password(self, password: str) -> PostgresCdcSourceBuilder:
        """Set the password."""
        self._password = password
        return self

    def table_list(self, *tables: str) -> PostgresCdcSourceBuilder:
        """Name the tables; one without a schema is in ``public``."""
        self._tables = tuple(each if "." in each else f"public.{each}" for each in tables)
        return self

    def slot_name(self, slot_name: str) -> PostgresCdcSourceBuilder:
        """Name the replication slot, of this job alone; it is made at the first start.

        The server keeps its log for the slot until it is dropped: ``SELECT
        pg_drop_replication_slot('name')`` when the job is not needed any more.
        """
        self._slot = slot_name
        return self

    def publication_name(self, publication_name: str) -> PostgresCdcSourceBuilder:
        """Name the publication; made with these tables if it is missing. As the slot by default."""
        self._publication = publication_name
        return self

    def startup_mode(self, mode: Literal["initial", "latest"]) -> PostgresCdcSourceBuilder:
        """Read the rows that are there first (``initial``), or changes from now on only (``latest``)."""
        if mode not in {"initial", "latest"}:
            raise ProgramError(
                f"{USER}: the startup mode is {mode!r}; expected 'initial' or 'latest'"
            )
        self._startup_mode = mode
        return self

    def include_metadata(self) -> PostgresCdcSourceBuilder:
        """Put the fields ``_table``, ``_lsn`` and ``_time_ms`` in front of those of each row."""
        self._with_metadata = True
        return self

    def skip_truncates(self) -> PostgresCdcSourceBuilder:
        """Go on after a TRUNCATE, as if the rows were still there; without this the job fails."""
        self._skip_truncates = True
        return self

    def chunk_size(self, rows: int) -> PostgresCdcSourceBuilder:
        """Read so many rows of a table at once."""
        self._chunk_size = rows
        return self

    def max_retries(self, max_retries: int) -> PostgresCdcSourceBuilder:
        """Connect so often again, without getting further, before the job fails."""
        self._max_retries = max_retries
        return self

    def bad_records(self, policy: BadRecords) -> PostgresCdcSourceBuilder:
        """Say what becomes of rows with values that Python does not have, such as the date infinity."""
        if not isinstance(policy, BadRecords):
            raise ProgramError(
                f"{USER}: the policy for bad records is {policy!r}; expected a BadRecords"
            )
        self._bad_records = policy
        return self

    def build(self) -> PostgresCdcSource:
        """The source.

        Raises:
            ProgramError: something is missing or does not fit together.
        """
        if self._slot is None or _SLOT_NAME.fullmatch(self._slot) is None:
            raise ProgramError(
                f"{USER}: the slot name is {self._slot!r}; expected slot_name(...) with lower-case "
                f"letters, digits and underscores, 63 at most"
            )
        if not self._tables:
            raise ProgramError(
                f"{USER}: there are no tables; expected table_list('public.orders', ...)"
            )
        if len(self._tables) > 1 and not self._with_metadata:
            raise ProgramError(
                f"{USER}: rows of the tables {list(self._tables)} could not be told apart; add "
                f"include_metadata(), or use a source for each table"
            )
        if self._chunk_size < 1:
            raise ProgramError(f"{USER}: the chunk size is {self._chunk_size}; expected 1 or more")
        return PostgresCdcSource(
            CdcSettings(
                dialect=self._dialect(),
                tables=self._tables,
                slot=self._slot,
                publication=self._publication or self._slot,
                snapshot=self._startup_mode == "initial",
                with_metadata=self._with_metadata,
                skip_truncates=self._skip_truncates,
                chunk_size=self._chunk_size,
                max_retries=self._max_retries,
                bad_records=self._bad_records,
            )
        )

    def _dialect(self) -> PostgresDialect:
        options = self._options
        if options is None:
            if not self._database:
                raise ProgramError(f"{USER}: there is no database; expected database('shop')")
            url = f"jdbc:postgresql://{self._host}:{self._port}/{self._database}"
            options = JdbcConnectionOptions(url, None, self._user_name, self._password)
        dialect = dialect_of(options, USER)
        if not isinstance(dialect, PostgresDialect):
            raise ProgramError(
                f"{USER}: the address {options.shown_url()!r} is not of PostgreSQL; expected "
                f"'jdbc:postgresql://host:port/database'"
            )
        return dialect
