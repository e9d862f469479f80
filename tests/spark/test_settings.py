"""A user's own session: what it must be set to, what is said when it is not, and that it stays as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.leaks import Snapshot, leaks_since
from tests.spark.conftest import MARK, run_script

pytestmark = pytest.mark.spark

# Settings are per application, so each part has a Spark of its own in this program.
_PROGRAM = """
import json, os, sys, time
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.spark.driver.settings import Kind, SETTINGS

NEEDED = {s.key: s.value for s in SETTINGS if s.kind is Kind.CONTEXT}

def session(settings):
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()

def environment(spark):
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(2)
    return env

def say(part, **facts):
    print(json.dumps([part, facts]))

def refusal(part, env):
    began = time.monotonic()
    try:
        env.execute()
    except Exception as error:
        seconds = time.monotonic() - began
        say(part, kind=type(error).__name__, message=str(error), seconds=seconds)
    env.close()

spark = session({})
env = environment(spark)
env.from_collection([1]).print()
refusal("defaults", env)
say("defaults serve the user", count=spark.range(3).count())
spark.stop()

spark = session(NEEDED | {"spark.task.cpus": "1"})
env = environment(spark)
env.from_sequence(1, 3).rebalance().map(lambda x: x).rebalance().map(lambda x: x).print()
refusal("slots", env)
spark.stop()

def state():
    context = spark.sparkContext
    return {
        "sql": {row.key: row.value for row in spark.sql("SET").collect()},
        "context": dict(context.getConf().getAll()),
        "job group": context.getLocalProperty("spark.jobGroup.id"),
        "batch": context.getLocalProperty("spark.sql.execution.arrow.maxRecordsPerBatch"),
        "active": SparkSession.getActiveSession()._jsparkSession.sessionUUID(),
        "adaptive": spark.conf.get("spark.sql.adaptive.enabled"),
    }

spark = session(NEEDED | {"spark.task.cpus": "0.1"})
before = state()
env = environment(spark)
stream = (
    env.from_sequence(1, 50_000)
    .rebalance()
    .map(lambda x: (x % 10, 1))
    .key_by(lambda v: v[0])
    .reduce(lambda a, b: (a[0], a[1] + b[1]))
)
with stream.execute_and_collect() as results:
    say("served", counts=sorted(dict(results).items()))
env.from_collection([1]).map(lambda x: 1 / 0).print()
refusal("failed", env)
say("unchanged", before=before, after=state())
say("still serves the user", count=spark.range(1000).repartition(4).count())
spark.stop()
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program said, by part."""
    before = Snapshot.take(MARK, daemons=True)
    done = run_script(tmp_path_factory.mktemp("settings"), _PROGRAM)
    assert leaks_since(before, daemons=True, patience_s=15.0) == []
    return dict(json.loads(line) for line in done.stdout.splitlines())


def test_a_session_with_spark_s_defaults_is_refused_with_every_setting(
    said: dict[str, Any],
) -> None:
    refused = said["defaults"]

    assert refused["kind"] == "SettingsDoNotServe"
    for line in (
        "spark.python.udf.pipelined.enabled is not set (Spark's default: false), needed: true",
        "spark.buffer.size is not set (Spark's default: 65536), needed: at most 4096",
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs is not set (Spark's default: 50)",
        "river spark-conf",
    ):
        assert line in refused["message"]
    assert said["defaults serve the user"]["count"] == 3


def test_a_job_without_room_is_refused_with_the_figures(said: dict[str, Any]) -> None:
    refused = said["slots"]

    assert refused["kind"] == "TooFewSlots"
    for figure in ("needs 6 task slots", "has 2", "spark.task.cpus is 1", "0.330 would make room"):
        assert figure in refused["message"]
    assert refused["seconds"] < 20


def test_a_session_with_the_right_settings_serves_jobs_of_several_layers(
    said: dict[str, Any],
) -> None:
    assert said["served"]["counts"] == [[key, 5000] for key in range(10)]


def test_jobs_change_nothing_in_the_user_s_session(said: dict[str, Any]) -> None:
    assert said["failed"]["kind"] == "JobFailed"
    assert said["unchanged"]["before"] == said["unchanged"]["after"]
    assert said["unchanged"]["before"]["adaptive"] == "true"
    assert said["still serves the user"]["count"] == 1000


def test_an_environment_without_a_session_uses_the_one_that_runs(warm_session: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment({"riverrun.master": "local[2]"})

    env.from_collection([1]).add_sink(lambda v: None)
    env.execute("on the running one")
    env.close()

    assert warm_session.range(3).count() == 3
