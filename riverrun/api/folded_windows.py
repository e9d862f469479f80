"""Incremental functions over windows that keep their records, as an evictor needs them.

The records are folded when the window fires, and what comes of them goes to the window function.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, TypeAlias

from riverrun.api.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from riverrun.api.resolve import Callable2, lifecycle, reduce_callable
from riverrun.api.runtime_context import RuntimeContext

__all__ = ["FoldAllWindow", "FoldWindow", "Folding"]

Folding: TypeAlias = ReduceFunction | AggregateFunction | Callable2


class FoldWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    """Folds a key's records of a window, then calls ``function``, if there is one, with the result."""

    def __init__(
        self,
        folding: Folding,
        function: WindowFunction[Any, Any, Any, Any]
        | ProcessWindowFunction[Any, Any, Any, Any]
        | None,
    ) -> None:
        self.folding = folding
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        _open((self.folding, self.function), runtime_context)

    def close(self) -> None:
        _close((self.folding, self.function))

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterable[Any]:
        folded = _folded(self.folding, elements)
        match self.function:
            case None:
                return folded
            case WindowFunction():
                return self.function.apply(key, context.window(), folded)
            case ProcessWindowFunction():
                return self.function.process(key, context, folded)

    def clear(self, context: ProcessWindowFunction.Context[Any]) -> None:
        if isinstance(self.function, ProcessWindowFunction):
            self.function.clear(context)


class FoldAllWindow(ProcessAllWindowFunction[Any, Any, Any]):
    """Folds all records of a window, then calls ``function``, if there is one, with the result."""

    def __init__(
        self,
        folding: Folding,
        function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None,
    ) -> None:
        self.folding = folding
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        _open((self.folding, self.function), runtime_context)

    def close(self) -> None:
        _close((self.folding, self.function))

    def process(
        self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterable[Any]:
        folded = _folded(self.folding, elements)
        match self.function:
            case None:
                return folded
            case AllWindowFunction():
                return self.function.apply(context.window(), folded)
            case ProcessAllWindowFunction():
                return self.function.process(context, folded)

    def clear(self, context: ProcessAllWindowFunction.Context[Any]) -> None:
        if isinstance(self.function, ProcessAllWindowFunction):
            self.function.clear(context)


def _folded(folding: Folding, records: Iterable[Any]) -> list[Any]:
    """What becomes of ``records``: one value; none if there is nothing to reduce."""
    if isinstance(folding, AggregateFunction):
        accumulator = folding.create_accumulator()
        for record in records:
            accumulator = folding.add(record, accumulator)
        return [folding.get_result(accumulator)]
    kept = list(records)
    return [functools.reduce(reduce_callable(folding), kept)] if kept else []


def _open(functions: Iterable[object], runtime_context: RuntimeContext) -> None:
    for function in functions:
        living = lifecycle(function)
        if living is not None:
            living.open(runtime_context)


def _close(functions: Iterable[object]) -> None:
    for function in functions:
        living = lifecycle(function)
        if living is not None:
            living.close()
