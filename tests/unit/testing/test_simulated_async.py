"""Asynchronous calls under every fault: each result is there once, whatever was under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.async_functions import AsyncFunction
from riverrun.core.time import Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.simulate import Variety, simulate

Build = Callable[[StreamExecutionEnvironment], DataStream]


class Halves(AsyncFunction[int, tuple[int, int]]):
    """Two results for each record, after more or fewer rounds of the loop."""

    async def async_invoke(self, value: int) -> list[tuple[int, int]]:
        for _ in range(value % 5):
            await asyncio.sleep(0)
        return [(value, 0), (value, 1)]


def ordered(env: StreamExecutionEnvironment) -> DataStream:
    env.set_parallelism(1)
    return AsyncDataStream.ordered_wait(env.from_sequence(1, 24), Halves(), Time.minutes(5), 3)


def unordered(env: StreamExecutionEnvironment) -> DataStream:
    env.set_parallelism(2)
    numbers = env.from_sequence(1, 24).rebalance()
    calls = AsyncDataStream.unordered_wait(numbers, Halves(), Time.minutes(5), 4)
    return calls.key_by(lambda pair: pair[1]).map(lambda pair: pair)


@pytest.mark.parametrize("build", [ordered, unordered])
def test_results_of_calls_survive_every_fault(build: Build) -> None:
    report = simulate(build, seeds=range(50))

    assert report.attempts > 50
    assert report.checkpoints > 50
    assert all(report.faults.values()), report.faults


def test_calls_under_way_are_dealt_out_when_the_job_is_rescaled() -> None:
    def rescaled(env: StreamExecutionEnvironment) -> DataStream:
        numbers = env.from_sequence(1, 24).rebalance()
        return AsyncDataStream.unordered_wait(numbers, Halves(), Time.minutes(5), 4)

    simulate(rescaled, seeds=range(40), variety=Variety(parallelism=(1, 2, 3)))


def test_the_order_of_results_survives_faults() -> None:
    def in_order(values: list[Any]) -> None:
        assert values == [(value, half) for value in range(1, 25) for half in (0, 1)]

    simulate(ordered, seeds=range(100, 130), check=in_order)
