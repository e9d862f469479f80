"""Spark reads the files of a savepoint as tables, with nothing of riverrun in the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import run_script
from tests.unit.state.parquet.sample_savepoint import STATES, rows, sorted_rows, write_savepoint

pytestmark = pytest.mark.spark

_PROGRAM = """
import json, os, sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC").getOrCreate()
)
folder, states = json.loads(os.environ["QUESTION"])
for state in states:
    table = spark.read.parquet(f"{folder}/state/*/{state}-*.parquet")
    if "last_used" in table.columns:
        table = table.selectExpr("* except (last_used)", "unix_millis(last_used) as last_used")
    if state == "anything":
        table = table.selectExpr("* except (value)", "hex(value) as value")
    print("TABLE" + json.dumps([state, [row.asDict(recursive=True) for row in table.collect()]]))
spark.stop()
assert "riverrun" not in sys.modules
"""


def test_spark_sees_the_same_rows(tmp_path: Path) -> None:
    folder = tmp_path / "savepoint-1"
    write_savepoint(folder)

    said = run_script(tmp_path, _PROGRAM, {"QUESTION": json.dumps([str(folder), STATES])})

    tables = [line for line in said.stdout.splitlines() if line.startswith("TABLE")]
    found = dict(json.loads(line.removeprefix("TABLE")) for line in tables)
    assert {name: sorted_rows(table) for name, table in found.items()} == {
        state: [as_spark_shows(row) for row in rows(state)] for state in STATES
    }


def as_spark_shows(row: dict[str, Any]) -> dict[str, Any]:
    """The row with pickles in hexadecimal, and no strays."""
    shown = {
        name: value.hex().upper() if isinstance(value, bytes) else value
        for name, value in row.items()
    }
    return {**shown, "pickled": None}
