"""Files to a Delta table through keyed state, with workers killed at random, a rescale, and a dead driver."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from riverrun.api.functions import MapFunction, RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.connectors.lake.delta import DeltaSink
from riverrun.core.time import Duration
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.waiting import wait_until
from tests.spark.allround.chaos import Chaos, await_checkpoint, await_running
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
LINES = 400
COUNTED = Types.ROW_NAMED(["id", "shop", "nth"], [Types.LONG(), Types.STRING(), Types.LONG()])


class Nth(MapFunction):
    """Says of an order the how-manieth of its shop it is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def map(self, value: Any) -> Row:
        nth = (self._seen.value() or 0) + 1
        self._seen.update(nth)
        return Row(id=value["id"], shop=value["shop"], nth=nth)


def shop_of(number: int) -> str:
    return f"shop {number % 7}"


def appear(folder: Path, names: range) -> None:
    """Files of orders, each there with all its lines at once."""
    for name in names:
        ids = range(name * LINES, (name + 1) * LINES)
        lines = [json.dumps({"id": number, "shop": shop_of(number)}) + "\n" for number in ids]
        hidden = folder / f".{name}"
        hidden.write_text("".join(lines))
        hidden.rename(folder / f"{name}.jsonl")


def build(env: StreamExecutionEnvironment, folder: Path, table: Path) -> None:
    """The job: orders of files, numbered by shop, to a table."""
    source = (
        FileSource.for_record_stream_format(StreamFormat.json_lines_format(), folder)
        .monitor_continuously(Duration.of_millis(50))
        .build()
    )
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
        .uid("orders")
        .key_by(lambda order: order["shop"], Types.STRING())
        .map(Nth(), COUNTED)
        .uid("nth")
        .sink_to(DeltaSink(str(table), COUNTED, partition_by=["shop"]))
        .uid("table")
    )


def check(table: Path, files: int) -> None:
    """Every order is there once, and the orders of each shop were counted without a gap."""
    rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    found = sorted((row["id"], row["shop"]) for row in rows)
    assert found == [(number, shop_of(number)) for number in range(files * LINES)]
    by_shop = defaultdict(list)
    for row in rows:
        by_shop[row["shop"]].append(row["nth"])
    for counted in by_shop.values():
        assert sorted(counted) == list(range(1, len(counted) + 1))


def rows_in(table: Path) -> int:
    return int(DeltaTable(str(table)).to_pyarrow_table().num_rows) if table.exists() else 0


def test_the_table_is_exact_though_workers_are_killed_at_random(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    folder, table = tmp_path / "in", tmp_path / "table"
    folder.mkdir()
    env = make_env(2, dict(RECOVERING))
    build(env, folder, table)
    client = env.execute_async("orders to a table")
    chaos = Chaos(client, seed=7)
    files = 0
    for round_ in range(8):
        appear(folder, range(files, files + 3))
        files += 3
        chaos.kill_after_checkpoint()
        await_running(client)
        if round_ == 4:
            await_checkpoint(client)
            client.rescale(3)
    await_checkpoint(client)
    wait_until(
        lambda: rows_in(table) >= files * LINES, what="every order in the table", timeout_s=60
    )
    await_checkpoint(client, 2)
    client.cancel().result()

    assert chaos.kills == 8
    check(table, files)


_PROGRAM = """
import sys
from pathlib import Path
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.spark.test_lake_kills import build

here = Path(sys.argv[1])
config = dict(each.split("=", 1) for each in sys.argv[2:])
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(2)
build(env, here / "in", here / "table")
env.execute("orders to a table")
"""


def test_the_table_is_exact_though_the_driver_is_killed(tmp_path: Path, nothing_left: None) -> None:
    folder, table = tmp_path / "in", tmp_path / "table"
    folder.mkdir()
    config = {
        **RECOVERING,
        "riverrun.master": "local[2]",
        "riverrun.job-id": "f" * 32,
        "riverrun.resume": "true",
        "execution.checkpointing.dir": str(tmp_path / "store"),
    }
    settings = [f"{key}={value}" for key, value in config.items()]
    for number in range(3):
        appear(folder, range(number * 5, number * 5 + 5))
        with subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(tmp_path), *settings],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as driver:
            # Killed while it commits what has come so far, but for the last one, which commits all.
            goal = (number * 5 + (5 if number == 2 else 1)) * LINES

            def arrived(enough: int = goal, driver: Any = driver) -> bool:
                assert driver.poll() is None, driver.stderr.read()
                return rows_in(table) >= enough

            wait_until(arrived, what=f"{goal} orders in the table", timeout_s=120)
            driver.kill()
    check(table, 15)
