"""A PostgreSQL database with a table, and sources of its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from riverrun.connectors.postgres_cdc.source import PostgresCdcSourceBuilder
from tests.contract.connectors.postgres_cdc.captures import Capture
from tests.servers.postgres import Database, database, postgres

__all__ = ["database", "postgres"]

MakeCapture = Callable[[PostgresCdcSourceBuilder], Capture]


@pytest.fixture
def orders(database: Database) -> Database:
    """A database with the table ``orders``."""
    database.execute("CREATE TABLE orders (id INT PRIMARY KEY, item TEXT, at TIMESTAMPTZ)")
    return database


@pytest.fixture
def capture() -> Iterator[MakeCapture]:
    """``capture(builder)``: the source, being read; closed at the end."""
    made: list[Capture] = []

    def make(builder: PostgresCdcSourceBuilder) -> Capture:
        made.append(Capture(builder.build()))
        return made[-1]

    yield make
    for each in made:
        each.close()
