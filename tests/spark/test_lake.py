"""A Delta table at the end of a job whose workers are killed: every record once."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from riverrun.api.functions import MapFunction, RuntimeContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.lake.delta import DeltaSink
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

ORDERS = Types.ROW_NAMED(["id", "shop", "price"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
COUNT = 12_000


def order(number: int) -> Row:
    return Row(id=number, shop=f"shop {number % 5}", price=number / 4)


class DiesAt(MapFunction):
    """Takes its process with it at each of some records, once."""

    def __init__(self, folder: Path, ids: set[int]) -> None:
        self._folder, self._ids = folder, ids

    def open(self, runtime_context: RuntimeContext) -> None:
        done = {int(each.name) for each in self._folder.iterdir()}
        self._left = self._ids - done

    def map(self, value: Any) -> Any:
        if value.id in self._left:
            (self._folder / str(value.id)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value


def test_a_delta_table_has_every_record_once_whatever_is_killed(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    table, deaths = tmp_path / "orders", tmp_path / "deaths"
    deaths.mkdir()
    env = make_env(2, {**RECOVERING, "execution.checkpointing.interval": "200 ms"})
    source = DataGeneratorSource(order, COUNT, 4000.0, ORDERS)
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
        .rebalance()
        .map(DiesAt(deaths, {3000, 8001}), ORDERS)
        .sink_to(DeltaSink(str(table), ORDERS, partition_by=["shop"]))
    )
    env.execute("orders to Delta")

    found = sorted(DeltaTable(str(table)).to_pyarrow_table().to_pylist(), key=lambda row: row["id"])
    assert found == [order(number).as_dict() for number in range(COUNT)]
    assert len(list(deaths.iterdir())) == 2
    assert DeltaTable(str(table)).version() > 3
