"""Addresses and options, read without connecting: PyFlink's builders, and what is refused at once."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.dialects import dialect_of
from riverrun.connectors.jdbc.execution import JdbcExecutionOptions
from riverrun.connectors.jdbc.lookup import JdbcLookupFunction
from riverrun.connectors.jdbc.postgresql import PostgresDialect
from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.connectors.jdbc.source import JdbcSource
from riverrun.connectors.jdbc.sqlite import SqliteDialect
from riverrun.core.errors import ProgramError
from riverrun.serde.types import Types

pytest.importorskip("psycopg")


def at(url: str, driver: str | None = None) -> JdbcConnectionOptions:
    return JdbcConnectionOptions(url, driver, "me", "hush")


FILE = at("jdbc:sqlite:/data/shop.db")


def test_options_are_built_with_pyflinks_names() -> None:
    connection = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url("jdbc:postgresql://db/shop")
        .with_driver_name("org.postgresql.Driver")
        .with_user_name("me")
        .with_password("hush")
        .build()
    )
    execution = (
        JdbcExecutionOptions.builder()
        .with_batch_interval_ms(200)
        .with_batch_size(10)
        .with_max_retries(5)
        .build()
    )

    assert connection.get_db_url() == "jdbc:postgresql://db/shop"
    assert connection.get_driver_name() == "org.postgresql.Driver"
    assert (connection.get_user_name(), connection.get_password()) == ("me", "hush")
    assert (execution.get_batch_size(), execution.get_batch_interval_ms()) == (10, 200)
    assert execution.get_max_retries() == 5
    assert JdbcExecutionOptions.defaults() == JdbcExecutionOptions(5000, 0, 3)


@pytest.mark.parametrize(
    ("url", "parameters"),
    [
        ("jdbc:postgresql://db/shop", {"host": "db", "port": "5432", "dbname": "shop"}),
        ("jdbc:postgresql://a:1,b:2/shop", {"host": "a,b", "port": "1,2", "dbname": "shop"}),
        ("postgresql://[::1]:7/a%20b", {"host": "::1", "port": "7", "dbname": "a b"}),
        ("jdbc:postgresql:shop", {"host": "localhost", "dbname": "shop"}),
        (
            "jdbc:postgresql://db/shop?ssl=true&currentSchema=x&ApplicationName=job&connectTimeout=3",
            {
                "host": "db",
                "port": "5432",
                "dbname": "shop",
                "sslmode": "verify-full",
                "options": "-c search_path=x",
                "application_name": "job",
                "connect_timeout": "3",
            },
        ),
    ],
)
def test_addresses_of_postgresql_are_understood(url: str, parameters: dict[str, str]) -> None:
    dialect = dialect_of(at(url), "test")

    assert isinstance(dialect, PostgresDialect)
    defaults = {"application_name": "riverrun", "connect_timeout": "10"}
    wanted = {**defaults, "user": "me", "password": "hush", **parameters}
    assert dialect.parameters() == wanted


def test_addresses_of_sqlite_are_understood() -> None:
    dialect = dialect_of(at("jdbc:sqlite:folder/a b.db", "org.sqlite.JDBC"), "test")

    assert isinstance(dialect, SqliteDialect)
    assert str(dialect.path) == "folder/a b.db"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            at("jdbc:mysql://db/shop"),
            r"no database that riverrun knows; expected one of jdbc:postg",
        ),
        (at("jdbc:sqlite::memory:"), "names no file"),
        (at("jdbc:sqlite:"), "names no file"),
        (at("jdbc:sqlite:a.db", "com.mysql.Driver"), "'com.mysql.Driver' is not one for"),
        (at("jdbc:postgresql://db/shop?nope=1"), "parameter .* does not know.*nope"),
        ("jdbc:sqlite:a.db", "got str as connection options"),
    ],
)
def test_what_cannot_be_connected_to_is_refused_at_once(options: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        JdbcSink.insert("orders", ["id"], options)


@pytest.mark.parametrize(
    "url", ["jdbc:postgresql://me:hush@db/shop", "jdbc:sqlite:x?password=hush"]
)
def test_secrets_are_not_shown(url: str) -> None:
    options = at(url)

    assert "hush" not in repr(options) + str(options) + options.shown_url()
    assert "hush" not in repr(dialect_of(options, "test"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build(), "no address"),
        (lambda: JdbcExecutionOptions(batch_size=0), "batch size is 0"),
        (lambda: JdbcExecutionOptions(max_retries=-1), "negative"),
        (
            lambda: JdbcSink.sink(
                "INSERT INTO t VALUES (?, '?')", Types.ROW([Types.INT()] * 2), FILE
            ),
            "has 1 question marks and the type .* has 2 fields",
        ),
        (lambda: JdbcSink.insert("t", "abc", FILE), "expected lists of names"),
        (lambda: JdbcSink.upsert("t", ["a"], [], FILE), "no key fields"),
        (lambda: JdbcSink.upsert("t", ["a"], ["b"], FILE), r"\['b'\] must be among"),
        (lambda: JdbcSource.builder().set_connection_options(FILE).build(), "either set_table"),
        (
            lambda: JdbcSource.builder().set_connection_options(FILE).set_sql("SELECT ?").build(),
            "1 question marks",
        ),
        (
            lambda: (
                JdbcSource.builder()
                .set_connection_options(FILE)
                .set_sql("SELECT 1")
                .set_continuous(10)
                .build()
            ),
            "set_key",
        ),
        (
            lambda: (
                JdbcSource.builder()
                .set_connection_options(FILE)
                .set_table("t")
                .set_partition_column("a", 5, 1)
                .build()
            ),
            "bounds",
        ),
        (lambda: JdbcLookupFunction(FILE, "t", [], ["a"], str), "expected lists of names"),
    ],
)
def test_what_does_not_fit_together_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        make()


def test_a_sink_can_be_sent() -> None:
    sink = JdbcSink.upsert("t", ["a", "b"], ["a"], FILE).exactly_once(marker_table="marks")

    copy: JdbcSink = pickle.loads(pickle.dumps(sink))

    assert copy._exactly == sink._exactly
    assert copy._dialect == sink._dialect


def test_a_folder_that_is_missing_is_named() -> None:
    with pytest.raises(ProgramError, match="no folder '/nowhere/at/all'"):
        dialect_of(at("jdbc:sqlite:/nowhere/at/all/a.db"), "test").connect()
