"""What workers print reaches the console and holds nobody up."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import MakeEnv, run_script

pytestmark = pytest.mark.spark


def chatty(value: Any) -> Any:
    print("out " * 50, value)  # noqa: T201
    print("err " * 50, value, file=sys.stderr)  # noqa: T201
    os.write(1, b"x" * 10_000)
    os.write(2, b"y" * 10_000)
    return value


def test_functions_that_print_much_do_not_hold_the_job_up(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    with env.from_sequence(1, 400).key_by(lambda x: x).map(chatty).execute_and_collect() as results:
        assert sorted(results) == list(range(1, 401))


_SCRIPT = """
from riverrun.datastream.environment import StreamExecutionEnvironment

def say(value):
    print(f"said by a worker {value}")
    return value

env = StreamExecutionEnvironment.get_execution_environment({"riverrun.master": "local[2]"})
env.set_parallelism(1)
env.from_collection([1, 2]).rebalance().map(say).print()
env.execute("prints")
"""


def test_a_script_that_never_closes_its_environment_prints_what_its_workers_do_and_leaves_nothing(
    tmp_path: Path, nothing_left: None
) -> None:
    done = run_script(tmp_path, _SCRIPT)

    assert done.stdout == "1\n2\n"
    assert sorted(done.stderr.splitlines()) == ["said by a worker 1", "said by a worker 2"]
