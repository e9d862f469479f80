"""A job that keeps a copy of a table up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.waiting import wait_until
from tests.contract.connectors.postgres_cdc.captures import capturing, options
from tests.servers.postgres import Database

CONFIG = {
    "riverrun.master": "in-process",
    "execution.checkpointing.interval": "20 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "0 ms",
}


class FailsOnce(MapFunction):
    """Raises at the sixtieth record of the first attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._left = 60 if runtime_context.get_attempt_number() == 0 else -1

    def map(self, value: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            raise ValueError("once")
        return value


def test_a_copy_of_a_table_follows_it_through_a_failure(orders: Database, tmp_path: Path) -> None:
    orders.execute("CREATE TABLE copied (id INT PRIMARY KEY, item TEXT)")
    orders.execute("INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 50) n")
    config = {**CONFIG, "execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        changes = env.from_source(
            capturing(orders).chunk_size(7).build(), WatermarkStrategy.no_watermarks(), "orders"
        )
        # A row keeps the kind of its change, so that the sink can update and delete.
        sink = JdbcSink.upsert("copied", ["id", "item"], ["id"], options(orders)).exactly_once()
        changes.map(FailsOnce()).sink_to(sink)
        client = env.execute_async("copy")
        wait_until(lambda: orders.execute("SELECT 1 FROM copied"), what="the first rows")
        for _ in range(20):
            orders.execute("UPDATE orders SET item = item || '+' WHERE id % 3 = 0")
        orders.execute("DELETE FROM orders WHERE id > 40")
        orders.execute("UPDATE orders SET id = id + 100 WHERE id < 5")
        wanted = orders.execute("SELECT id, item FROM orders ORDER BY id")

        wait_until(
            lambda: orders.execute("SELECT id, item FROM copied ORDER BY id") == wanted,
            what="the copy",
            timeout_s=60,
        )
        assert len(client.get_failures()) == 1
        client.cancel().result(30)
