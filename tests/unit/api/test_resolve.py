"""From what a user passes to what is called per record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ReduceFunction,
)
from riverrun.api.resolve import (
    filter_callable,
    flat_map_callable,
    key_callable,
    lifecycle,
    map_callable,
    partition_callable,
    reduce_callable,
)


class Every(MapFunction, FlatMapFunction, FilterFunction, ReduceFunction, KeySelector, Partitioner):
    def map(self, value: Any) -> Any:
        return ("map", value)

    def flat_map(self, value: Any) -> Any:
        return ("flat_map", value)

    def filter(self, value: Any) -> bool:
        return bool(value)

    def reduce(self, value1: Any, value2: Any) -> Any:
        return ("reduce", value1, value2)

    def get_key(self, value: Any) -> Any:
        return ("key", value)

    def partition(self, key: Any, num_partitions: int) -> int:
        return int(key) % num_partitions


RESOLVERS: list[Callable[[Any], Callable[..., Any]]] = [
    map_callable,
    flat_map_callable,
    filter_callable,
    reduce_callable,
    key_callable,
    partition_callable,
]


def test_a_function_object_gives_its_own_method() -> None:
    every = Every()

    assert map_callable(every)(1) == ("map", 1)
    assert flat_map_callable(every)(1) == ("flat_map", 1)
    assert filter_callable(every)(0) is False
    assert reduce_callable(every)(1, 2) == ("reduce", 1, 2)
    assert key_callable(every)(1) == ("key", 1)
    assert partition_callable(every)(7, 4) == 3


@pytest.mark.parametrize("resolve", RESOLVERS)
def test_a_callable_gives_itself(resolve: Callable[[Any], Any]) -> None:
    def plain(*_: Any) -> None: ...

    assert resolve(plain) is plain
    assert resolve(str) is str


@pytest.mark.parametrize("resolve", RESOLVERS)
def test_what_cannot_be_called_is_refused_when_the_program_is_built(
    resolve: Callable[[Any], Any],
) -> None:
    with pytest.raises(TypeError, match="object or a callable, got 3 of type int"):
        resolve(3)


def test_a_function_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="expected a MapFunction object or a callable, got a NullB"):
        map_callable(NullByteKeySelector())  # type: ignore[arg-type]


def test_a_class_is_not_its_instance() -> None:
    with pytest.raises(TypeError, match=r"pass an instance of it: Every\(\.\.\.\)"):
        map_callable(Every)  # type: ignore[arg-type]


def test_the_life_of_a_bound_method_is_that_of_its_object() -> None:
    every = Every()

    assert lifecycle(every) is every
    assert lifecycle(every.get_key) is every
    assert lifecycle(str) is None
    assert lifecycle("text".upper) is None
    assert isinstance(every, Function)
