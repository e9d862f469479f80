"""map, flat_map and filter: one user call per record, everything else per run."""

from __future__ import annotations

from itertools import compress
from typing import Any

from riverrun.api.function import Function
from riverrun.api.resolve import (
    filter_callable,
    flat_map_callable,
    lifecycle,
    map_callable,
)
from riverrun.graph.specs import FilterSpec, FlatMapSpec, MapSpec
from riverrun.runtime.operators.operator import Emit, Operator, OperatorContext


class FunctionOperator(Operator):
    """Opens and closes the user's function object, if it is one."""

    def __init__(self, fn: Any) -> None:
        self._function: Function | None = lifecycle(fn)

    def open(self, context: OperatorContext) -> None:
        if self._function is not None:
            self._function.open(context.runtime)

    def close(self) -> None:
        if self._function is not None:
            self._function.close()


class MapOperator(FunctionOperator):
    """One record in, one out."""

    def __init__(self, spec: MapSpec) -> None:
        super().__init__(spec.fn)
        self._map = map_callable(spec.fn)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        fn = self._map
        emit([fn(value) for value in values], timestamps)


class FilterOperator(FunctionOperator):
    """Keeps the records for which the function is true."""

    def __init__(self, spec: FilterSpec) -> None:
        super().__init__(spec.fn)
        self._keep = filter_callable(spec.fn)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        keep = self._keep
        if timestamps is None:
            kept = [value for value in values if keep(value)]
            if kept:
                emit(kept, None)
            return
        mask = [bool(keep(value)) for value in values]
        if any(mask):
            emit(list(compress(values, mask)), list(compress(timestamps, mask)))


class FlatMapOperator(FunctionOperator):
    """One record in, any number out; the function returns an iterable or None."""

    def __init__(self, spec: FlatMapSpec) -> None:
        super().__init__(spec.fn)
        self._flat_map = flat_map_callable(spec.fn)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        fn = self._flat_map
        out: list[Any] = []
        times: list[int] | None = None
        if timestamps is None:
            for value in values:
                made = fn(value)
                if made is not None:
                    out.extend(made)
        else:
            times = []
            for value, timestamp in zip(values, timestamps, strict=True):
                made = fn(value)
                if made is not None:
                    before = len(out)
                    out.extend(made)
                    times.extend([timestamp] * (len(out) - before))
        if out:
            emit(out, times)
