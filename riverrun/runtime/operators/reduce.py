"""A rolling reduce per key, and the one that gives final results only."""

from __future__ import annotations

from typing import Any, cast

from riverrun.api.resolve import reduce_callable
from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.graph.specs import ReduceSpec
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.run_keys import run_keys


class ReduceOperator(FunctionOperator):
    """Keeps one value per key in keyed state; each record in gives the updated value out."""

    def __init__(self, spec: ReduceSpec) -> None:
        super().__init__(spec.fn)
        self._reduce = reduce_callable(spec.fn)

    def open(self, context: OperatorContext) -> None:
        assert context.key_selector is not None  # noqa: S101  (reduce exists on keyed streams only)
        super().open(context)
        self._keys_of = run_keys(context.key_selector)
        self._backend = context.states.keyed
        described = ValueStateDescriptor("_reduced", context.value_type)
        self._state = cast("ValueState[Any]", self._backend.state(described))

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        backend = self._backend
        assert backend is not None and self._keys_of is not None  # noqa: S101, PT018  (set by open)
        out = backend.fold(self._state, self._keys_of(values), values, self._reduce)
        backend.records_passed(len(values))
        emit(out, timestamps)


class FinalReduceOperator(FunctionOperator):
    """BATCH execution: nothing leaves before the end of input, then each key's last value does.

    Batch jobs start over after a failure, so the values are no part of any checkpoint.
    """

    def __init__(self, spec: ReduceSpec) -> None:
        super().__init__(spec.fn)
        self._reduce = reduce_callable(spec.fn)
        self._values: dict[Any, Any] = {}
        self._times: dict[Any, int] = {}

    def open(self, context: OperatorContext) -> None:
        assert context.key_selector is not None  # noqa: S101  (reduce exists on keyed streams only)
        super().open(context)
        self._keys_of = run_keys(context.key_selector)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        del emit
        reduce, state, times = self._reduce, self._values, self._times
        assert self._keys_of is not None  # noqa: S101  (set by open)
        for index, (key, value) in enumerate(zip(self._keys_of(values), values, strict=True)):
            try:  # costs nothing unless the key is new; asking first costs a call per record
                before = state[key]
            except KeyError:
                state[key] = value
            else:
                state[key] = reduce(before, value)
            if timestamps is not None:
                times[key] = max(timestamps[index], times.get(key, timestamps[index]))

    def finish(self, emit: Emit) -> None:
        if self._values:
            times = [self._times[key] for key in self._values] if self._times else None
            emit(list(self._values.values()), times)
