"""Changes as they are committed: kinds, order, positions, tables that change their shape."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from riverrun.connectors.postgres_cdc.rows import Unavailable
from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row
from riverrun.testing.waiting import wait_until
from tests.contract.connectors.postgres_cdc.captures import capturing, shown
from tests.contract.connectors.postgres_cdc.conftest import MakeCapture
from tests.servers.postgres import Database


def test_the_rows_that_are_there_come_first_and_then_every_change(
    orders: Database, capture: MakeCapture
) -> None:
    orders.execute("INSERT INTO orders VALUES (1, 'pen', '2026-01-01 10:00+00'), (2, 'ink', NULL)")
    reading = capture(capturing(orders))
    time = datetime(2026, 1, 1, 10, tzinfo=UTC)

    assert shown(reading.rows(2)) == [("+I", 1, "pen", time), ("+I", 2, "ink", None)]
    orders.execute("INSERT INTO orders VALUES (3, 'pad', '2026-01-01 11:00+01')")
    orders.execute("UPDATE orders SET item = 'pencil' WHERE id = 1")
    orders.execute("UPDATE orders SET id = 20 WHERE id = 2")
    orders.execute("DELETE FROM orders WHERE id = 3")

    assert shown(reading.rows(5)) == [
        ("+I", 3, "pad", time),
        ("+U", 1, "pencil", time),
        ("-U", 2, None, None),
        ("+U", 20, "ink", None),
        ("-D", 3, None, None),
    ]


def test_rows_have_names_and_the_time_of_their_commit(
    orders: Database, capture: MakeCapture
) -> None:
    reading = capture(capturing(orders).include_metadata().startup_mode("latest"))
    assert reading.poll() == []
    wait_until(
        lambda: orders.execute(
            "SELECT 1 FROM pg_replication_slots WHERE confirmed_flush_lsn > '0/0'"
        ),
        what="a slot",
    )
    orders.execute("INSERT INTO orders VALUES (1, 'pen')")

    (row,) = reading.rows(1)

    assert row.as_dict() == {
        "_table": "public.orders",
        "_lsn": row["_lsn"],
        "_time_ms": row["_time_ms"],
        "id": 1,
        "item": "pen",
        "at": None,
    }
    (age,) = orders.execute("SELECT extract(epoch FROM now()) * 1000 - %s", (row["_time_ms"],))[0]
    assert 0 <= age < 600_000


def test_a_table_with_full_identity_gives_the_row_as_it_was(
    orders: Database, capture: MakeCapture
) -> None:
    orders.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    orders.execute("INSERT INTO orders VALUES (1, 'pen')")
    reading = capture(capturing(orders))
    reading.rows(1)
    orders.execute("UPDATE orders SET item = 'ink'")
    orders.execute("DELETE FROM orders")

    assert shown(reading.rows(3)) == [
        ("-U", 1, "pen", None),
        ("+U", 1, "ink", None),
        ("-D", 1, "ink", None),
    ]


@pytest.mark.parametrize("full", [False, True])
def test_a_large_value_that_an_update_does_not_touch_is_known_with_full_identity_only(
    orders: Database, capture: MakeCapture, full: bool
) -> None:
    orders.execute("ALTER TABLE orders ALTER item SET STORAGE EXTERNAL")
    if full:
        orders.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    orders.execute("INSERT INTO orders VALUES (1, repeat('x', 10000))")
    reading = capture(capturing(orders))
    reading.rows(1)
    orders.execute("UPDATE orders SET at = NULL")

    row = reading.rows(2 if full else 1)[-1]

    assert row.item == ("x" * 10000 if full else Unavailable.UNAVAILABLE)


def test_a_column_that_is_added_is_in_the_rows_from_then_on(
    orders: Database, capture: MakeCapture
) -> None:
    reading = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1, 'pen')")
    (before,) = reading.rows(1)
    orders.execute("ALTER TABLE orders ADD COLUMN price NUMERIC(8, 2)")
    orders.execute("INSERT INTO orders VALUES (2, 'ink', NULL, 9.50)")
    orders.execute("ALTER TABLE orders DROP COLUMN at")
    orders.execute("INSERT INTO orders VALUES (3, 'pad', 1)")

    after = reading.rows(2)

    assert before == Row(id=1, item="pen", at=None)
    assert after == [
        Row(id=2, item="ink", at=None, price=Decimal("9.50")),
        Row(id=3, item="pad", price=Decimal("1.00")),
    ]


def test_a_position_inside_a_transaction_is_exact(orders: Database, capture: MakeCapture) -> None:
    orders.execute("INSERT INTO orders VALUES (0)")
    reading = capture(capturing(orders))
    reading.rows(1)
    orders.execute("INSERT INTO orders SELECT n FROM generate_series(1, 1000) n")
    orders.execute("INSERT INTO orders VALUES (5000)")
    seen: list[int] = []

    def some() -> bool:
        seen.extend(row.id for row in reading.poll(100))
        return len(seen) >= 300

    wait_until(some, what="300 rows")
    reading.checkpoint()
    reading.poll(100)
    reading.fail()
    seen += [row.id for row in reading.rows(1001 - len(seen))]

    assert seen == [*range(1, 1001), 5000]


def test_transactions_come_whole_and_in_the_order_of_their_commits(
    orders: Database, capture: MakeCapture
) -> None:
    orders.execute("INSERT INTO orders VALUES (0)")
    reading = capture(capturing(orders))
    reading.rows(1)
    with orders.connect() as first, orders.connect() as second:
        first.execute("BEGIN")
        first.execute("INSERT INTO orders VALUES (1)")
        second.execute("INSERT INTO orders VALUES (2)")
        first.execute("INSERT INTO orders VALUES (3)")
        first.execute("COMMIT")
        second.execute("BEGIN")
        second.execute("INSERT INTO orders VALUES (4)")
        second.execute("ROLLBACK")
    orders.execute("INSERT INTO orders VALUES (5)")

    assert [row.id for row in reading.rows(4)] == [2, 1, 3, 5]


def test_tables_of_one_source_are_told_apart_and_others_left_out(
    orders: Database, capture: MakeCapture
) -> None:
    orders.execute("CREATE TABLE items (name TEXT PRIMARY KEY)")
    orders.execute("CREATE TABLE others (name TEXT PRIMARY KEY)")
    orders.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    orders.execute("INSERT INTO items VALUES ('pen')")
    reading = capture(
        capturing(orders, "orders", "items").include_metadata().publication_name("everything")
    )
    reading.rows(1)
    with orders.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO orders VALUES (1)")
        connection.execute("INSERT INTO others VALUES ('a')")
        connection.execute("INSERT INTO items VALUES ('ink')")
        connection.execute("COMMIT")

    assert [row["_table"] for row in reading.rows(2)] == ["public.orders", "public.items"]


def test_only_what_the_publication_gives_is_read(orders: Database, capture: MakeCapture) -> None:
    orders.execute(
        "CREATE PUBLICATION a_part FOR TABLE orders (id, item) WHERE (id > 1) WITH (publish = 'insert')"
    )
    orders.execute("INSERT INTO orders VALUES (1, 'pen'), (2, 'ink')")
    reading = capture(capturing(orders).publication_name("a_part"))

    assert reading.rows(1) == [Row(id=2, item="ink")]
    orders.execute("INSERT INTO orders VALUES (0, 'pad'), (3, 'cup')")
    assert reading.rows(1) == [Row(id=3, item="cup")]


def test_the_slot_follows_complete_checkpoints_also_when_others_write(
    orders: Database, capture: MakeCapture
) -> None:
    """The server must not keep its log for ever because the table that is read is a quiet one."""
    orders.execute("CREATE TABLE busy (n INT)")
    reading = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1)")
    reading.rows(1)
    orders.execute("INSERT INTO busy SELECT n FROM generate_series(1, 1000) n")
    (written,) = orders.execute("SELECT pg_current_wal_lsn()::text")[0]

    def followed() -> bool:
        reading.poll()
        reading.checkpoint()
        ((done,),) = orders.execute(
            "SELECT confirmed_flush_lsn >= %s::pg_lsn FROM pg_replication_slots", (written,)
        )
        return bool(done)

    wait_until(followed, what="the slot to follow")
    reading.fail()
    orders.execute("INSERT INTO orders VALUES (2)")
    assert [row.id for row in reading.rows(1)] == [2]


def test_checkpoints_that_were_given_up_do_not_hold_the_slot_back(
    orders: Database, capture: MakeCapture
) -> None:
    reading = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1)")
    reading.rows(1)
    for _ in range(3):
        reading.checkpoint(complete=False)
    orders.execute("INSERT INTO orders VALUES (2)")
    reading.rows(1)
    reading.checkpoint()
    split = reading._saved[0]

    def followed() -> bool:
        ((confirmed,),) = orders.execute(
            "SELECT (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint FROM pg_replication_slots"
        )
        return bool(confirmed == split.lsn)

    wait_until(followed, what="the slot to follow the complete checkpoint")


def test_what_no_complete_checkpoint_covers_comes_again(
    orders: Database, capture: MakeCapture
) -> None:
    reading = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1)")
    assert [row.id for row in reading.rows(1)] == [1]
    reading.checkpoint()
    orders.execute("INSERT INTO orders VALUES (2)")
    assert [row.id for row in reading.rows(1)] == [2]
    reading.checkpoint(complete=False)
    orders.execute("INSERT INTO orders VALUES (3)")
    reading.rows(1)
    reading.fail()

    assert [row.id for row in reading.rows(1)] == [3]


def test_a_table_that_was_truncated_before_it_was_read_is_as_it_is(
    orders: Database, capture: MakeCapture
) -> None:
    first = capture(capturing(orders))
    first.poll()
    wait_until(
        lambda: orders.execute(
            "SELECT 1 FROM pg_replication_slots WHERE confirmed_flush_lsn > '0/0'"
        ),
        what="a slot",
    )
    first.fail()
    orders.execute("INSERT INTO orders VALUES (1)")
    orders.execute("TRUNCATE orders")
    orders.execute("INSERT INTO orders VALUES (2)")

    second = capture(capturing(orders))
    assert [row.id for row in second.rows(1)] == [2]
    orders.execute("INSERT INTO orders VALUES (3)")
    assert [row.id for row in second.rows(1)] == [3]


def test_columns_that_changes_do_not_have_are_not_read_from_the_table(
    database: Database, capture: MakeCapture
) -> None:
    database.execute(
        "CREATE TABLE lines (id INT PRIMARY KEY, twice INT GENERATED ALWAYS AS (id * 2) STORED)"
    )
    database.execute("INSERT INTO lines VALUES (1)")
    reading = capture(capturing(database, "lines"))
    rows = reading.rows(1)
    database.execute("INSERT INTO lines VALUES (2)")
    rows += reading.rows(1)

    assert [row.as_dict() for row in rows] == [{"id": 1}, {"id": 2}]


def test_a_truncated_table_fails_the_job_unless_it_is_said_otherwise(
    orders: Database, capture: MakeCapture
) -> None:
    reading = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1)")
    reading.rows(1)
    reading.checkpoint()
    orders.execute("TRUNCATE orders")
    orders.execute("INSERT INTO orders VALUES (2)")

    with pytest.raises(ProgramError, match="TRUNCATE"):
        reading.rows(1)
    reading.fail()
    reading._source = capturing(orders).skip_truncates().build()
    assert [row.id for row in reading.rows(1)] == [2]
