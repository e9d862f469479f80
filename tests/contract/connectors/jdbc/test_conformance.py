"""The conformance kit against both databases: crashes at every step, zombies, rescales, replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.connectors.jdbc.source import JdbcSource
from riverrun.serde.row import Row
from riverrun.testing.conformance.sinks import SinkTarget, check_sink
from riverrun.testing.conformance.sources import check_source
from tests.contract.connectors.jdbc.databases import TestDatabase

FIELDS = ["id", "item", "price"]
RECORDS = [(number, f"item {number}", number / 4) for number in range(40)]

SINKS: dict[str, Callable[[TestDatabase], JdbcSink]] = {
    "statement": lambda place: JdbcSink.exactly_once_sink(
        "INSERT INTO orders VALUES (?, ?, ?)", None, place.options
    ),
    "insert": lambda place: JdbcSink.insert("orders", FIELDS, place.options).exactly_once(),
    "upsert": lambda place: JdbcSink.upsert("orders", FIELDS, ["id"], place.options).exactly_once(),
}


@pytest.mark.parametrize("kind", SINKS)
def test_an_exactly_once_sink_conforms(place: TestDatabase, kind: str) -> None:
    place.execute(
        f"CREATE TABLE orders (id INTEGER {'PRIMARY KEY' if kind == 'upsert' else ''}, "
        f"item TEXT, price DOUBLE PRECISION)"
    )

    @contextmanager
    def target() -> Iterator[SinkTarget]:
        place.execute("DELETE FROM orders")
        yield SinkTarget(SINKS[kind](place), place.rows)

    # The statement is run like an insert: one way of going on is enough for it.
    ways = [(2, 3)] if kind == "statement" else [(1, 1), (2, 3), (3, 1)]
    check_sink(target, RECORDS, parallelisms=ways)


def test_an_upserting_sink_conforms_as_it_is(orders: TestDatabase) -> None:
    @contextmanager
    def target() -> Iterator[SinkTarget]:
        orders.execute("DELETE FROM orders")
        sink = JdbcSink.upsert("orders", FIELDS, ["id"], orders.options)
        yield SinkTarget(sink, orders.rows)

    check_sink(target, RECORDS, at_least_once=True)


@pytest.mark.parametrize("keyed", [True, False])
def test_a_source_conforms(place: TestDatabase, keyed: bool) -> None:
    place.execute(
        f"CREATE TABLE orders (id INTEGER {'PRIMARY KEY' if keyed else ''}, item TEXT, "
        f"price DOUBLE PRECISION)"
    )
    place.insert("orders", RECORDS)

    def make() -> JdbcSource:
        builder = JdbcSource.builder().set_connection_options(place.options)
        return builder.set_table("orders").set_result_set_fetch_size(3).build()

    expected = [Row(id=number, item=item, price=price) for number, item, price in RECORDS]
    check_source(make, expected, seeds=range(6))
