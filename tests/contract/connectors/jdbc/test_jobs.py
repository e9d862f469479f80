"""Whole jobs between tables: they fail, go on and are exact."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.jdbc.execution import JdbcExecutionOptions
from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.connectors.jdbc.source import JdbcSource
from riverrun.core.errors import JobFailed
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.contract.connectors.jdbc.databases import TestDatabase

FIELDS = ["id", "item", "price"]
FAILING = {
    "riverrun.master": "in-process",
    "execution.checkpointing.interval": "10 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10",
    "restart-strategy.fixed-delay.delay": "0 ms",
}


class FailsNowAndThen(MapFunction):
    """Raises at a record in each of the first attempts, later each time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()
        self._seen = 0

    def map(self, value: Any) -> Any:
        self._seen += 1
        if self._attempt < 3 and self._seen == 150 * (self._attempt + 1):
            raise ValueError(f"attempt {self._attempt}")
        return value


@pytest.fixture
def stocked(orders: TestDatabase) -> TestDatabase:
    orders.insert("orders", [(number, f"item {number}", number / 4) for number in range(2000)])
    orders.execute("CREATE TABLE copied (id INTEGER, item TEXT, price DOUBLE PRECISION)")
    return orders


def test_a_table_is_copied_exactly_by_a_job_that_fails(
    stocked: TestDatabase, tmp_path: Path
) -> None:
    config = {**FAILING, "execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        env.set_parallelism(2)
        source = (
            JdbcSource.builder()
            .set_connection_options(stocked.options)
            .set_table("orders")
            .set_result_set_fetch_size(50)
            .build()
        )
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
        sink = JdbcSink.insert("copied", FIELDS, stocked.options).exactly_once()
        rows.map(FailsNowAndThen()).sink_to(sink)
        client = env.execute_async("copy")
        client.get_job_execution_result().result(60)

        assert len(client.get_failures()) == 3
    assert Counter(stocked.rows("copied")) == Counter(stocked.rows("orders"))


def test_add_sink_takes_the_sink_as_in_pyflink(stocked: TestDatabase) -> None:
    row = Types.ROW_NAMED(FIELDS, [Types.INT(), Types.STRING(), Types.DOUBLE()])
    with StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": "in-process"}
    ) as env:
        rows = env.from_collection([(1, "pen", 2.0), (2, "ink", 9.0)], row)
        rows.add_sink(
            JdbcSink.sink(
                "INSERT INTO copied VALUES (?, ?, ?)",
                row,
                stocked.options,
                JdbcExecutionOptions.builder().with_batch_size(1).build(),
            )
        )
        env.execute("as in PyFlink")

    assert stocked.rows("copied") == [(1, "pen", 2.0), (2, "ink", 9.0)]


@pytest.mark.parametrize("where", ["source", "sink"])
def test_a_missing_table_fails_the_job_before_data_moves_and_for_good(
    orders: TestDatabase, tmp_path: Path, where: str
) -> None:
    orders.execute("INSERT INTO orders VALUES (1, 'pen', 1)")
    config = {**FAILING, "execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    names = {"source": ("nothing", "orders"), "sink": ("orders", "nothing")}[where]
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        source = (
            JdbcSource.builder().set_connection_options(orders.options).set_table(names[0]).build()
        )
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
        rows.sink_to(JdbcSink.upsert(names[1], FIELDS, ["id"], orders.options))

        with pytest.raises(JobFailed, match="has no table 'nothing'"):
            env.execute("mistaken")
