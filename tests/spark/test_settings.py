"""A user's own session: what it must be set to, what is said when it is not, and that it stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.spark.conftest import run_script

pytestmark = pytest.mark.spark

_OWN_SESSION = """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.spark.driver.settings import Kind, SETTINGS

def session(**more):
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in more.items():
        builder = builder.config(key.replace("__", "."), value)
    return builder.getOrCreate()

def needed():
    return {s.key.replace(".", "__"): s.value for s in SETTINGS if s.kind is Kind.CONTEXT}

def environment(spark):
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(2)
    return env
"""


def test_a_session_with_spark_s_defaults_is_refused_with_every_setting(
    tmp_path: Path, nothing_left: None
) -> None:
    done = run_script(
        tmp_path,
        _OWN_SESSION
        + """
spark = session()
env = environment(spark)
env.from_collection([1]).print()
try:
    env.execute()
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
assert spark.range(3).count() == 3
spark.stop()
""",
    )

    kind, message = json.loads(done.stdout.splitlines()[-1])
    assert kind == "SettingsDoNotServe"
    for line in (
        "spark.python.udf.pipelined.enabled is not set (Spark's default: false), needed: true",
        "spark.buffer.size is not set (Spark's default: 65536), needed: at most 4096",
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs is not set (Spark's default: 50)",
        "river spark-conf",
    ):
        assert line in message


def test_a_job_without_room_is_refused_with_the_figures(tmp_path: Path, nothing_left: None) -> None:
    done = run_script(
        tmp_path,
        _OWN_SESSION
        + """
import time
spark = session(**needed(), spark__task__cpus="1")
env = environment(spark)
env.from_sequence(1, 3).rebalance().map(lambda x: x).rebalance().map(lambda x: x).print()
began = time.monotonic()
try:
    env.execute()
except Exception as error:
    print(json.dumps([type(error).__name__, str(error), time.monotonic() - began]))
env.close()
spark.stop()
""",
    )

    kind, message, seconds = json.loads(done.stdout.splitlines()[-1])
    assert kind == "TooFewSlots"
    assert "needs 6 task slots" in message
    assert "has 2" in message
    assert "spark.task.cpus is 1" in message
    assert "0.330" in message
    assert seconds < 20


def test_a_session_of_the_user_s_serves_and_keeps_its_own_sql_settings(
    tmp_path: Path, nothing_left: None
) -> None:
    done = run_script(
        tmp_path,
        _OWN_SESSION
        + """
spark = session(**needed(), spark__task__cpus="0.1")
def state():
    context = spark.sparkContext
    return {
        "sql": {row.key: row.value for row in spark.sql("SET").collect()},
        "context": dict(context.getConf().getAll()),
        "job group": context.getLocalProperty("spark.jobGroup.id"),
        "batch": context.getLocalProperty("spark.sql.execution.arrow.maxRecordsPerBatch"),
        "active": SparkSession.getActiveSession()._jsparkSession.sessionUUID(),
    }
before = state()
env = environment(spark)
stream = env.from_sequence(1, 100_000).rebalance().map(lambda x: x % 10).key_by(lambda x: x).sum()
with stream.execute_and_collect() as results:
    last = {}
    for value in results:
        last[value % 9] = value
    print(json.dumps(len(last)))
env.from_collection([1]).map(lambda x: 1 / 0).print()
try:
    env.execute()
except Exception as error:
    print(type(error).__name__)
env.close()
assert state() == before, (state(), before)
assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
assert spark.range(1000).repartition(4).count() == 1000
print("unchanged")
spark.stop()
""",
    )

    assert done.stdout.splitlines()[-2:] == ["JobFailed", "unchanged"]


def test_an_environment_without_a_session_uses_the_one_that_runs(warm_session: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment({"riverrun.master": "local[2]"})

    env.from_collection([1]).add_sink(lambda v: None)
    env.execute("on the running one")
    env.close()

    assert warm_session.range(3).count() == 3
