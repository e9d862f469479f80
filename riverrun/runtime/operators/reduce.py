"""A rolling reduce per key."""

from __future__ import annotations

from typing import Any

from riverrun.api.resolve import key_callable, reduce_callable
from riverrun.graph.specs import ReduceSpec
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import Emit, OperatorContext


class ReduceOperator(FunctionOperator):
    """Keeps one value per key; each record in gives the updated value out.

    With ``final_only`` nothing leaves before the end of input, then each key's last value does.
    """

    def __init__(self, spec: ReduceSpec) -> None:
        super().__init__(spec.fn)
        self._reduce = reduce_callable(spec.fn)
        self._final_only = spec.final_only
        self._values: dict[Any, Any] = {}
        self._times: dict[Any, int] = {}

    def open(self, context: OperatorContext) -> None:
        assert context.key_selector is not None  # noqa: S101  (reduce exists on keyed streams only)
        self._key = key_callable(context.key_selector)
        super().open(context)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        key_of, reduce, state = self._key, self._reduce, self._values
        out: list[Any] = []
        append = out.append
        for value in values:
            key = key_of(value)
            try:  # costs nothing unless the key is new; asking first costs a call per record
                before = state[key]
            except KeyError:
                after = value
            else:
                after = reduce(before, value)
            state[key] = after
            append(after)
        if not self._final_only:
            emit(out, timestamps)
        elif timestamps is not None:
            for value, timestamp in zip(values, timestamps, strict=True):
                key = key_of(value)
                self._times[key] = max(timestamp, self._times.get(key, timestamp))

    def finish(self, emit: Emit) -> None:
        if self._final_only and self._values:
            times = [self._times[key] for key in self._values] if self._times else None
            emit(list(self._values.values()), times)
