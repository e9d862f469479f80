"""Every example runs to its end and prints what is written here, in-process and on Spark."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from riverrun.cli.main import app
from riverrun.compat.pyflink import uninstall
from riverrun.spark.java import ensure_java_home
from tests.servers.kafka import KafkaBroker
from tests.servers.postgres import OWNER, PASSWORD, Database

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_LINES = 60

WORDS = """\
be        2
is        1
not       1
or        1
question  1
that      1
the       1
to        2
"""
TOTALS = """\
customer 0: 2000 payments, 101,950.00
customer 1: 2000 payments, 102,030.00
customer 2: 2000 payments, 102,010.00
customer 3: 2000 payments, 101,990.00
customer 4: 2000 payments, 101,970.00
"""
SIDES = """\
numbers:  [18.5, 19.0, 21.5, 22.25]
rejected: ['', 'warm']
"""
PLACES = """\
rebalance  [30, 30, 30]
broadcast  [90, 90, 90]
global     [90, 0, 0]
custom     [30, 30, 30]
key_by     [27, 45, 18]
"""
SURVIVED = """\
survived: the reader is out of paper
results:  2000
customer 0: 2,565.00
customer 1: 2,570.00
customer 2: 2,575.00
customer 3: 2,580.00
"""
ABOVE = """\
books: 79 payments above the limit
food: 71 payments above the limit
travel: 26 payments above the limit
"""
ENRICHED = """\
in order: True
Chile: 167 payments
Ghana: 111 payments
Japan: 111 payments
Norway: 111 payments
"""
MINUTES = """\
minute 0: ada spent 22
minute 0: bob spent 20
too late: ('ada', 100, 30)
minute 1: bob spent 7
minute 2: ada spent 1
"""
COLUMNS = """\
 0 s  customer 0: 24990 payments, 126187500 cents, at most 10095
 0 s  customer 1: 25000 payments, 126262500 cents, at most 10098
 0 s  customer 2: 25000 payments, 126237500 cents, at most 10097
 0 s  customer 3: 25000 payments, 126212500 cents, at most 10096
10 s  customer 0: 24990 payments, 126187500 cents, at most 10095
10 s  customer 1: 25000 payments, 126262500 cents, at most 10098
10 s  customer 2: 25000 payments, 126237500 cents, at most 10097
10 s  customer 3: 25000 payments, 126212500 cents, at most 10096
"""
BOOTSTRAPPED = """\
ada: 125.00
bob: 10.00
dan: 0.75
"""
PYFLINK_WORDS = """\
(be,2)
(is,1)
(not,1)
(or,1)
(question,1)
(that,1)
(the,1)
(to,2)
"""
OWN_SESSION = """\
riverrun: [1, 9, 25, 49, 81]
spark:    5
"""

DELTA = """\
books   2000 orders, 49,750.00
food    2000 orders, 49,750.00
travel  2000 orders, 49,750.00
"""

PLAIN = {
    "word_count.py": WORDS,
    "customer_totals.py": TOTALS,
    "side_outputs.py": SIDES,
    "partitioning.py": PLACES,
    "stateful_count.py": SURVIVED,
    "rules_broadcast.py": ABOVE,
    "async_enrichment.py": ENRICHED,
    "windowed_spend.py": MINUTES,
    "columns_spend.py": COLUMNS,
    "bootstrap_state.py": BOOTSTRAPPED,
    "delta_table.py": DELTA,
}
WITH_PYFLINK = {"pyflink_word_count.py": PYFLINK_WORDS}
WITH_OWN_SESSION = {"own_spark_session.py": OWN_SESSION}
WITH_KAFKA = {"kafka_count.py"}
WITH_POSTGRES = {"postgres_orders.py"}


@pytest.fixture(params=["in-process", pytest.param("local[2]", marks=pytest.mark.spark)])
def master(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the example's jobs run; on Spark in the session that all tests share."""
    name = str(request.param)
    if name != "in-process":
        request.getfixturevalue("spark_session")
    monkeypatch.setenv("RIVERRUN_MASTER", name)
    return name


@pytest.fixture
def pyflink_names_removed() -> Iterator[None]:
    yield
    uninstall()


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_example_prints_what_it_says(
    name: str, master: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    assert capsys.readouterr().out == PLAIN[name]


@pytest.mark.usefixtures("pyflink_names_removed")
@pytest.mark.parametrize("name", WITH_PYFLINK)
def test_a_pyflink_script_runs_unchanged(name: str, master: str) -> None:
    result = CliRunner().invoke(app, ["run", "--pyflink", str(EXAMPLES / name)])

    assert result.exit_code == 0, result.output
    # In which order a batch gives its final values is nobody's promise.
    assert sorted(result.stdout.splitlines()) == WITH_PYFLINK[name].splitlines()


@pytest.mark.spark
@pytest.mark.parametrize("name", WITH_OWN_SESSION)
def test_an_example_with_a_session_of_its_own_leaves_it_usable(name: str) -> None:
    env = dict(os.environ)
    ensure_java_home(env)

    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == WITH_OWN_SESSION[name]


@pytest.mark.parametrize("name", WITH_KAFKA)
def test_an_example_counts_from_topic_to_topic(
    name: str, master: str, kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders, counts = kafka_broker.create_topic(), kafka_broker.create_topic()
    customers = ["ada", "bob", "ada", "cyd", "ada", "bob"]
    kafka_broker.produce(orders, [json.dumps({"customer": each}) for each in customers])
    servers = kafka_broker.bootstrap_servers
    monkeypatch.setattr(sys, "argv", [name, servers, orders, counts])

    runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    found = [value.decode() for value in kafka_broker.values(counts) if value is not None]
    assert sorted(found) == ["ada: 1", "ada: 2", "ada: 3", "bob: 1", "bob: 2", "cyd: 1"]


@pytest.mark.parametrize("name", WITH_POSTGRES)
def test_an_example_sums_from_table_to_table(
    name: str, master: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute("CREATE TABLE customers (id INT PRIMARY KEY, name TEXT)")
    database.execute("INSERT INTO customers VALUES (1, 'ada'), (2, 'bob')")
    database.execute("CREATE TABLE orders (id INT PRIMARY KEY, customer INT, amount NUMERIC)")
    database.execute("INSERT INTO orders SELECT n, n % 3, n / 4.0 FROM generate_series(1, 300) n")
    database.execute("CREATE TABLE spent (name TEXT PRIMARY KEY, orders INT, total NUMERIC)")
    monkeypatch.setattr(sys, "argv", [name, database.url, OWNER, PASSWORD])

    runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    wanted = (
        "SELECT c.name, count(*), sum(amount) FROM orders o JOIN customers c ON c.id = customer"
    )
    assert sorted(database.execute("SELECT * FROM spent")) == sorted(
        database.execute(f"{wanted} GROUP BY c.name")
    )


def test_every_example_is_run_by_a_test_and_fits_on_a_page() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}

    assert set(lengths) == {*PLAIN, *WITH_PYFLINK, *WITH_OWN_SESSION, *WITH_KAFKA, *WITH_POSTGRES}
    assert {name: n for name, n in lengths.items() if n >= MOST_LINES} == {}
