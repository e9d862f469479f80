"""The marker table: what a checkpoint covers is in the database once, whoever commits it and how often."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from riverrun.connectors.jdbc.committer import EpochCommitter
from riverrun.connectors.jdbc.errors import DatabaseFailed
from riverrun.connectors.jdbc.execution import JdbcExecutionOptions
from riverrun.connectors.jdbc.markers import MARKER_TABLE
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.connectors.jdbc.writes import StatementWrite
from riverrun.serde.row import Row, RowKind
from riverrun.serde.types import Types
from tests.contract.connectors.jdbc.conftest import MakeAttempt
from tests.contract.connectors.jdbc.databases import Attempt, TestDatabase, context

FIELDS = ["id", "item", "price"]


def inserting(place: TestDatabase) -> JdbcSink:
    """Plain inserts: a second one of the same row is an error, so nothing hides a repetition."""
    return JdbcSink.insert("orders", FIELDS, place.options).exactly_once()


def order(number: int) -> tuple[int, str, float]:
    return (number, f"item {number}", number / 2)


def test_rows_are_there_when_their_checkpoint_is_complete_and_not_before(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    first = attempt(inserting(orders))
    first.write(order(1), order(2))
    first.snapshot(1)
    first.write(order(3))
    assert orders.rows() == []

    first.complete(1)
    assert orders.rows() == [order(1), order(2)]

    first.snapshot(2)
    first.complete(2)
    assert orders.rows() == [order(1), order(2), order(3)]


def test_what_was_committed_is_not_committed_again_after_a_restart(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    first = attempt(inserting(orders))
    first.write(order(1))
    saved = first.snapshot(1)
    first.complete(1)

    second = attempt(inserting(orders), restored=saved)
    third = attempt(inserting(orders), restored=saved)

    assert orders.rows() == [order(1)]
    for number, each in enumerate((second, third)):
        each.write(order(10 + number))
        each.snapshot(2)
        each.complete(2)
    assert orders.rows() == [order(1), order(10), order(11)]


def test_a_fresh_start_counts_its_checkpoints_from_one_again_and_loses_nothing(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    for number in range(3):
        run = attempt(inserting(orders))
        run.write(order(number))
        run.snapshot(1)
        run.complete(1)

    assert orders.rows() == [order(0), order(1), order(2)]


def test_what_a_failed_checkpoint_prepared_is_covered_by_the_next(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    first = attempt(inserting(orders))
    for checkpoint in (1, 2, 3):
        first.write(order(checkpoint))
        first.snapshot(checkpoint)

    first.complete(3)

    assert orders.rows() == [order(1), order(2), order(3)]
    first.write(order(4))
    (next_one,) = first.snapshot(4)
    assert [epoch.number for epoch in next_one.value.epochs] == [4]


@pytest.mark.parametrize("order_of_committers", [(0, 1), (1, 0)])
def test_a_rescale_may_hand_the_committables_of_a_writer_to_several_committers(
    orders: TestDatabase, attempt: MakeAttempt, order_of_committers: tuple[int, int]
) -> None:
    sink = JdbcSink.upsert("orders", FIELDS, ["id"], orders.options).exactly_once()
    first = attempt(sink)
    first.write((7, "old", 1.0), order(1))
    first.snapshot(1)
    first.write((7, "new", 2.0))
    saved = first.snapshot(2)
    assert len(saved) == 2

    for subtask in order_of_committers:
        attempt(sink, restored=[saved[subtask]], subtask=subtask)

    assert orders.rows() == [order(1), (7, "new", 2.0)]


def test_a_committer_that_wakes_up_late_writes_nothing_twice(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    zombie = attempt(inserting(orders))
    zombie.write(order(1))
    saved = zombie.snapshot(1)
    # Attempt 2 takes over, and has gone on by the time the first one hears of its checkpoint.
    second = attempt(inserting(orders), restored=saved)
    second.write(order(2))
    second.snapshot(2)
    second.complete(2)

    zombie.complete(1)

    assert orders.rows() == [order(1), order(2)]


def test_two_who_commit_the_same_epoch_wait_for_each_other(
    postgresql: TestDatabase, attempt: MakeAttempt
) -> None:
    """The first is inside its transaction, with rows written, when the second begins."""
    postgresql.execute("CREATE TABLE orders (id INT, item TEXT, price FLOAT)")
    zombie = attempt(inserting(postgresql))
    zombie.write(order(1))
    (committable,) = saved = zombie.snapshot(1)
    committer: Any = zombie.committer
    session: Session = committer._session

    with session.transaction() as connection:
        committer._commit(1, committable.value, connection)
        impatient = postgresql.dialect.connect()
        impatient.execute("SET lock_timeout = '100ms'")
        with pytest.raises(Exception, match="lock timeout"):
            committer._markers.locked_epoch(postgresql.dialect, impatient, committable.value.writer)
        impatient.close()
    attempt(inserting(postgresql), restored=saved)

    assert postgresql.rows() == [order(1)]


def test_a_lock_that_is_never_free_is_told_instead_of_waited_for(
    postgresql: TestDatabase, attempt: MakeAttempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverrun.connectors.jdbc.postgresql._LOCK_WAIT", "50ms")
    postgresql.execute("CREATE TABLE orders (id INT, item TEXT, price FLOAT)")
    once = JdbcExecutionOptions(max_retries=0)
    sink = JdbcSink.insert("orders", FIELDS, postgresql.options, once)
    run = attempt(sink.exactly_once())
    run.write(order(1))
    run.snapshot(1)
    frozen = postgresql.dialect.connect()
    frozen.execute("BEGIN")
    frozen.execute(f"SELECT * FROM {MARKER_TABLE} FOR UPDATE")

    with pytest.raises(DatabaseFailed, match="lock timeout"):
        run.complete(1)
    frozen.close()


STEPS = ("locked_epoch", "apply", "advance", "after")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("moment", ["before", "behind"])
def test_a_crash_between_any_two_steps_of_a_commit_changes_nothing(
    orders: TestDatabase,
    attempt: MakeAttempt,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    moment: str,
) -> None:
    class Crash(BaseException):
        """As if the process were gone: nothing catches it."""

    def crashing(real: Any) -> Any:
        def call(*args: Any) -> Any:
            if moment == "before":
                raise Crash
            real(*args)
            raise Crash

        return call

    first = attempt(inserting(orders))
    first.write(order(1), order(2))
    saved = first.snapshot(1)
    committer: Any = first.committer
    if step == "after":
        monkeypatch.setattr(first.committer, "_epochs", None)
        with pytest.raises(AttributeError):
            first.complete(1)
    else:
        part = committer._write if step == "apply" else committer._markers
        with monkeypatch.context() as patched:
            patched.setattr(type(part), step, crashing(getattr(type(part), step)))
            with pytest.raises(Crash):
                first.complete(1)
        assert orders.rows() == []

    second = attempt(inserting(orders), restored=saved)

    assert orders.rows() == [order(1), order(2)]
    second.write(order(3))
    second.snapshot(2)
    second.complete(2)
    assert orders.rows() == [order(1), order(2), order(3)]


def test_a_commit_whose_answer_was_lost_is_not_done_twice(
    postgresql: TestDatabase, attempt: MakeAttempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgresql.execute("CREATE TABLE orders (id INT, item TEXT, price FLOAT)")
    first = attempt(inserting(postgresql))
    first.write(order(1))
    first.snapshot(1)
    committer: Any = first.committer
    session: Session = committer._session
    monkeypatch.setattr(session, "_sleep", lambda seconds: None)
    connection = session._connected()
    lost: list[str] = []
    psycopg = pytest.importorskip("psycopg")

    class Losing:
        """Commits, and says that the connection is gone."""

        def __getattr__(self, name: str) -> Any:
            return getattr(connection, name)

        def execute(self, sql: Any, *args: Any) -> Any:
            done = connection.execute(sql, *args)
            if sql == "COMMIT" and not lost:
                lost.append(sql)
                connection.close()
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return done

    session._connection = Losing()
    first.complete(1)

    assert lost == ["COMMIT"]
    assert postgresql.rows() == [order(1)]


def test_upserts_and_deletes_of_an_epoch_leave_the_newest(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    sink = JdbcSink.upsert("orders", FIELDS, ["id"], orders.options).exactly_once()
    first = attempt(sink)
    names = Row(*FIELDS)
    moved = names(3, "c", 3.0)
    moved.set_row_kind(RowKind.UPDATE_BEFORE)
    gone = names(1, "a", 1.0)
    gone.set_row_kind(RowKind.DELETE)
    first.write(names(1, "a", 1.0), names(2, "b", 1.0), names(2, "b", 2.0), names(3, "c", 3.0))
    first.snapshot(1)
    first.complete(1)
    first.write(gone, names(2, "b", 3.0), moved, names(4, "c", 3.0))
    first.snapshot(2)
    first.complete(2)

    assert orders.rows() == [(2, "b", 3.0), (4, "c", 3.0)]


def test_marks_of_writers_that_are_long_gone_are_removed(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    sink = inserting(orders)
    old = attempt(sink)
    ages = orders.dialect.now_minus_days(40)
    orders.execute(f"UPDATE {MARKER_TABLE} SET committed_at = {ages}")
    # Of another job, which was suspended and may come back.
    orders.execute(
        f"INSERT INTO {MARKER_TABLE} VALUES ('w', 'Sink: orders of 0a1b', 0, 3, 9, {ages})"
    )

    second = attempt(sink)
    second.write(order(1))
    second.snapshot(1)
    second.complete(1)

    assert {("Sink: orders of ",), ("Sink: orders of 0a1b",)} == set(
        orders.execute(f"SELECT sink FROM {MARKER_TABLE}")
    )
    assert len(orders.execute(f"SELECT * FROM {MARKER_TABLE}")) == 2
    old.write(order(1))
    old.snapshot(1)
    old.complete(1)
    assert orders.rows() == [order(1)]


def test_the_marker_table_has_the_name_that_it_is_given(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    sink = JdbcSink.sink(
        "INSERT INTO orders VALUES (?, ?, ?)",
        Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE()]),
        orders.options,
    ).exactly_once(marker_table="marks", name="the orders")
    first = attempt(sink)
    first.write(Row(*order(1)))
    first.snapshot(5)
    first.complete(5)

    (mark,) = orders.execute("SELECT sink, subtask, epoch, checkpoint FROM marks")
    assert mark == ("the orders", 0, 1, 5)


def test_a_job_without_checkpoints_commits_at_its_end(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    first = attempt(inserting(orders))
    first.write(order(1))
    first.snapshot(1 << 62)
    first.complete(1 << 62)

    assert orders.rows() == [order(1)]


def test_any_history_of_failures_gives_each_row_once(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    """Attempts that end anywhere, failed checkpoints, commits that come late; lost rows come again."""
    chance = random.Random(20261116)
    sink = inserting(orders)
    saved: list[Any] = []
    late: list[tuple[Attempt, int]] = []
    position = checkpoint = 0
    while position < 60:
        run = attempt(sink, restored=saved)
        for zombie, complete in late:
            zombie.complete(complete)
        late, taken = [], position
        for _ in range(chance.randrange(1, 6)):
            more = chance.randrange(4)
            run.write(*(order(taken + each) for each in range(more)))
            taken += more
            checkpoint += 1
            held = run.snapshot(checkpoint)
            if chance.random() < 0.3:
                continue
            saved, position = held, taken
            # A complete checkpoint whose news is lost, comes at once, or after the next attempt began.
            match chance.randrange(3):
                case 0:
                    run.complete(checkpoint)
                case 1:
                    late.append((run, checkpoint))
    attempt(sink, restored=saved)

    assert orders.rows() == [order(number) for number in range(position)]


def test_a_commit_cannot_be_confused_with_that_of_another_sink(
    orders: TestDatabase, attempt: MakeAttempt
) -> None:
    one, two = (attempt(inserting(orders)) for _ in range(2))
    one.write(order(1))
    two.write(order(2))
    for each in (one, two):
        each.snapshot(1)
        each.complete(1)

    assert orders.rows() == [order(1), order(2)]


def test_a_statement_of_ones_own_is_committed_as_a_whole(orders: TestDatabase) -> None:
    sink = JdbcSink.sink("INSERT INTO orders (id, item) VALUES (?, ?)", None, orders.options)
    committer = sink.exactly_once().create_committer(context())
    assert isinstance(committer, EpochCommitter)
    assert isinstance(replace(committer._write), StatementWrite)
    committer.close()
