"""A stream into PostgreSQL, exactly once: workers are killed, the database is killed, every row is there once."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import wait_until
from tests.servers.postgres import OWNER, PASSWORD, Database, PostgresServer, database, postgres
from tests.spark.allround.chaos import Chaos
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

__all__ = ["database", "postgres"]

pytestmark = pytest.mark.spark

KEYS = 40
FIELDS = ["key", "number"]


def counting(
    make_env: MakeEnv, database: Database, folder: Path, count: int, rate: float
) -> JobClient:
    """Each key's records are numbered, and the numbers go to a table that would take them twice."""
    database.execute("CREATE TABLE counted (key INT, number INT)")
    database.execute("CREATE TABLE newest (key INT PRIMARY KEY, number INT)")
    options = JdbcConnectionOptions(database.url, None, OWNER, PASSWORD)
    config = {**RECOVERING, "execution.checkpointing.dir": str(folder)}
    env = make_env(2, config)
    source = DataGeneratorSource(lambda index: (index % KEYS, 1), count, rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counted = numbers.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    counted.sink_to(JdbcSink.insert("counted", FIELDS, options).exactly_once()).name("counted")
    counted.sink_to(JdbcSink.upsert("newest", FIELDS, ["key"], options)).name("newest")
    return env.execute_async("into PostgreSQL")


def assert_exact(database: Database, count: int) -> None:
    each = {key: count // KEYS + (key < count % KEYS) for key in range(KEYS)}
    found = Counter(database.execute("SELECT key, number FROM counted"))
    assert found == Counter(
        (key, number) for key, last in each.items() for number in range(1, last + 1)
    )
    assert dict(database.execute("SELECT key, number FROM newest")) == each


def test_every_row_is_there_once_though_a_worker_and_the_database_are_killed(
    make_env: MakeEnv, postgres: PostgresServer, database: Database, tmp_path: Path
) -> None:
    count = 12_000
    client = counting(make_env, database, tmp_path, count, rate=2_000)
    wait_until(lambda: database.execute("SELECT 1 FROM counted LIMIT 1"), what="the first commit")

    Chaos(client).kill_after_checkpoint()
    postgres.restart()
    client.get_job_execution_result().result(90)

    assert_exact(database, count)
    assert len(client.get_failures()) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_every_row_is_there_once_after_any_number_of_kills(
    make_env: MakeEnv, postgres: PostgresServer, database: Database, tmp_path: Path, seed: int
) -> None:
    count = 60_000
    client = counting(make_env, database, tmp_path, count, rate=1_000)
    chance, pause = random.Random(seed), threading.Event()
    chaos = Chaos(client, seed)

    for _ in range(10):
        if chance.random() < 0.5:
            chaos.kill_within(1.0)
        else:
            postgres.kill()
            # Long enough for tries to be given up now and then.
            pause.wait(chance.uniform(0.0, 6.0))
            postgres.start()
        pause.wait(chance.uniform(0.0, 2.0))
    client.get_job_execution_result().result(240)

    assert_exact(database, count)
