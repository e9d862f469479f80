"""Run a job on a Spark session of your own; riverrun changes nothing in it and does not stop it.

`river spark-conf` prints the settings that such a session needs. This example needs Spark.
Run it: python examples/own_spark_session.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from riverrun import StreamExecutionEnvironment


def needed_settings() -> dict[str, str]:
    river = Path(sys.executable).with_name("river")
    command = [str(river), "spark-conf", "--format", "json"]
    settings: dict[str, str] = json.loads(subprocess.check_output(command))  # noqa: S603
    return settings


def main() -> None:
    # Workers must be this Python, which has riverrun; Spark's own choice is python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("mine")
    for key, value in needed_settings().items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()

    env = StreamExecutionEnvironment.get_execution_environment(spark=session)
    env.set_parallelism(2)
    squares = env.from_sequence(1, 10).map(lambda n: n * n).rebalance().filter(lambda n: n % 2)
    with squares.execute_and_collect("odd squares") as results:
        print("riverrun:", sorted(results))
    env.close()

    print("spark:   ", session.range(5).count())  # the session still serves Spark's own jobs
    session.stop()


if __name__ == "__main__":
    main()
