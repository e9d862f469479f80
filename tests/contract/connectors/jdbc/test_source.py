"""Tables and queries as streams: every row once, in any number of parts, resumed anywhere."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from riverrun.api.source import SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.jdbc.parts import Part
from riverrun.connectors.jdbc.ranges import JdbcNumericBetweenParametersProvider
from riverrun.connectors.jdbc.source import JdbcSource, planned
from riverrun.connectors.jdbc.source_builder import JdbcSourceBuilder
from riverrun.core.clock import ManualClock
from riverrun.core.errors import ProgramError, UserCodeError
from riverrun.graph.pickling import dumps
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.waiting import wait_until
from tests.contract.connectors.jdbc.databases import TestDatabase

ROWS = 500


def row(number: int) -> tuple[int, str, float]:
    return (number, f"item {number % 7}", number / 4)


@pytest.fixture
def stocked(orders: TestDatabase) -> TestDatabase:
    # The order of the rows in the table is not that of their keys.
    numbers = list(range(ROWS))
    random.Random(7).shuffle(numbers)
    orders.insert("orders", [row(each) for each in numbers])
    return orders


def reading(place: TestDatabase) -> JdbcSourceBuilder[JdbcSource]:
    return JdbcSource.builder().set_connection_options(place.options)


@dataclass
class OpenSource:
    """A source and its parts, read as a task reads them."""

    source: JdbcSource
    readers: list[SourceReader[Any]]

    def parts(self, readers: int = 2) -> list[Part]:
        settings = self.source._settings
        return planned(settings.plan, settings.dialect, settings.max_retries, readers)

    def reader(self, parts: list[Part]) -> SourceReader[Any]:
        source: JdbcSource = pickle.loads(dumps(self.source))
        context = SourceReaderContext(0, 1, ManualClock(), send_split_request=lambda: None)
        reader = source.create_reader(pickle.loads(pickle.dumps(parts)), context)
        reader.open()
        reader.notify_no_more_splits()
        self.readers.append(reader)
        return reader

    def all(self, parts: list[Part] | None = None) -> list[Any]:
        return drained(self.reader(self.parts() if parts is None else parts))


@pytest.fixture
def opened() -> Iterator[Callable[[JdbcSourceBuilder[JdbcSource]], OpenSource]]:
    readers: list[SourceReader[Any]] = []
    yield lambda builder: OpenSource(builder.build(), readers)
    for each in readers:
        each.close()


Opened = Callable[[JdbcSourceBuilder[JdbcSource]], OpenSource]


def some(reader: SourceReader[Any], limit: int) -> list[Any] | None:
    """The next values, as soon as there are any; ``None`` at the end."""

    def poll() -> list[Any]:
        polled = reader.poll(limit)
        return [polled] if polled.values or polled.status is SourceStatus.END_OF_INPUT else []

    (polled,) = wait_until(poll, what="rows or the end")
    if polled.status is SourceStatus.END_OF_INPUT:
        return None
    values: list[Any] = polled.values
    assert len(values) <= limit
    return values


def drained(reader: SourceReader[Any], limit: int = 64) -> list[Any]:
    return [value for values in iter(partial(some, reader, limit), None) for value in values]


WAYS: dict[str, Callable[[JdbcSourceBuilder[JdbcSource]], Any]] = {
    "by its key": lambda b: b.set_table("orders"),
    "in ranges of a column": lambda b: b.set_table("orders").set_partition_column(
        "price", 10, 60, 5
    ),
    "in ranges that the database is asked for": lambda b: b.set_table(
        "orders"
    ).set_partition_column("price", partitions=3),
    "as a query": lambda b: b.set_sql("SELECT * FROM orders").set_key("id"),
    "as a query with ranges": lambda b: b.set_sql(
        "SELECT * FROM orders WHERE id BETWEEN ? AND ? ORDER BY id"
    ).set_jdbc_parameter_values_provider(
        JdbcNumericBetweenParametersProvider(0, ROWS - 1).of_batch_num(4)
    ),
    "as an ordered query without a key": lambda b: b.set_sql("SELECT * FROM orders ORDER BY id"),
    "as a view": lambda b: b.set_table("all_orders"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_row_is_read_once_and_after_a_restart_at_any_place(
    stocked: TestDatabase, opened: Opened, way: str
) -> None:
    stocked.execute("CREATE VIEW all_orders AS SELECT * FROM orders")
    source = opened(WAYS[way](reading(stocked)).set_result_set_fetch_size(40))
    parts = source.parts()
    first = source.reader(parts)
    seen: list[Any] = []
    for _ in range(5):
        seen += some(first, 33) or []

    rest = source.all(first.snapshot_splits())

    assert sorted(map(tuple, seen + rest)) == [row(number) for number in range(ROWS)]


def test_a_table_without_a_key_is_read_by_the_places_of_its_rows(
    place: TestDatabase, opened: Opened
) -> None:
    place.execute("CREATE TABLE lines (text VARCHAR(400))")
    lines = [("x" * 380 + str(number),) for number in range(300)]
    place.insert("lines", lines)
    source = opened(reading(place).set_table("lines"))
    parts = source.parts(2)

    assert len(parts) > 4
    assert len({part.name for part in parts}) == len(parts)
    first = source.reader(parts)
    seen = (some(first, 10) or []) + (some(first, 10) or [])
    rest = source.all(first.snapshot_splits())
    assert sorted(tuple(each) for each in seen + rest) == sorted(lines)


def test_records_are_rows_with_names_and_know_their_types(
    stocked: TestDatabase, opened: Opened
) -> None:
    source = opened(reading(stocked).set_table("orders", ["item", "id"]).infer_type_information())

    values = source.all()

    assert Row(item="item 3", id=3) in values
    declared = source.source.get_produced_type()
    whole = Types.INT() if stocked.dialect.name == "PostgreSQL" else Types.LONG()
    assert declared == Types.ROW_NAMED(["item", "id"], [Types.STRING(), whole])


def test_an_extractor_makes_records_of_tuples(stocked: TestDatabase, opened: Opened) -> None:
    source = opened(
        reading(stocked)
        .set_sql("SELECT id, item FROM orders WHERE id < ?")
        .set_jdbc_parameter_values_provider([(3,)])
        .set_result_extractor(lambda values: values[0] * 10)
    )

    assert sorted(source.all()) == [0, 10, 20]


def test_a_row_that_the_extractor_refuses_is_named(stocked: TestDatabase, opened: Opened) -> None:
    source = opened(
        reading(stocked)
        .set_sql("SELECT id, item FROM orders ORDER BY id")
        .set_result_extractor(lambda values: 1 / (values[0] - 2))
    )

    with pytest.raises(UserCodeError, match=r"ZeroDivisionError.*row \(2, 'item 2'\) of 'query 0'"):
        source.all()


def test_an_empty_table_ends_at_once(orders: TestDatabase, opened: Opened) -> None:
    assert opened(reading(orders).set_table("orders")).all() == []


def test_rows_with_no_value_in_the_partition_column_are_read_too(
    orders: TestDatabase, opened: Opened
) -> None:
    for number in range(5):
        price = None if number == 2 else number
        orders.execute("INSERT INTO orders VALUES (?, 'a', ?)", (number, price))
    source = opened(reading(orders).set_table("orders").set_partition_column("price", partitions=2))

    assert sorted(value.id for value in source.all()) == [0, 1, 2, 3, 4]


def test_a_continuous_source_finds_rows_that_come_later(
    orders: TestDatabase, opened: Opened
) -> None:
    orders.execute("INSERT INTO orders VALUES (1, 'a', 0)")
    source = opened(reading(orders).set_table("orders").set_continuous(10))
    (part,) = source.parts()
    reader = source.reader([part])

    assert [value.id for value in some(reader, 10) or []] == [1]
    orders.execute("INSERT INTO orders VALUES (2, 'b', 0), (3, 'c', 0)")
    seen: list[int] = []
    while len(seen) < 2:
        seen += [value.id for value in some(reader, 10) or []]
    assert seen == [2, 3]
    (left,) = reader.snapshot_splits()
    orders.execute("INSERT INTO orders VALUES (4, 'd', 0)")
    assert [value.id for value in some(source.reader([left]), 10) or []] == [4]


def test_a_server_that_is_killed_while_it_is_read_is_read_on(
    postgresql: TestDatabase, opened: Opened
) -> None:
    postgresql.execute(
        "CREATE TABLE orders AS SELECT n AS id, repeat('x', 100) AS item FROM generate_series(1, 20000) n"
    )
    postgresql.execute("ALTER TABLE orders ADD PRIMARY KEY (id)")
    source = opened(reading(postgresql).set_table("orders").set_result_set_fetch_size(100))
    reader = source.reader(source.parts(1))
    seen = [value.id for value in some(reader, 100) or []]

    postgresql.kill()
    postgresql.start()
    seen += [value.id for value in drained(reader, 1000)]

    assert sorted(seen) == list(range(1, 20001))


def test_a_reader_closes_without_waiting_for_its_query(
    postgresql: TestDatabase, opened: Opened
) -> None:
    source = opened(reading(postgresql).set_sql("SELECT pg_sleep(3600) IS NULL AS slept"))
    reader = source.reader(source.parts(1))
    reader.poll(1)
    sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    wait_until(lambda: postgresql.execute(sleeping), what="the query to run")

    reader.close()

    wait_until(lambda: not postgresql.execute(sleeping), what="the query to end")


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        (lambda b: b.set_table("nothing"), "has no table 'nothing'"),
        (lambda b: b.set_table("orders", ["id", "nope"]), r"has no columns \['nope'\]; it has"),
        (lambda b: b.set_table("orders").set_partition_column("x"), r"no columns \['x'\]"),
        (lambda b: b.set_sql("SELECT * FROM nothing"), "nothing"),
        (lambda b: b.set_sql("SELECT id FROM orders").set_key("x"), r"no columns \['x'\]"),
        (
            lambda b: b.set_table("orders").set_partition_column("item", partitions=2),
            "no equal parts",
        ),
    ],
)
def test_what_is_missing_is_said_before_anything_is_read(
    stocked: TestDatabase, opened: Opened, builder: Any, message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        opened(builder(reading(stocked))).parts()
