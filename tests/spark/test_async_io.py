"""Asynchronous calls on Spark: back-pressure, and calls under way when their worker is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.functions import RuntimeContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.lifecycle import JobStatus
from riverrun.core.time import Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.testing.waiting import wait_until
from tests.spark.allround.chaos import Chaos, await_checkpoint, statistics
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import MakeEnv, await_status, endless
from tests.spark.test_pressure import growth_mb, pressure_on_source

pytestmark = pytest.mark.spark

STUCK = range(20, 24)
CAPACITY = 10


class Stuck(AsyncFunction[Any, Any]):
    """In the first attempt some calls never end; a file says that each of them is under way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self._first = runtime_context.get_attempt_number() == 0

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.001 * (value[1] % 3))
        if self._first and value[1] in STUCK:
            (self._folder / f"stuck {value}").touch()
            await asyncio.get_running_loop().create_future()
        return [value]


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_each_result_is_there_once_when_a_worker_is_killed_in_the_middle_of_its_calls(
    make_env: MakeEnv, tmp_path: Path, *, ordered: bool
) -> None:
    env = make_env(1, dict(RECOVERING))
    source = SequenceSource(2, 1000, 500.0, str(tmp_path / "gate"))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").rebalance()
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    # Room for all that comes until the kill: a full operator lets no barrier pass, as in Flink.
    calls = wait(numbers, Stuck(tmp_path), Time.minutes(10), 2000).name("calls")
    calls.sink_to(FileSink(str(tmp_path / "out")))
    client = env.execute_async("calls killed")
    chaos = Chaos(client)

    wait_until(
        lambda: len(list(tmp_path.glob("stuck *"))) == 2 * len(STUCK), what="the calls under way"
    )
    await_checkpoint(client)
    chaos.kill_and_recover("calls")
    await_checkpoint(client)
    chaos.kill_and_recover("calls")
    await_checkpoint(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(90)

    expected = [(key, n) for key in range(2) for n in range(1000)]
    found = committed(tmp_path / "out")
    assert sorted(found) == expected
    assert statistics(client).counts.restored == 2
    if ordered:
        for key in range(2):
            assert [n for each, n in found if each == key] == list(range(1000))


class Silent(AsyncFunction[Any, Any]):
    """Answers nothing; a file for each call that is under way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self._calls += 1
        (self._folder / f"call {self._calls}").touch()
        await asyncio.get_running_loop().create_future()
        return [value]


def test_a_full_operator_holds_the_source_back_in_bounded_memory(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env()
    numbers = endless(env).rebalance()
    calls = AsyncDataStream.unordered_wait(
        numbers, Silent(tmp_path), Time.milliseconds(0), CAPACITY
    )
    calls.name("calls").print()
    client = env.execute_async("full")
    await_status(client)

    wait_until(
        lambda: pressure_on_source(client.get_metrics()) > 900, what="pressure", timeout_s=60
    )
    grown = growth_mb(3.0)
    client.cancel().result(30)

    await_status(client, JobStatus.CANCELED)
    assert len(list(tmp_path.glob("call *"))) == CAPACITY
    assert max(grown.values()) < 30, grown
