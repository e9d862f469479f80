"""Tables that change while they are read, sources that fail, servers that are killed: the stream is the table."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from typing import Any

import pytest

from riverrun.connectors.jdbc.errors import DatabaseFailed
from tests.contract.connectors.postgres_cdc.captures import Capture, Mirror, capturing
from tests.contract.connectors.postgres_cdc.conftest import MakeCapture
from tests.servers.postgres import Database, PostgresServer

psycopg = pytest.importorskip("psycopg")


class Writers:
    """Threads that change ``orders`` in transactions of all kinds, until they are told to stop."""

    def __init__(self, database: Database, number: int, seed: int) -> None:
        self._database = database
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(random.Random(seed + each),), daemon=True)
            for each in range(number)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, chance: random.Random) -> None:
        while not self._stop.is_set():
            with suppress(psycopg.OperationalError), self._database.connect() as connection:
                while not self._stop.is_set():
                    self._transaction(connection, chance)
                    self._stop.wait(0.002)

    def _transaction(self, connection: Any, chance: random.Random) -> None:
        with (
            suppress(psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected),
            connection.transaction(force_rollback=chance.random() < 0.1),
        ):
            for _ in range(chance.choice((1, 1, 2, 30))):
                self._change(connection, chance)

    def _change(self, connection: Any, chance: random.Random) -> None:
        key, other = chance.randrange(300), chance.randrange(300)
        match chance.randrange(5):
            case 0:
                connection.execute("DELETE FROM orders WHERE id = %s", (key,))
            case 1:
                connection.execute(
                    "UPDATE orders SET id = %s WHERE id = %s AND NOT EXISTS "
                    "(SELECT 1 FROM orders WHERE id = %s)",
                    (other, key, other),
                )
            case _:
                connection.execute(
                    "INSERT INTO orders VALUES (%s, %s) ON CONFLICT (id) DO UPDATE "
                    "SET item = excluded.item",
                    (key, str(chance.random())),
                )


def content(database: Database) -> dict[int, str]:
    return dict(database.execute("SELECT id, item FROM orders"))


def followed(
    database: Database, reading: Capture, chance: random.Random, writers: Writers, fails: int
) -> None:
    """Read while others write, with checkpoints and failures at random; then read the rest."""
    mirror, saved = Mirror(), Mirror()
    while fails:
        mirror.take(reading.poll(chance.choice((1, 7, 100))))
        if chance.random() < 0.05:
            reading.checkpoint(complete=chance.random() < 0.7)
            saved = mirror.copy()
        if chance.random() < 0.01:
            reading.fail()
            mirror = saved.copy()
            fails -= 1
    caught_up(database, reading, mirror, writers)


def caught_up(database: Database, reading: Capture, mirror: Mirror, writers: Writers) -> None:
    """Let nobody write any more, and read until the mirror shows the table."""
    writers.stop()
    wanted = content(database)
    reading.until(
        lambda: {key: row["item"] for key, row in mirror.content.items()} == wanted, mirror.take
    )
    assert not reading.poll()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_table_that_changes_while_it_is_read_is_captured_exactly(
    orders: Database, capture: MakeCapture, seed: int
) -> None:
    orders.execute("INSERT INTO orders SELECT n, 'first' FROM generate_series(0, 299, 2) n")
    writers = Writers(orders, 3, seed)
    reading = capture(capturing(orders).chunk_size(10))

    followed(orders, reading, random.Random(seed), writers, fails=5)


def test_keys_of_text_are_captured_exactly(database: Database, capture: MakeCapture) -> None:
    """The order of the database's collation is not Python's."""
    known = database.execute("SELECT collname FROM pg_collation WHERE collname = 'und-x-icu'")
    collation = known[0][0] if known else "C"
    database.execute(f'CREATE TABLE orders (id TEXT COLLATE "{collation}" PRIMARY KEY, item TEXT)')
    names = ["a", "B", "b", "Ä", "z", "Z", "-", "é", "e", "E", "ss", "ß"]
    for name in names:
        database.execute("INSERT INTO orders VALUES (%s, 'first')", (name,))
    reading = capture(capturing(database).chunk_size(3))
    mirror = Mirror()
    mirror.take(reading.rows(2, limit=2))
    for name in names:
        database.execute("UPDATE orders SET item = 'second' WHERE id = %s", (name,))

    wanted = dict.fromkeys(names, "second")
    reading.until(
        lambda: {key: row["item"] for key, row in mirror.content.items()} == wanted, mirror.take
    )


def test_a_server_that_is_killed_is_followed_on(
    postgres: PostgresServer, orders: Database, capture: MakeCapture
) -> None:
    writers = Writers(orders, 2, 5)
    reading = capture(capturing(orders).chunk_size(20))
    mirror = Mirror()
    reading.until(lambda: len(mirror.content) > 20, mirror.take)

    postgres.restart()

    reading.until(lambda: len(mirror.content) > 100, mirror.take)
    caught_up(orders, reading, mirror, writers)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_random_kills_of_source_and_server(
    postgres: PostgresServer, orders: Database, capture: MakeCapture, seed: int
) -> None:
    orders.execute("INSERT INTO orders SELECT n, 'first' FROM generate_series(0, 299) n")
    writers = Writers(orders, 3, seed)
    reading = capture(capturing(orders).chunk_size(5).max_retries(20))
    stop = threading.Event()

    def killing() -> None:
        while not stop.wait(1.0):
            postgres.restart()

    killer = threading.Thread(target=killing)
    killer.start()
    chance = random.Random(seed)
    mirror, saved, fails = Mirror(), Mirror(), 30
    while fails:
        try:
            mirror.take(reading.poll(chance.choice((1, 7, 100))))
            if chance.random() < 0.01:
                reading.checkpoint(complete=chance.random() < 0.7)
                saved = mirror.copy()
            failed = chance.random() < 0.001
        except DatabaseFailed:  # the job would start again
            failed = True
        if failed:
            reading.fail()
            mirror = saved.copy()
            fails -= 1
    stop.set()
    killer.join()
    caught_up(orders, reading, mirror, writers)
