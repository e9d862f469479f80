"""Asynchronous calls in whole programs: order, timeouts, retries, room, failures, and time behind them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.async_retry_strategies import AsyncRetryStrategy
from riverrun.api.functions import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.core.errors import JobFailed
from riverrun.core.time import Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.serde.types import Types
from tests.programs.conftest import MakeEnv

LONG = Time.minutes(10)


class Enrich(AsyncFunction[int, tuple[int, str]]):
    """Answers in another order than it is asked in, and as often as the record says."""

    async def async_invoke(self, value: int) -> list[tuple[int, str]]:
        for _ in range(7 - value % 7):
            await asyncio.sleep(0)
        return [(value, str(number)) for number in range(value % 3)]


class Watched(AsyncFunction[int, int]):
    """Gives how many calls were under way at most so far; the first wait until there are eight."""

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self.now = self.most = 0
        self.eight = asyncio.Event()

    async def async_invoke(self, value: int) -> list[int]:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == 8:
            self.eight.set()
        await self.eight.wait()
        for _ in range(value % 4):
            await asyncio.sleep(0)
        self.now -= 1
        return [self.most]


class Never(AsyncFunction[int, Any]):
    """Answers even numbers only."""

    async def async_invoke(self, value: int) -> list[Any]:
        if value % 2:
            await asyncio.get_running_loop().create_future()
        return [value]


class NeverMind(Never):
    """As Never, but does without."""

    def timeout(self, value: int) -> list[Any]:
        return [f"{value} is late"]


class Flaky(AsyncFunction[int, int]):
    """Fails at the first try of each record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self.tried: set[int] = set()

    async def async_invoke(self, value: int) -> list[int]:
        if value not in self.tried:
            self.tried.add(value)
            raise ConnectionError(f"try {value} again")
        return [value]


class Broken(AsyncFunction[int, int]):
    """Raises at one record, some calls deep."""

    async def async_invoke(self, value: int) -> list[int]:
        return [await self.ask(value)]

    async def ask(self, value: int) -> int:
        await asyncio.sleep(0)
        if value == 5:
            raise ValueError(f"nobody knows {value}")
        return value


def collected(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


def test_ordered_results_keep_the_order_of_their_records(make_env: MakeEnv) -> None:
    stream = AsyncDataStream.ordered_wait(make_env().from_sequence(0, 99), Enrich(), LONG, 10)

    expected = [(value, str(number)) for value in range(100) for number in range(value % 3)]
    assert collected(stream) == expected


def test_unordered_results_are_all_there_in_every_subtask(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    stream = AsyncDataStream.unordered_wait(env.from_sequence(0, 99).rebalance(), Enrich(), LONG, 7)

    expected = [(value, str(number)) for value in range(100) for number in range(value % 3)]
    assert sorted(collected(stream)) == expected


def test_never_more_calls_are_under_way_than_the_capacity(make_env: MakeEnv) -> None:
    numbers = make_env().from_sequence(1, 500).rebalance()
    stream = AsyncDataStream.unordered_wait(numbers, Watched(), LONG, 8)

    seen = collected(stream)

    assert len(seen) == 500
    assert max(seen) == 8


def test_two_asynchronous_operators_in_a_row_end_one_after_the_other(make_env: MakeEnv) -> None:
    numbers = make_env().from_sequence(0, 49)
    first = AsyncDataStream.ordered_wait(numbers, Enrich(), LONG, 3).map(lambda pair: pair[0])
    second = AsyncDataStream.ordered_wait(first, Enrich(), LONG, 2)

    counts = [value for value in range(50) for _ in range((value % 3) ** 2)]
    assert [value for value, _ in collected(second)] == counts


def test_a_timeout_is_replaced_by_what_the_function_gives(make_env: MakeEnv) -> None:
    numbers = make_env().from_sequence(0, 3)
    stream = AsyncDataStream.ordered_wait(numbers, NeverMind(), Time.milliseconds(20), 4)

    assert collected(stream) == [0, "1 is late", 2, "3 is late"]


def test_a_timeout_fails_the_job_and_names_the_record(make_env: MakeEnv) -> None:
    numbers = make_env().from_collection([2, 4, 7])
    stream = AsyncDataStream.unordered_wait(numbers, Never(), Time.milliseconds(20))

    with pytest.raises(JobFailed) as caught:
        collected(stream.name("lookup"))

    failure = caught.value.failure
    assert (failure.type_name, failure.operator, failure.record) == ("TimeoutError", "lookup", "7")


def test_calls_are_made_again_as_the_strategy_says(make_env: MakeEnv) -> None:
    numbers = make_env().from_sequence(0, 19)
    again = AsyncRetryStrategy.exponential_backoff(
        2, 1, 4, 2.0, None, lambda error: isinstance(error, ConnectionError)
    )
    stream = AsyncDataStream.ordered_wait_with_retry(numbers, Flaky(), LONG, again)

    assert collected(stream) == list(range(20))


def test_an_exception_in_a_call_names_operator_and_record_and_shows_the_users_lines(
    make_env: MakeEnv,
) -> None:
    numbers = make_env().from_sequence(0, 9)
    stream = AsyncDataStream.ordered_wait(numbers, Broken(), LONG).name("lookup")

    with pytest.raises(JobFailed) as caught:
        collected(stream)

    failure = caught.value.failure
    assert (failure.type_name, failure.operator, failure.record) == ("ValueError", "lookup", "5")
    assert "nobody knows 5" in failure.message
    text = str(failure.traceback)
    assert "return [await self.ask(value)]" in text
    assert 'raise ValueError(f"nobody knows {value}")' in text
    assert "riverrun/runtime" not in text
    assert isinstance(caught.value.__cause__, ValueError)


class Remembers(Enrich):
    """Asks for keyed state, which asynchronous functions do not have."""

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))


def test_on_a_keyed_stream_it_has_the_keys_records_but_no_state(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    keyed = env.from_sequence(0, 29).key_by(lambda value: value % 5)

    assert len(collected(AsyncDataStream.unordered_wait(keyed, Enrich(), LONG))) == 30
    with pytest.raises(JobFailed, match="asynchronous functions have none"):
        collected(AsyncDataStream.unordered_wait(keyed, Remembers(), LONG))


class Open(AsyncFunction[int, int]):
    """Waits for a call that only the end of the job ends."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.get_running_loop().create_future()
        return [value]


def test_a_job_whose_calls_never_end_can_be_cancelled(make_env: MakeEnv) -> None:
    numbers = make_env().from_sequence(0, 99)
    AsyncDataStream.ordered_wait(numbers, Open(), Time.milliseconds(0), 5).print()
    client = numbers.get_execution_environment().execute_async("open")

    client.cancel().result(30)

    assert client.get_job_status().result(30).is_terminal_state()
