"""Which dialects there are, and which one an address is of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.postgresql import PostgresDialect
from riverrun.connectors.jdbc.sqlite import SqliteDialect
from riverrun.core.errors import ProgramError

__all__ = ["DIALECTS", "dialect_of"]

DIALECTS: Final[Sequence[type[Dialect]]] = (PostgresDialect, SqliteDialect)


def dialect_of(options: JdbcConnectionOptions, user: str) -> Dialect:
    """The dialect of an address, checked but not connected.

    Args:
        options: where the database is.
        user: who wants to connect, for messages.

    Raises:
        ProgramError: no dialect understands the address, or the driver is one of another.
    """
    if not isinstance(options, JdbcConnectionOptions):
        raise ProgramError(
            f"{user}: got {type(options).__name__} as connection options; expected "
            f"JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(...).build()"
        )
    url = options.url.removeprefix("jdbc:")
    found = next((kind for kind in DIALECTS if url.startswith(f"{kind.scheme}:")), None)
    if found is None:
        understood = ", ".join(f"jdbc:{kind.scheme}:..." for kind in DIALECTS)
        raise ProgramError(
            f"{user}: the address {options.shown_url()!r} is of no database that riverrun knows; "
            f"expected one of {understood}"
        )
    driver = options.driver_name
    if driver is not None and driver not in found.drivers:
        raise ProgramError(
            f"{user}: the driver {driver!r} is not one for {options.shown_url()!r}; expected "
            f"{found.drivers[0]!r}, or leave with_driver_name out"
        )
    dialect = found(options)
    dialect.check(user)
    return dialect
