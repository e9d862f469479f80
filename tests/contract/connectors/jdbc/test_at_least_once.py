"""Batches: when rows leave, what they do, and that a lost connection loses none of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from riverrun.api.sink import SinkWriter
from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.jdbc.errors import DatabaseFailed, DatabaseRefused
from riverrun.connectors.jdbc.execution import JdbcExecutionOptions
from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.connectors.jdbc.writer import BatchWriter
from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row, RowKind
from riverrun.serde.types import Types
from riverrun.testing.waiting import wait_until
from tests.contract.connectors.jdbc.databases import TestDatabase, context

FIELDS = ["id", "item", "price"]
MakeWriter = Callable[[JdbcSink], SinkWriter[Any]]


@pytest.fixture
def writer() -> Iterator[MakeWriter]:
    """``writer(sink)``: opened; closed at the end."""
    made: list[SinkWriter[Any]] = []

    def make(sink: JdbcSink) -> SinkWriter[Any]:
        copy: JdbcSink = pickle.loads(pickle.dumps(sink))
        assert copy.create_committer(context()) is None
        made.append(copy.create_writer(context()))
        made[-1].open()
        return made[-1]

    yield make
    for each in made:
        each.close()


def inserting(place: TestDatabase, **options: int) -> JdbcSink:
    return JdbcSink.sink(
        "INSERT INTO orders (id, item, price) VALUES (?, ?, ?)",
        Types.ROW_NAMED(FIELDS, [Types.INT(), Types.STRING(), Types.DOUBLE()]),
        place.options,
        JdbcExecutionOptions(**options),
    )


def test_rows_leave_when_the_batch_is_full_and_at_each_checkpoint(
    orders: TestDatabase, writer: MakeWriter
) -> None:
    open_writer = writer(inserting(orders, batch_size=2))

    open_writer.write_run([(1, "a", 1.0)], None)
    assert orders.rows() == []
    open_writer.write((2, "b", 2.0), None)
    assert len(orders.rows()) == 2
    open_writer.write_run([(number, "c", 0.0) for number in range(3, 6)], None)
    assert len(orders.rows()) == 4
    open_writer.flush(end_of_input=False)
    assert len(orders.rows()) == 5


def test_rows_leave_when_they_have_waited_for_the_interval(
    orders: TestDatabase, writer: MakeWriter
) -> None:
    open_writer = writer(inserting(orders, batch_interval_ms=5))
    open_writer.write_run([(1, "a", 1.0)], None)

    wait_until(orders.rows, what="the row")


def test_what_fails_in_the_interval_fails_the_job(orders: TestDatabase, writer: MakeWriter) -> None:
    open_writer = writer(inserting(orders, batch_interval_ms=5))
    open_writer.write_run([(1, "a", 1.0), (1, "b", 1.0)], None)
    assert isinstance(open_writer, BatchWriter)
    timer = open_writer._timer
    assert timer is not None
    wait_until(lambda: timer._error, what="an error")

    with pytest.raises(DatabaseRefused, match=r"(?i)unique"):
        open_writer.write_run([(2, "c", 1.0)], None)
    assert orders.rows() == []


@dataclass
class Order:
    price: float
    item: str
    id: int


@pytest.mark.parametrize(
    "record",
    [
        (1, "a", 2.5),
        [1, "a", 2.5],
        Row(1, "a", 2.5),
        Row(price=2.5, id=1, item="a"),
        {"item": "a", "id": 1, "price": 2.5, "more": 0},
        Order(2.5, "a", 1),
    ],
    ids=["tuple", "list", "row", "named row", "dict", "dataclass"],
)
def test_records_of_all_kinds_are_written(
    orders: TestDatabase, writer: MakeWriter, record: Any
) -> None:
    for sink in (inserting(orders), JdbcSink.upsert("orders", FIELDS, ["id"], orders.options)):
        open_writer = writer(sink)
        open_writer.write_run([record], None)
        open_writer.flush(end_of_input=True)

        assert orders.rows() == [(1, "a", 2.5)]


@pytest.mark.parametrize("record", [(1, "a"), Row(id=1, item="a"), 7, "abc"], ids=repr)
def test_a_record_that_does_not_fit_is_named(
    orders: TestDatabase, writer: MakeWriter, record: Any
) -> None:
    with pytest.raises(DatabaseRefused, match=r"expected the fields \['id', 'item', 'price'\]"):
        writer(inserting(orders)).write_run([record], None)


@pytest.mark.parametrize("number", [10, 500], ids=["statements", "in bulk"])
def test_the_newest_record_of_a_key_is_its_row(
    orders: TestDatabase, writer: MakeWriter, number: int
) -> None:
    open_writer = writer(JdbcSink.upsert("orders", FIELDS, ["id"], orders.options))
    for turn in range(3):
        rows = [(key, f"turn {turn}", float(turn)) for key in range(number)]
        open_writer.write_run([*rows, *rows[:3]], None)
        open_writer.flush(end_of_input=False)
    open_writer.write_run([Row.of_kind(RowKind.DELETE, 0, None, None)], None)
    open_writer.flush(end_of_input=True)

    assert orders.rows() == [(key, "turn 2", 2.0) for key in range(1, number)]


def test_a_sink_without_a_key_refuses_deletes(orders: TestDatabase, writer: MakeWriter) -> None:
    for sink in (inserting(orders), JdbcSink.insert("orders", FIELDS, orders.options)):
        with pytest.raises(DatabaseRefused, match=r"got -D .*; use JdbcSink\.upsert"):
            writer(sink).write_run([Row.of_kind(RowKind.DELETE, 1, "a", 1.0)], None)


def test_a_table_that_is_all_key_keeps_one_row_of_each(
    place: TestDatabase, writer: MakeWriter
) -> None:
    place.execute('CREATE TABLE "odd Name" ("a key" INTEGER PRIMARY KEY)')
    open_writer = writer(JdbcSink.upsert("odd Name", ["a key"], ["a key"], place.options))
    open_writer.write_run([(1,), (2,), (1,)], None)
    open_writer.flush(end_of_input=False)
    open_writer.write_run([(1,)], None)
    open_writer.flush(end_of_input=False)

    assert place.rows('"odd Name"') == [(1,), (2,)]


@pytest.mark.parametrize("number", [2, 100], ids=["statements", "in bulk"])
def test_values_of_all_types_arrive(
    postgresql: TestDatabase, writer: MakeWriter, number: int
) -> None:
    postgresql.execute(
        "CREATE TABLE kinds (id INT PRIMARY KEY, big BIGINT, exact NUMERIC, day DATE, "
        "at TIMESTAMPTZ, raw BYTEA, flag BOOLEAN, list INT[], doc JSONB, code UUID, word VARCHAR(9))"
    )
    values = (
        2**40,
        Decimal("1.50"),
        date(2026, 11, 16),
        datetime(2026, 11, 16, 8, tzinfo=UTC),
        b"\0\xff",
        True,
        [1, 2],
        {"a": [1, None]},
        UUID(int=7),
        "tab\t\\ \n'\"",
    )
    names = ["id", "big", "exact", "day", "at", "raw", "flag", "list", "doc", "code", "word"]
    open_writer = writer(JdbcSink.upsert("kinds", names, ["id"], postgresql.options))
    open_writer.write_run([(key, *values) for key in range(number)], None)
    open_writer.write_run([(number, *[None] * len(values))], None)
    open_writer.flush(end_of_input=True)

    assert postgresql.execute("SELECT * FROM kinds WHERE id = 1") == [(1, *values)]
    assert postgresql.execute(f"SELECT * FROM kinds WHERE id = {number}")[0][1:] == (None,) * 10


def test_a_batch_is_written_again_when_the_server_was_killed(
    postgresql: TestDatabase, writer: MakeWriter
) -> None:
    postgresql.execute("CREATE TABLE orders (id INT PRIMARY KEY, item TEXT, price FLOAT)")
    open_writer = writer(JdbcSink.upsert("orders", FIELDS, ["id"], postgresql.options))
    open_writer.write_run([(1, "a", 1.0)], None)
    open_writer.flush(end_of_input=False)

    postgresql.kill()
    postgresql.start()
    open_writer.write_run([(2, "b", 2.0)], None)
    open_writer.flush(end_of_input=False)

    assert len(postgresql.rows()) == 2


def test_tries_come_later_and_later_and_end(
    postgresql: TestDatabase, writer: MakeWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgresql.execute("CREATE TABLE orders (id INT PRIMARY KEY, item TEXT, price FLOAT)")
    open_writer: Any = writer(inserting(postgresql, max_retries=4))
    waited: list[float] = []
    monkeypatch.setattr(open_writer._session, "_sleep", waited.append)
    open_writer.write_run([(1, "a", 1.0)], None)
    postgresql.kill()

    with pytest.raises(DatabaseFailed, match="failed 5 times"):
        open_writer.flush(end_of_input=False)

    postgresql.start()
    assert len(waited) == 4
    assert all(
        0.8 * most <= each <= most for each, most in zip(waited, [0.5, 1, 2, 4], strict=True)
    )
    open_writer.flush(end_of_input=False)
    assert postgresql.rows() == [(1, "a", 1.0)]


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        (lambda o: JdbcSink.insert("nothing", ["id"], o), "has no table 'nothing'"),
        (lambda o: JdbcSink.insert("orders", ["id", "x"], o), r"has no columns \['x'\]; it has"),
        (lambda o: JdbcSink.upsert("orders", FIELDS, ["item"], o), "(?i)on conflict"),
        (lambda o: JdbcSink.sink("INSERT INTO nothing VALUES (?)", None, o), "nothing"),
        (lambda o: JdbcSink.sink("UPDATE orders SET x = ?", None, o), "x"),
        (lambda o: JdbcSink.sink("INSRT INTO orders VALUES (?)", None, o), None),
    ],
)
@pytest.mark.parametrize("exactly", [False, True])
def test_what_is_missing_is_said_before_anything_is_written(
    orders: TestDatabase, sink: Any, message: str | None, exactly: bool
) -> None:
    made: JdbcSink = sink(orders.options)
    if exactly:
        made = made.exactly_once()
        committer = made.create_committer(context())
        assert committer is not None
        committer.close()
    open_writer = made.create_writer(context())
    try:
        if message is None and orders.dialect.name == "PostgreSQL":
            return  # a kind of statement that PostgreSQL cannot read ahead
        with pytest.raises(ProgramError, match=message or "syntax"):
            open_writer.open()
    finally:
        open_writer.close()


def test_a_wrong_password_a_missing_database_and_no_server_are_told_apart(
    postgresql: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverrun.connectors.jdbc.session.BACKOFF", Backoff(first_s=0.0))
    given = postgresql.options
    host = given.url.rpartition("/")[0]
    kind = type(given)
    cases = {
        kind(given.url, None, given.user_name, "hush-hush"): (ProgramError, "password"),
        kind(given.url, None, "nobody", "hush-hush"): (ProgramError, "nobody"),
        kind(f"{host}/nowhere", None, given.user_name, given.password): (
            ProgramError,
            "nowhere.*does not exist",
        ),
        kind("jdbc:postgresql://127.0.0.1:1/x", None, "a", "hush-hush"): (
            DatabaseFailed,
            "failed 4 times",
        ),
    }
    for options, (error, message) in cases.items():
        open_writer = JdbcSink.insert("orders", FIELDS, options).create_writer(context())
        with pytest.raises(error, match=message) as refused:
            open_writer.open()
        assert "hush" not in str(refused.value)
        open_writer.close()
