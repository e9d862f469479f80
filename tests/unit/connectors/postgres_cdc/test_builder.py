"""A source of changes as it is described: what does not fit together is refused at once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.source import Boundedness
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.postgres_cdc.source import PostgresCdcSource, PostgresCdcSourceBuilder
from riverrun.core.errors import ProgramError

pytest.importorskip("psycopg")


def described() -> PostgresCdcSourceBuilder:
    builder = PostgresCdcSource.builder().hostname("db").port(5433).database("shop")
    return builder.username("reader").password("hush").table_list("orders").slot_name("orders_cdc")


def test_a_source_has_one_subtask_no_end_and_can_be_sent() -> None:
    source: PostgresCdcSource = pickle.loads(pickle.dumps(described().build()))

    assert source.get_forced_parallelism() == 1
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    assert len(source.create_splits(1)) == 1
    assert source._settings.tables == ("public.orders",)
    assert source._settings.dialect.parameters()["port"] == "5433"
    assert "hush" not in repr(source._settings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.slot_name("Orders"), "slot name is 'Orders'"),
        (lambda b: b.table_list(), "no tables"),
        (lambda b: b.table_list("a", "b"), "told apart"),
        (lambda b: b.chunk_size(0), "chunk size is 0"),
        (lambda b: b.database(""), "no database"),
        (lambda b: b.startup_mode("never"), "startup mode is 'never'"),
        (
            lambda b: b.connection_options(JdbcConnectionOptions("jdbc:sqlite:a.db")),
            "not of PostgreSQL",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(
    change: Callable[[Any], PostgresCdcSourceBuilder], message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        change(described()).build()
