"""What cannot work is said when the source is opened, with what to do about it."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.errors import DatabaseFailed
from riverrun.core.errors import ProgramError
from riverrun.testing.waiting import wait_until
from tests.contract.connectors.postgres_cdc.captures import capturing, options
from tests.contract.connectors.postgres_cdc.conftest import MakeCapture
from tests.servers.postgres import OWNER, PASSWORD, Database


def test_a_missing_table_is_named(orders: Database, capture: MakeCapture) -> None:
    with pytest.raises(ProgramError, match=r"has no table 'public\.nothing'"):
        capture(capturing(orders, "nothing")).poll()


def test_a_wrong_password_is_not_shown(orders: Database, capture: MakeCapture) -> None:
    wrong = JdbcConnectionOptions(orders.url, None, OWNER, "hush-hush")

    with pytest.raises(ProgramError, match="password authentication failed") as refused:
        capture(capturing(orders).connection_options(wrong)).poll()
    assert "hush" not in str(refused.value)


def test_a_role_that_may_not_replicate_is_told_how_it_may(
    orders: Database, capture: MakeCapture
) -> None:
    role = f"reader_{orders.name}"
    orders.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")

    with pytest.raises(ProgramError, match=f'ALTER ROLE "{role}" REPLICATION'):
        capture(capturing(orders).connection_options(options(orders, role))).poll()
    orders.execute(f"ALTER ROLE {role} REPLICATION")
    with pytest.raises(ProgramError, match="grant SELECT"):
        capture(capturing(orders).connection_options(options(orders, role))).poll()
    orders.execute(f"GRANT SELECT ON orders TO {role}")
    with pytest.raises(ProgramError, match="permission denied"):
        capture(capturing(orders).connection_options(options(orders, role))).poll()
    orders.execute(f"DROP OWNED BY {role}")
    orders.execute(f"DROP ROLE {role}")


def test_a_publication_without_the_table_is_told_how_to_get_it(
    orders: Database, capture: MakeCapture
) -> None:
    orders.execute("CREATE PUBLICATION empty")

    with pytest.raises(ProgramError, match=r'ALTER PUBLICATION "empty" ADD TABLE public\.orders'):
        capture(capturing(orders).publication_name("empty")).poll()


def test_a_table_whose_writers_would_fail_is_not_published(
    database: Database, capture: MakeCapture
) -> None:
    database.execute("CREATE TABLE notes (text TEXT)")
    database.execute("INSERT INTO notes VALUES ('a')")

    with pytest.raises(ProgramError, match=r'ALTER TABLE "public"\."notes" REPLICA IDENTITY FULL'):
        capture(capturing(database, "notes")).poll()
    database.execute("UPDATE notes SET text = 'b'")
    database.execute("ALTER TABLE notes REPLICA IDENTITY FULL")
    assert [row.text for row in capture(capturing(database, "notes")).rows(1)] == ["b"]


def test_a_value_that_python_does_not_have_is_named(orders: Database, capture: MakeCapture) -> None:
    reading = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1)")
    reading.rows(1)
    orders.execute("INSERT INTO orders VALUES (2, 'pen', 'infinity')")

    with pytest.raises(BadMessage, match=r"'public\.orders', row .*2.*'at'.* b'infinity'"):
        reading.rows(1)


def test_rows_with_values_that_python_does_not_have_may_be_dead_letters(
    orders: Database, capture: MakeCapture
) -> None:
    orders.execute("INSERT INTO orders VALUES (1), (3)")
    orders.execute("INSERT INTO orders VALUES (2, 'pen', 'infinity')")
    reading = capture(capturing(orders).bad_records(BadRecords.DEAD_LETTER).chunk_size(2))
    found: list[Any] = []
    letters: list[DeadLetter] = []

    def come(rows: int, bad: int) -> bool:
        polled = reading.reader.poll(10)
        found.extend(row.id for row in polled.values)
        letters.extend(polled.dead_letters)
        return (len(found), len(letters)) == (rows, bad)

    wait_until(lambda: come(2, 1), what="the rows of the table")
    orders.execute("INSERT INTO orders VALUES (4, NULL, '-infinity')")
    orders.execute("INSERT INTO orders VALUES (5)")
    wait_until(lambda: come(3, 2), what="the changes")

    assert found == [1, 3, 5]
    assert [letter.payload for letter in letters] == [
        (b"2", b"pen", b"infinity"),
        (b"4", None, b"-infinity"),
    ]


def test_a_slot_that_another_job_reads_from_is_in_use(
    orders: Database, capture: MakeCapture
) -> None:
    first = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1)")
    first.rows(1)
    wait_until(
        lambda: first.poll() or orders.execute("SELECT 1 FROM pg_replication_slots WHERE active"),
        what="an active slot",
    )
    second = capture(capturing(orders).max_retries(0))

    with pytest.raises(DatabaseFailed, match="another job reads from the replication slot"):
        second.until(lambda: False, lambda rows: None)


def test_a_slot_of_another_kind_is_refused(orders: Database, capture: MakeCapture) -> None:
    slot = (f"slot_{orders.name}",)
    orders.execute("SELECT pg_create_physical_replication_slot(%s)", slot)

    with pytest.raises(ProgramError, match="of the plugin None or of another database"):
        capture(capturing(orders)).poll()
    orders.execute("SELECT pg_drop_replication_slot(%s)", slot)


def test_changes_that_are_gone_are_not_passed_over(orders: Database, capture: MakeCapture) -> None:
    reading = capture(capturing(orders))
    orders.execute("INSERT INTO orders VALUES (1)")
    reading.rows(1)
    reading.checkpoint()
    reading.fail()
    orders.execute("INSERT INTO orders VALUES (2)")
    slot = (f"slot_{orders.name}",)

    def advanced() -> bool:
        return bool(
            orders.execute(
                "SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) "
                "FROM pg_replication_slots WHERE slot_name = %s AND NOT active",
                slot,
            )
        )

    wait_until(advanced, what="the slot to be free")
    with pytest.raises(ProgramError, match=r"stands at .* already"):
        reading.poll()
    orders.execute("SELECT pg_drop_replication_slot(%s)", slot)
    with pytest.raises(ProgramError, match=r"is gone.*start the job without its state"):
        reading.poll()


def test_a_source_may_be_closed_while_its_slot_waits_for_others(
    orders: Database, capture: MakeCapture
) -> None:
    with orders.connect() as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO orders VALUES (1)")
        reading = capture(capturing(orders))
        reading.poll()
        wait_until(
            lambda: orders.execute(
                "SELECT 1 FROM pg_stat_activity WHERE application_name = %s "
                "AND wait_event_type = 'Lock'",
                (f"riverrun slot_{orders.name}",),
            ),
            what="a slot that is being made",
        )
        reading.close()
        other.execute("ROLLBACK")
