"""What messages show of addresses, whatever was written into them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.base.shown_address import shown_address
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.postgresql import PostgresDialect
from riverrun.connectors.redis.connection import RedisServer
from riverrun.core.errors import ProgramError

SECRET = "hush"


@given(st.text("/?#:%", max_size=4), st.text("/?#@:%", max_size=4))
def test_no_password_is_shown_whatever_signs_are_in_it(before: str, after: str) -> None:
    assert SECRET not in shown_address(f"redis://me:{before}{SECRET}{after}@example.org:1/0")


@pytest.mark.parametrize(
    "address",
    [
        "jdbc:postgresql://one:5432,two:5433/shop",
        "jdbc:postgresql://[::1]:5432/shop",
        "jdbc:sqlite:/data/shop.db",
        "unix:///run/redis.sock",
        "wss://example.org",
    ],
)
def test_what_holds_no_secret_is_shown(address: str) -> None:
    assert shown_address(f"{address}?password={SECRET}") == address


def test_an_address_that_is_taken_apart_wrongly_is_refused_with_what_to_write() -> None:
    dialect = PostgresDialect(JdbcConnectionOptions(f"jdbc:postgresql://me:{SECRET}/x@db/shop"))
    with pytest.raises(ProgramError, match="as %2F %3F %23 and %40") as refused:
        dialect.check("test")
    assert SECRET not in str(refused.value)
    with pytest.raises(ValueError, match="as %2F %3F %23 and %40") as wrong:
        RedisServer(f"redis://:{SECRET}/x@cache", "test")
    assert SECRET not in str(wrong.value)
