"""PyFlink's window adapters hand the operator's calls on to the user's function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from riverrun.api.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from riverrun.compat.pyflink import window_adapters as adapters


class Apply(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [key, window, list(inputs)]


class ApplyAll(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [window, list(inputs)]


class Process(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return [key, context.window(), list(elements)]

    def clear(self, context: Any) -> None:
        self.cleared = context.window()


class ProcessAll(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return [context.window(), list(elements)]


def test_contents_are_given_as_they_are_or_as_one_value() -> None:
    several, single = (
        adapters.InternalIterableWindowFunction,
        adapters.InternalSingleValueWindowFunction,
    )

    assert several(Apply()).process("k", "w", None, [1, 2]) == ["k", "w", [1, 2]]
    assert single(Apply()).process("k", "w", None, 3) == ["k", "w", [3]]


def test_functions_over_all_records_know_no_key() -> None:
    single = adapters.InternalSingleValueAllWindowFunction(ApplyAll())
    processed = adapters.InternalSingleValueProcessAllWindowFunction(ProcessAll())

    assert single.process("k", "w", None, 3) == ["w", [3]]
    assert processed.process("k", "w", None, 3) == ["w", [3]]


def test_the_context_is_that_of_the_window() -> None:
    function = Process()
    adapter = adapters.InternalSingleValueProcessWindowFunction(function)

    assert adapter.process("k", "w", None, 3) == ["k", "w", [3]]
    adapter.clear("w", None)
    assert function.cleared == "w"


def test_a_callable_reduces() -> None:
    assert adapters.ReduceFunctionWrapper(lambda a, b: a + b).reduce(1, 2) == 3
