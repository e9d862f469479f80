"""A job in this process waits in real time for what is under way outside, and only then."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from riverrun.api.async_functions import AsyncFunction
from riverrun.core.configuration import Configuration
from riverrun.core.time import Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.environment import StreamExecutionEnvironment

_HOUR_MS = 3_600_000
_CALLED = threading.Event()
_ANSWERED = threading.Event()


class Asks(AsyncFunction[int, int]):
    """Its call ends when another thread says so."""

    async def async_invoke(self, value: int) -> list[int]:
        _CALLED.set()
        await asyncio.get_running_loop().run_in_executor(None, _ANSWERED.wait)
        return [value]


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration({"riverrun.master": "in-process"})
    )


def test_time_does_not_run_ahead_of_a_call_that_is_under_way() -> None:
    with environment() as env:
        env.set_parallelism(1).enable_checkpointing(_HOUR_MS)
        stream = AsyncDataStream.ordered_wait(env.from_collection([1, 2]), Asks(), Time.hours(1))
        with stream.execute_and_collect() as results:
            job: Any = results._job
            assert _CALLED.wait(20)
            # Time that jumps would have brought many checkpoints by the time the call is answered.
            before = job.checkpoints().counts.completed
            _ANSWERED.set()
            assert list(results) == [1, 2]

    assert before == 0
    assert job.checkpoints().counts.completed == 1


def test_a_checkpoint_can_be_asked_for_while_a_call_is_under_way() -> None:
    _CALLED.clear()
    _ANSWERED.clear()
    with environment() as env:
        env.set_parallelism(1).enable_checkpointing(_HOUR_MS)
        stream = AsyncDataStream.unordered_wait(env.from_collection([1, 2]), Asks(), Time.hours(1))
        with stream.execute_and_collect() as results:
            job: Any = results._job
            assert _CALLED.wait(20)
            assert job.trigger_checkpoint(20)
            _ANSWERED.set()
            assert sorted(results) == [1, 2]
