"""What every dialect promises, asked of a real database of its kind."""

from __future__ import annotations

import pytest

from riverrun.connectors.jdbc.dialect import Target
from riverrun.connectors.jdbc.errors import Trouble
from riverrun.connectors.jdbc.session import Session
from tests.contract.connectors.jdbc.databases import TestDatabase


def test_columns_and_keys_are_found(place: TestDatabase) -> None:
    place.execute('CREATE TABLE "T t" (b INTEGER, "a ""x" TEXT, c TEXT, PRIMARY KEY (c, b))')
    dialect, connection = place.dialect, place.dialect.connect()

    assert list(dialect.columns(connection, "T t")) == ["b", 'a "x', "c"]
    assert dialect.primary_key(connection, "T t") == ("c", "b")
    assert dialect.columns(connection, "nothing") == {}
    assert dialect.primary_key(connection, "nothing") == ()
    assert dialect.quote('a "x') == '"a ""x"'
    connection.close()


def test_rows_are_inserted_replaced_and_deleted_by_key(orders: TestDatabase) -> None:
    dialect, connection = orders.dialect, orders.dialect.connect()
    keyed = Target("orders", ("id", "item", "price"), ("id",))

    for bulk in (False, True):
        connection.execute(dialect.begin)
        rows = [(number, f"bulk {bulk}", None) for number in range(100)]
        dialect.write(connection, keyed, rows, bulk=bulk)
        connection.execute("COMMIT")
        assert orders.rows() == rows
    dialect.execute_many(connection, dialect.delete_sql(keyed), [(number,) for number in range(98)])
    connection.close()

    assert [row[0] for row in orders.rows()] == [98, 99]


def test_a_transaction_is_all_or_nothing(orders: TestDatabase) -> None:
    session = Session(orders.dialect, "test", 0)

    def half(connection: object) -> None:
        orders.dialect.execute(connection, "INSERT INTO orders VALUES (?, ?, ?)", (1, "a", 1.0))
        raise KeyError("enough")

    with pytest.raises(KeyError):
        session.run(half)
    session.close()

    assert orders.rows() == []


def test_question_marks_and_percent_signs_mean_what_they_say(orders: TestDatabase) -> None:
    found = orders.execute("SELECT '100 %', '?', 7 % 4, ? || '%s' -- what?", ("a",))

    assert found == [("100 %", "?", 3, "a%s")]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM nothing",
        "SELECT nope FROM orders",
        "SELEC",
        "INSERT INTO orders VALUES (1, 'a', 1), (1, 'b', 1)",
    ],
)
def test_mistakes_are_not_tried_again(orders: TestDatabase, statement: str) -> None:
    dialect, connection = orders.dialect, orders.dialect.connect()
    with pytest.raises(Exception) as caught:  # noqa: PT011  (each driver has its own)
        dialect.execute(connection, statement).fetchall()
    connection.close()

    assert dialect.trouble(caught.value) is Trouble.REFUSED
    assert dialect.trouble(KeyError("x")) is Trouble.FOREIGN


def test_a_dry_run_changes_nothing(orders: TestDatabase) -> None:
    dialect, connection = orders.dialect, orders.dialect.connect()
    dialect.dry_run(connection, "INSERT INTO orders VALUES (?, 'a%', ?)")
    dialect.dry_run(connection, "DELETE FROM orders WHERE id = ?")
    connection.close()

    assert orders.rows() == []


def test_days_ago_can_be_compared(place: TestDatabase) -> None:
    place.execute(f"CREATE TABLE marks (at {place.dialect.time_type})")
    for days in (0, 5, 50):
        place.execute(f"INSERT INTO marks VALUES ({place.dialect.now_minus_days(days)})")

    old = f"SELECT count(*) FROM marks WHERE at < {place.dialect.now_minus_days(10)}"

    assert place.execute(old) == [(1,)]
