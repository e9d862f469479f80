"""Every database that there is a dialect of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.sink import Committable
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.sink import JdbcSink
from tests.contract.connectors.jdbc.databases import Attempt, TestDatabase
from tests.servers.postgres import OWNER, PASSWORD, Database, database, postgres

__all__ = ["database", "postgres"]


@pytest.fixture
def postgresql(database: Database) -> TestDatabase:
    options = JdbcConnectionOptions(database.url, None, OWNER, PASSWORD)
    return TestDatabase(options, database.server.kill, database.server.start)


@pytest.fixture
def sqlite(tmp_path: Path) -> TestDatabase:
    return TestDatabase(JdbcConnectionOptions(f"jdbc:sqlite:{tmp_path / 'shop.db'}"))


@pytest.fixture(params=["postgresql", "sqlite"])
def place(request: pytest.FixtureRequest) -> TestDatabase:
    made: TestDatabase = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def orders(place: TestDatabase) -> TestDatabase:
    """A database with the table ``orders``."""
    place.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, price DOUBLE PRECISION)")
    return place


MakeAttempt = Callable[..., Attempt]


@pytest.fixture
def attempt() -> Iterator[MakeAttempt]:
    """``attempt(sink, restored=..., subtask=...)``; closed at the end."""
    made: list[Attempt] = []

    def make(sink: JdbcSink, restored: Sequence[Committable] = (), subtask: int = 0) -> Attempt:
        made.append(Attempt(sink, restored, subtask))
        return made[-1]

    yield make
    for each in made:
        each.close()


def no_sleep(seconds: Any) -> None:
    del seconds
