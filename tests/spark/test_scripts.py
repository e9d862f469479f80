"""Programs as users run them: a script of its own, with its modules beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.conftest import run_script

pytestmark = pytest.mark.spark

_WITH_HELPER = """
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.datastream.environment import StreamExecutionEnvironment
from helper import Price, doubled

env = StreamExecutionEnvironment.get_execution_environment({"riverrun.master": "local[2]"})
env.set_parallelism(2)
stream = env.from_collection([Price(1), Price(2), Price(3)]).rebalance().map(doubled)
with stream.execute_and_collect() as results:
    print(sorted(price.amount for price in results))

stream = env.from_source(DataGeneratorSource(Price), None, "endless")
stream.rebalance().map(doubled).add_sink(lambda price: None)
client = env.execute_async()
while client.get_job_status().result().value != "RUNNING":
    pass
"""

_HELPER = """
from dataclasses import dataclass
from deeper import factor

@dataclass
class Price:
    amount: int

def doubled(price):
    return Price(price.amount * factor())
"""


def test_modules_beside_the_script_work_and_its_end_takes_its_running_job_down(
    tmp_path: Path, nothing_left: None
) -> None:
    (tmp_path / "helper.py").write_text(_HELPER)
    (tmp_path / "deeper.py").write_text("def factor():\n    return 2\n")

    done = run_script(tmp_path, _WITH_HELPER)

    assert done.stdout == "[2, 4, 6]\n"


def test_closing_an_environment_ends_the_spark_that_it_started(
    tmp_path: Path, nothing_left: None
) -> None:
    done = run_script(
        tmp_path,
        """
        import os
        from riverrun.datastream.environment import StreamExecutionEnvironment
        from riverrun.testing.leaks import Snapshot, leaks_since
        from riverrun.testing.processes import MARK

        def environment():
            config = {"riverrun.master": "local[2]", "parallelism.default": "1"}
            return StreamExecutionEnvironment.get_execution_environment(config)

        def inverse(value):
            return 1 / value

        before = Snapshot.take(os.environ[MARK], daemons=True)
        first, second = environment(), environment()
        for env, value in ((first, 1), (second, 0), (first, 2)):
            env.from_collection([value]).rebalance().map(inverse).print()
            try:
                env.execute()
            except Exception as error:
                print(type(error).__name__)
        first.close()
        second.from_collection([4]).map(inverse).print()
        second.execute()  # closing the first environment left Spark to the second
        second.close()
        assert leaks_since(before, daemons=True) == []
        """,
    )

    assert done.stdout.splitlines() == ["1.0", "JobFailed", "0.5", "0.25"]
