"""map and flat_map over two connected streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from riverrun.graph.specs import CoFlatMapSpec, CoMapSpec
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.co_function import CoFunctionOperator
from riverrun.runtime.operators.function_operators import flat_map_run


class CoMapOperator(CoFunctionOperator):
    """One record in from either input, one out, or none where the function gives None."""

    def __init__(self, spec: CoMapSpec) -> None:
        super().__init__(spec.fn)
        self._map1: Callable[[Any], Any] = spec.fn.map1
        self._map2: Callable[[Any], Any] = spec.fn.map2

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        _map(self._map1, self._of_first(values), timestamps, emit)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        _map(self._map2, self._of_second(values), timestamps, emit)


class CoFlatMapOperator(CoFunctionOperator):
    """One record in from either input, any number out."""

    def __init__(self, spec: CoFlatMapSpec) -> None:
        super().__init__(spec.fn)
        self._flat_map1: Callable[[Any], Any] = spec.fn.flat_map1
        self._flat_map2: Callable[[Any], Any] = spec.fn.flat_map2

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        flat_map_run(self._flat_map1, self._of_first(values), timestamps, emit)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        flat_map_run(self._flat_map2, self._of_second(values), timestamps, emit)


def _map(
    fn: Callable[[Any], Any], each: Iterable[Any], timestamps: list[int] | None, emit: Emit
) -> None:
    if timestamps is None:
        out = [made for value in each if (made := fn(value)) is not None]
        if out:
            emit(out, None)
        return
    out, times = [], []
    for value, time in zip(each, timestamps, strict=True):
        made = fn(value)
        if made is not None:
            out.append(made)
            times.append(time)
    if out:
        emit(out, times)
