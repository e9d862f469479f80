"""A Spark DataFrame becomes the state of a job: by Arrow batches, and the job on Spark goes on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ListStateDescriptor, ValueStateDescriptor
from riverrun.serde.types import Types
from riverrun.state_processor.bootstrap import bootstrap
from riverrun.state_processor.bootstrap_functions import KeyedStateBootstrapFunction
from riverrun.state_processor.writer import SavepointWriter
from tests.spark.conftest import MakeEnv
from tests.unit.state_processor.writing_checks import contents

pytestmark = pytest.mark.spark

KEYS = 500
TOTAL = ValueStateDescriptor("total", Types.LONG())
DAYS = ListStateDescriptor("days", Types.TUPLE([Types.INT(), Types.STRING()]))


class Add(MapFunction):
    """Adds to what was there before."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._total = runtime_context.get_state(TOTAL)
        self._days = runtime_context.get_list_state(DAYS)

    def map(self, value: Any) -> Any:
        self._total.update((self._total.value() or 0) + 1)
        return value, self._total.value(), len(list(self._days.get()))


class Longest(KeyedStateBootstrapFunction):
    """Keeps the longest name of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._name = runtime_context.get_state(ValueStateDescriptor("name"))

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        del ctx
        self._name.update(max(value.name, self._name.value() or "", key=len))


def test_a_data_frame_becomes_the_state_of_a_job(
    make_env: MakeEnv, warm_session: Any, tmp_path: Path
) -> None:
    rows = warm_session.range(KEYS * 3).selectExpr(
        f"concat('key-', id % {KEYS}) as key", "id as n", "cast(id as int) as day"
    )
    history = rows.selectExpr("key", "n", "struct(day, key as name) as day").coalesce(2)
    totals = history.groupBy("key").sum("n").withColumnRenamed("sum(n)", "total").coalesce(1)
    named = bootstrap(rows.selectExpr("key", "concat(key, '!') as name").limit(20).coalesce(1))
    writer = SavepointWriter.new_savepoint()
    writer.with_keyed_state("add", TOTAL, totals, value="total", key_type=Types.STRING())
    writer.with_keyed_state("add", DAYS, history, element="day", key_type=Types.STRING())
    writer.with_operator("names", named.key_by(lambda row: row.key).transform(Longest()))

    savepoint = writer.write(tmp_path / "savepoint")

    expected = {f"key-{n}": 3 * n + 3 * KEYS for n in range(KEYS)}
    assert contents(savepoint, "add", "total") == expected
    assert all(name == f"{key}!" for key, name in contents(savepoint, "names", "name").items())
    config = {
        "execution.state-recovery.path": savepoint,
        "execution.state-recovery.ignore-unclaimed-state": "true",
    }
    env = make_env(2, config)
    keyed = env.from_collection([*expected, "new"]).key_by(lambda key: key, Types.STRING())
    with keyed.map(Add()).uid("add").execute_and_collect("add") as found:
        results = set(found)
    assert results == {(key, n + 1, 3) for key, n in expected.items()} | {("new", 1, 0)}
