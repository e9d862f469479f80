"""map, flat_map and filter: one user call per record, everything else per run.

A function object on a keyed stream may use keyed state, so its current key is set before each call.
A plain callable has no way to ask for state and is called without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any

from riverrun.api.checkpointed import CheckpointedFunction, CheckpointListener
from riverrun.api.function import Function
from riverrun.api.resolve import (
    filter_callable,
    flat_map_callable,
    lifecycle,
    map_callable,
)
from riverrun.graph.specs import FilterSpec, FlatMapSpec, MapSpec
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.checkpointed import InitializationContext, SnapshotContext
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.run_keys import KeysOf, run_keys
from riverrun.state.backend import NO_KEY, KeyedStateBackend


class FunctionOperator(Operator):
    """Opens and closes the user's function object, if it is one, and tells it of checkpoints."""

    def __init__(self, fn: Any) -> None:
        self._function: Function | None = lifecycle(fn)
        self._backend: KeyedStateBackend | None = None
        self._keys_of: KeysOf | None = None

    def open(self, context: OperatorContext) -> None:
        function = self._function
        if function is None:
            return
        if context.key_selector is not None:
            self._keys_of = run_keys(context.key_selector)
            self._backend = context.states.keyed
        if isinstance(function, CheckpointedFunction):
            function.initialize_state(InitializationContext(context.states, context.runtime))
        function.open(context.runtime)

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        if isinstance(self._function, CheckpointedFunction):
            self._function.snapshot_state(SnapshotContext(checkpoint, timestamp))

    def checkpoint_completed(self, checkpoint: int) -> None:
        if isinstance(self._function, CheckpointListener):
            self._function.notify_checkpoint_complete(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        if isinstance(self._function, CheckpointListener):
            self._function.notify_checkpoint_aborted(checkpoint)

    def close(self) -> None:
        if self._function is not None:
            self._function.close()

    def _with_keys(self, values: list[Any], keys_of: KeysOf | None = None) -> Iterator[Any]:
        """The values, each with its key made current: the first input's, or what ``keys_of`` gives."""
        backend, all_keys = self._backend, keys_of or self._keys_of
        assert backend is not None and all_keys is not None  # noqa: S101, PT018  (asked by the caller)
        for value, backend.key in zip(values, all_keys(values), strict=True):
            yield value
        backend.key = NO_KEY
        backend.records_passed(len(values))


class MapOperator(FunctionOperator):
    """One record in, one out."""

    def __init__(self, spec: MapSpec) -> None:
        super().__init__(spec.fn)
        self._map = map_callable(spec.fn)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        fn = self._map
        if self._backend is None:
            emit([fn(value) for value in values], timestamps)
        else:
            emit([fn(value) for value in self._with_keys(values)], timestamps)


class FilterOperator(FunctionOperator):
    """Keeps the records for which the function is true."""

    def __init__(self, spec: FilterSpec) -> None:
        super().__init__(spec.fn)
        self._keep = filter_callable(spec.fn)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        keep = self._keep
        if timestamps is None and self._backend is None:
            kept = [value for value in values if keep(value)]
            if kept:
                emit(kept, None)
            return
        each = values if self._backend is None else self._with_keys(values)
        mask = [bool(keep(value)) for value in each]
        if any(mask):
            times = None if timestamps is None else list(compress(timestamps, mask))
            emit(list(compress(values, mask)), times)


class FlatMapOperator(FunctionOperator):
    """One record in, any number out; the function returns an iterable or None."""

    def __init__(self, spec: FlatMapSpec) -> None:
        super().__init__(spec.fn)
        self._flat_map = flat_map_callable(spec.fn)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        each = values if self._backend is None else self._with_keys(values)
        flat_map_run(self._flat_map, each, timestamps, emit)


def flat_map_run(
    fn: Callable[[Any], Any], each: Iterable[Any], timestamps: list[int] | None, emit: Emit
) -> None:
    """Send on all that ``fn`` gives for each record, with the record's time."""
    out: list[Any] = []
    times: list[int] | None = None
    if timestamps is None:
        for value in each:
            made = fn(value)
            if made is not None:
                out.extend(made)
    else:
        times = []
        for value, time in zip(each, timestamps, strict=True):
            made = fn(value)
            if made is not None:
                before = len(out)
                out.extend(made)
                times.extend([time] * (len(out) - before))
    if out:
        emit(out, times)
