"""AsyncDataStream: what it makes of its arguments, and what it refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from riverrun.api.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    FixedDelayRetryStrategyBuilder,
    RetryPredicate,
)
from riverrun.api.functions import MapFunction
from riverrun.core.time import Duration, Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.partitioning import Hash
from riverrun.graph.specs import AsyncWaitSpec
from riverrun.serde.types import Types


class Lookup(AsyncFunction[int, str]):
    async def async_invoke(self, value: int) -> list[str]:
        return [str(value)]


class Blocking(AsyncFunction[int, str]):
    def async_invoke(self, value: int) -> Any:
        return [str(value)]


class Yielding(AsyncFunction[int, str]):
    async def async_invoke(self, value: int) -> AsyncIterator[str]:  # type: ignore[override]
        yield str(value)


class Mapper(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(1, 9)


def node_of(env: StreamExecutionEnvironment) -> Any:
    graph = env._program.compile().stream_graph
    return next(node for node in graph.nodes if isinstance(node.spec, AsyncWaitSpec)), graph


def test_a_wait_is_an_operator_with_the_type_of_its_results(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    function = Lookup()
    stream = AsyncDataStream.ordered_wait(numbers, function, Time.seconds(2))
    stream.print()

    node, _ = node_of(env)
    assert node.name == "async wait operator"
    assert node.spec == AsyncWaitSpec(function, 2000, 100, ordered=True, retry=None)
    assert stream.get_type() == Types.STRING()


@pytest.mark.parametrize("timeout", [Duration.of_seconds(1), timedelta(seconds=1), Time.seconds(1)])
def test_every_length_of_time_will_do_and_the_strategy_travels_along(
    env: StreamExecutionEnvironment, numbers: DataStream, timeout: Any
) -> None:
    again = AsyncRetryStrategy.fixed_delay(3, 10, None, has_exception_predicate)
    AsyncDataStream.unordered_wait_with_retry(
        numbers, Lookup(), timeout, again, 5, Types.STRING()
    ).print()

    spec = node_of(env)[0].spec
    assert (spec.timeout_ms, spec.capacity, spec.ordered, spec.retry) == (1000, 5, False, again)


def test_on_a_keyed_stream_records_go_by_key_and_the_operator_has_none(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    keyed = numbers.key_by(lambda value: value % 2)
    AsyncDataStream.unordered_wait(keyed, Lookup(), Time.seconds(1)).print()

    node, graph = node_of(env)
    [edge] = graph.in_edges(node.id)
    assert isinstance(edge.partitioning, Hash)
    assert node.key_selector is None


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"data_stream": [1]}, TypeError, r"got \[1\]; expected a DataStream"),
        ({"async_function": Mapper()}, TypeError, "expected an AsyncFunction object"),
        ({"async_function": Lookup}, TypeError, "expected an AsyncFunction object"),
        ({"async_function": Blocking()}, TypeError, "declare it as 'async def'"),
        ({"async_function": Yielding()}, TypeError, "without yield"),
        ({"capacity": 0}, ValueError, "capacity is 0; expected a whole number above 0"),
        ({"capacity": 1.5}, ValueError, "capacity is 1.5"),
        ({"timeout": Time.milliseconds(-1)}, ValueError, "timeout is -1 ms"),
        ({"timeout": 5}, TypeError, "expected a Duration, a Time or a timedelta"),
        ({"async_retry_strategy": None}, TypeError, "expected an AsyncRetryStrategy"),
        ({"timeout": Time.seconds(0)}, ValueError, "give a timeout above 0"),
        ({"output_type": str}, TypeError, "expected one of Types"),
    ],
)
def test_what_cannot_run_is_refused_when_the_program_is_built(
    numbers: DataStream, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    arguments: dict[str, Any] = {
        "data_stream": numbers,
        "async_function": Lookup(),
        "timeout": Time.seconds(1),
        "async_retry_strategy": AsyncRetryStrategy.fixed_delay(1, 1, None, None),
        **changes,
    }

    with pytest.raises(error, match=words):
        AsyncDataStream.ordered_wait_with_retry(**arguments)


class Own(AsyncRetryStrategy[Any]):
    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts < 2

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return current_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate[Any]:
        return None  # type: ignore[return-value]


def test_a_strategy_without_a_predicate_is_refused(numbers: DataStream) -> None:
    with pytest.raises(TypeError, match="get_retry_predicate of Own gives None"):
        AsyncDataStream.unordered_wait_with_retry(numbers, Lookup(), Time.seconds(1), Own())


def test_the_strategies_answer_as_pyflinks_do() -> None:
    fixed = FixedDelayRetryStrategy(2, 30, empty_result_predicate, None)
    growing = AsyncRetryStrategy.exponential_backoff(4, 10, 35, 1.5, None, has_exception_predicate)

    assert [fixed.can_retry(tries) for tries in (1, 2, 3)] == [True, True, False]
    assert fixed.get_backoff_time_millis(2) == 30
    assert fixed.get_retry_predicate().result_predicate() is empty_result_predicate
    assert isinstance(growing, ExponentialBackoffDelayRetryStrategy)
    assert [growing.get_backoff_time_millis(n) for n in (1, 2, 3, 4, 5)] == [10, 15, 22, 33, 35]
    # One call's tries do not change another's pauses.
    assert growing.get_backoff_time_millis(2) == 15
    assert AsyncRetryStrategy.no_restart() is NO_RETRY_STRATEGY
    assert not NO_RETRY_STRATEGY.can_retry(1)
    assert NO_RETRY_STRATEGY.get_backoff_time_millis(1) == -1
    predicate = NO_RETRY_STRATEGY.get_retry_predicate()
    assert (predicate.result_predicate(), predicate.exception_predicate()) == (None, None)


def test_builders_make_the_same_strategies() -> None:
    built = FixedDelayRetryStrategyBuilder[Any](3, 7).if_result(empty_result_predicate).build()

    assert built.get_backoff_time_millis(1) == 7
    assert isinstance(built.get_retry_predicate(), RetryPredicate)
    assert built.get_retry_predicate().exception_predicate() is None


def test_predicates_tell_empty_results_and_kinds_of_errors() -> None:
    assert empty_result_predicate(None)
    assert has_exception_predicate(ValueError())
    assert exception_type_predicate(ConnectionResetError(), OSError)
    assert not exception_type_predicate(KeyError(), (OSError, ValueError))


@pytest.mark.parametrize(
    "arguments", [(0, 1, 1, 1.0), (1, 0, 1, 1.0), (1, 1, -1, 1.0), (1, 1, 1, 0.0), ("1", 1, 1, 1)]
)
def test_strategies_with_senseless_numbers_are_refused(arguments: Any) -> None:
    most, initial, longest, multiplier = arguments

    with pytest.raises(ValueError, match="expected a number above 0"):
        AsyncRetryStrategy.exponential_backoff(most, initial, longest, multiplier, None, None)
