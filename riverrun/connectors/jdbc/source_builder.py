"""Describing a JdbcSource, with Flink's names where Flink has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from riverrun.connectors.jdbc import placeholders
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.dialects import dialect_of
from riverrun.connectors.jdbc.plans import Plan, QueryPlan, TablePlan
from riverrun.core.errors import ProgramError
from riverrun.serde.type_info import TypeInformation

__all__ = ["JdbcParameterValuesProvider", "JdbcSourceBuilder", "SourceSettings"]

_USER = "JdbcSource"
S = TypeVar("S")


class JdbcParameterValuesProvider(Protocol):
    """Gives the parameters of a query, one tuple for each time that it runs."""

    def get_parameter_values(self) -> Iterable[Sequence[Any]]:
        """The tuples."""


@dataclass(frozen=True)
class SourceSettings:
    """What a source was told; travels to the workers."""

    plan: Plan
    dialect: Dialect
    fetch_size: int
    extract: Callable[[tuple[Any, ...]], Any] | None
    poll_ms: int | None
    max_retries: int
    type_information: TypeInformation | None
    infer_type: bool


class JdbcSourceBuilder(Generic[S]):
    """Say where the database is, and either ``set_table`` or ``set_sql``."""

    def __init__(self, make: Callable[[SourceSettings], S]) -> None:
        self._make = make
        self._options: JdbcConnectionOptions | None = None
        self._url: str | None = None
        self._user_name: str | None = None
        self._password: str | None = None
        self._driver_name: str | None = None
        self._sql: str | None = None
        self._parameters: tuple[tuple[Any, ...], ...] = ((),)
        self._table: str | None = None
        self._columns: tuple[str, ...] = ()
        self._partition: tuple[str | None, tuple[Any, Any] | None, int | None] = (None, None, None)
        self._key: tuple[str, ...] = ()
        self._fetch_size = 1000
        self._extract: Callable[[tuple[Any, ...]], Any] | None = None
        self._poll_ms: int | None = None
        self._max_retries = 3
        self._type: TypeInformation | None = None
        self._infer_type = False

    def set_connection_options(self, options: JdbcConnectionOptions) -> Self:
        """Say where the database is and who asks, in one."""
        self._options = options
        return self

    def set_db_url(self, db_url: str) -> Self:
        """Set the address."""
        self._url = db_url
        return self

    def set_username(self, username: str) -> Self:
        """Set who connects."""
        self._user_name = username
        return self

    def set_password(self, password: str) -> Self:
        """Set the password."""
        self._password = password
        return self

    def set_driver_name(self, driver_name: str) -> Self:
        """Name the driver; it is checked against the address only."""
        self._driver_name = driver_name
        return self

    def set_sql(self, sql: str) -> Self:
        """Read what this query gives."""
        self._sql = sql
        return self

    def set_jdbc_parameter_values_provider(
        self, provider: JdbcParameterValuesProvider | Iterable[Sequence[Any]]
    ) -> Self:
        """Run the query once for each of these tuples: each is a part that a reader takes."""
        values = provider if isinstance(provider, Iterable) else provider.get_parameter_values()
        self._parameters = tuple(tuple(each) for each in values)
        return self

    def set_table(self, table: str, columns: Sequence[str] = ()) -> Self:
        """Read this table or view: these columns of it, or all."""
        self._table = table
        self._columns = tuple(columns)
        return self

    def set_partition_column(
        self,
        column: str | None = None,
        lower_bound: Any = None,
        upper_bound: Any = None,
        partitions: int | None = None,
    ) -> Self:
        """Read the table in so many ranges of a column.

        The bounds say how the ranges are laid only: rows outside of them are read with the first and the
        last range. Without bounds the database is asked for them.
        """
        bounds = None if lower_bound is None else (lower_bound, upper_bound)
        self._partition = (column, bounds, partitions)
        return self

    def set_key(self, *columns: str) -> Self:
        """Name columns that tell any two rows apart and are never NULL.

        Rows come in their order within a part, and a part is resumed behind the last one. A table's
        primary key needs no naming.
        """
        self._key = columns
        return self

    def set_continuous(self, interval_ms: int) -> Self:
        """Go on for ever: look for rows with a greater key after each interval."""
        self._poll_ms = interval_ms
        return self

    def set_result_set_fetch_size(self, fetch_size: int) -> Self:
        """Ask for so many rows at once."""
        self._fetch_size = fetch_size
        return self

    def set_result_extractor(self, extractor: Callable[[tuple[Any, ...]], Any]) -> Self:
        """Make records from the tuples of values; without it they are Rows with the columns' names."""
        self._extract = extractor
        return self

    def set_max_retries(self, max_retries: int) -> Self:
        """Connect so often again, without getting a row in between, before the job fails."""
        self._max_retries = max_retries
        return self

    def set_type_information(self, type_information: TypeInformation) -> Self:
        """Declare the type of the records."""
        self._type = type_information
        return self

    def infer_type_information(self) -> Self:
        """Ask the database for the type of the records, in ``build``: it connects from here."""
        self._infer_type = True
        return self

    def build(self) -> S:
        """The source.

        Raises:
            ProgramError: something is missing or does not fit together.
        """
        options = self._options
        if options is None:
            builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
            builder.with_url(self._url or "")
            made = builder.build()
            options = JdbcConnectionOptions(
                made.url, self._driver_name, self._user_name, self._password
            )
        return self._make(
            SourceSettings(
                self._plan(),
                dialect_of(options, _USER),
                self._fetch_size,
                self._extract,
                self._poll_ms,
                self._max_retries,
                self._type,
                self._infer_type and self._extract is None,
            )
        )

    def _plan(self) -> Plan:
        continuous = self._poll_ms is not None
        if (self._table is None) == (self._sql is None):
            raise ProgramError(
                f"{_USER}: expected either set_table(...) or set_sql(...), one of them"
            )
        if self._table is not None:
            column, bounds, partitions = self._partition
            if bounds is not None and (bounds[1] is None or bounds[0] > bounds[1]):
                raise ProgramError(
                    f"{_USER}: the partition column {column!r} has the bounds {bounds}; expected a lower "
                    f"one and an upper one not below it"
                )
            return TablePlan(
                user=_USER,
                key=self._key,
                continuous=continuous,
                table=self._table,
                columns=self._columns,
                partition_column=column,
                bounds=bounds,
                partitions=partitions,
            )
        assert self._sql is not None  # noqa: S101  (asked above)
        marks = placeholders.count(self._sql)
        unfit = [each for each in self._parameters if len(each) != marks]
        if unfit or not self._parameters:
            raise ProgramError(
                f"{_USER}: the query has {marks} question marks and one of its parameter tuples is "
                f"{unfit[0] if unfit else None!r}; expected {marks} values for each run of {self._sql!r}"
            )
        if continuous and (not self._key or len(self._parameters) > 1):
            raise ProgramError(
                f"{_USER}: a query is read for ever by the key of its rows, in one part; name the key "
                f"with set_key(...) and give one tuple of parameters at most"
            )
        return QueryPlan(_USER, self._key, continuous, self._sql, self._parameters)
