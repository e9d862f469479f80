"""What a window holds: one accumulator, its records, or its records with their times for an evictor.

All of it is in the state of the backend's current key and namespace; nothing is kept here. ``None`` as
a record is kept as a mark, because a list state holds anything but ``None``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from operator import is_
from typing import Any, Final, TypeAlias, cast

from riverrun.api.evictor import Evictor, TimestampedValue
from riverrun.api.functions import AggregateFunction
from riverrun.api.resolve import reduce_callable
from riverrun.api.state import ListState, ListStateDescriptor, ValueState, ValueStateDescriptor
from riverrun.api.window_assigners import (
    CountTumblingWindowAssigner,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.windows import Window
from riverrun.graph.specs import WindowSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.operators.window_namespaces import Namespace
from riverrun.state.backend import KeyedStateBackend
from riverrun.state.immutable import copy_of

STATE: Final = "_window.contents"
"""Name of the state that holds them."""

_NONE: Final = type(None)

Fold: TypeAlias = Callable[[Sequence[Any]], Any]
"""Gives the result of an aggregation over some records; ``None``: they give none."""


_ONE_WINDOW: Final = (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    GlobalWindows,
    CountTumblingWindowAssigner,
)
"""Assigners that put a record into one window only."""


class Mark(Enum):
    """Stands for what a list state cannot hold."""

    NONE = "None"


class Contents(ABC):
    """The contents of the window whose namespace is current."""

    @abstractmethod
    def add(self, value: Any, timestamp: int) -> None:
        """Take in a record; ``MIN_TIMESTAMP`` means that it has no time."""

    @abstractmethod
    def add_all(self, values: Sequence[Any], timestamps: Sequence[int]) -> None:
        """Take in several."""

    @abstractmethod
    def read(self, window: Window, *, last: bool) -> Sequence[Any] | None:
        """What the window's function is to be given; ``None``: it is not to be called.

        ``last`` says that the contents are dropped right after; else nothing that comes out may change
        when further records come in.
        """

    def was_read(self, window: Window) -> None:  # noqa: B027  (an optional hook)
        """The function is done with what ``read`` gave."""

    @abstractmethod
    def clear(self) -> None:
        """Drop everything."""

    @abstractmethod
    def merge(self, target: Namespace, sources: Sequence[Namespace]) -> None:
        """Move what is in ``sources`` to ``target``; the current namespace is another one afterwards."""


class ReducedContents(Contents):
    """One value, into which records are folded; it is the result, too."""

    def __init__(
        self, backend: KeyedStateBackend, reduce: Callable[[Any, Any], Any], *, shared: bool
    ) -> None:
        self._backend = backend
        self._state = _value_state(backend)
        self._reduce = reduce
        # A reduce function may change its first argument, which begins as a record.
        self._first = copy_of if shared else _itself

    def add(self, value: Any, timestamp: int) -> None:
        del timestamp
        state = self._state
        before = state.value()
        state.update(self._first(value) if before is None else self._reduce(before, value))

    def add_all(self, values: Sequence[Any], timestamps: Sequence[int]) -> None:
        del timestamps
        state, reduce = self._state, self._reduce
        before = state.value()
        for value in values:
            before = self._first(value) if before is None else reduce(before, value)
        state.update(before)

    def read(self, window: Window, *, last: bool) -> Sequence[Any] | None:
        del window
        found = self._state.value()
        if found is None:
            return None
        return (found if last else copy_of(found),)

    def clear(self) -> None:
        self._state.clear()

    def merge(self, target: Namespace, sources: Sequence[Namespace]) -> None:
        _merge_values(self._backend, self._state, self._reduce, target, sources)


class AggregatedContents(Contents):
    """One accumulator, into which records are folded."""

    def __init__(self, backend: KeyedStateBackend, function: AggregateFunction) -> None:
        self._backend = backend
        self._state = _value_state(backend)
        self._function = function

    def add(self, value: Any, timestamp: int) -> None:
        del timestamp
        state, function = self._state, self._function
        before = state.value()
        if before is None:
            before = function.create_accumulator()
        state.update(function.add(value, before))

    def add_all(self, values: Sequence[Any], timestamps: Sequence[int]) -> None:
        del timestamps
        state, add = self._state, self._function.add
        accumulator = state.value()
        for value in values:
            if accumulator is None:
                accumulator = self._function.create_accumulator()
            accumulator = add(value, accumulator)
        state.update(accumulator)

    def read(self, window: Window, *, last: bool) -> Sequence[Any] | None:
        del window
        found = self._state.value()
        if found is None:
            return None
        result = self._function.get_result(found)
        if result is None:
            return None
        return (result if last else copy_of(result),)

    def clear(self) -> None:
        self._state.clear()

    def merge(self, target: Namespace, sources: Sequence[Namespace]) -> None:
        _merge_values(self._backend, self._state, self._function.merge, target, sources)


class ListedContents(Contents):
    """All records, in the order in which they came."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._state = _list_state(backend)

    def add(self, value: Any, timestamp: int) -> None:
        del timestamp
        self._state.add(Mark.NONE if value is None else value)

    def add_all(self, values: Sequence[Any], timestamps: Sequence[int]) -> None:
        del timestamps
        if _NONE in map(type, values):
            values = [Mark.NONE if value is None else value for value in values]
        self._state.add_all(values)

    def read(self, window: Window, *, last: bool) -> Sequence[Any] | None:
        del window, last
        found = list(self._state.get())
        if Mark in map(type, found):
            found = [None if value is Mark.NONE else value for value in found]
        return found or None

    def clear(self) -> None:
        self._state.clear()

    def merge(self, target: Namespace, sources: Sequence[Namespace]) -> None:
        _merge_lists(self._backend, self._state, target, sources)


class EvictableContents(Contents):
    """All records with their times; what the evictor takes out is gone for good."""

    def __init__(
        self,
        backend: KeyedStateBackend,
        evictor: Evictor[Any, Any],
        context: Evictor.EvictorContext,
        fold: Fold | None,
    ) -> None:
        self._backend = backend
        self._state = _list_state(backend)
        self._evictor = evictor
        self._context = context
        self._fold = fold
        self._before: list[TimestampedValue[Any]] = []
        self._left: list[TimestampedValue[Any]] = []

    def add(self, value: Any, timestamp: int) -> None:
        self._state.add((value, None if timestamp == MIN_TIMESTAMP else timestamp))

    def add_all(self, values: Sequence[Any], timestamps: Sequence[int]) -> None:
        for value, timestamp in zip(values, timestamps, strict=True):
            self.add(value, timestamp)

    def read(self, window: Window, *, last: bool) -> Sequence[Any] | None:
        del last
        self._before = [TimestampedValue(value, time) for value, time in self._state.get()]
        if not self._before:
            return None
        left = self._left = self._before[:]
        self._evictor.evict_before(left, len(left), window, self._context)
        values = [element.value for element in left]
        if self._fold is None:
            return values
        result = self._fold(values)
        return () if result is None else (result,)

    def was_read(self, window: Window) -> None:
        before, left = self._before, self._left
        self._evictor.evict_after(left, len(left), window, self._context)
        if len(left) != len(before) or not all(map(is_, left, before)):
            self._state.update([(element.value, element.timestamp) for element in left])
        self._before = self._left = []

    def clear(self) -> None:
        self._state.clear()

    def merge(self, target: Namespace, sources: Sequence[Namespace]) -> None:
        _merge_lists(self._backend, self._state, target, sources)


def contents_for(
    spec: WindowSpec, backend: KeyedStateBackend, context: Evictor.EvictorContext
) -> Contents:
    """How windows of ``spec`` hold what they hold."""
    aggregate = spec.aggregate
    if spec.evictor is not None:
        return EvictableContents(backend, spec.evictor, context, _fold_of(spec))
    if aggregate is None:
        return ListedContents(backend)
    if isinstance(aggregate, AggregateFunction):
        return AggregatedContents(backend, aggregate)
    shared = not isinstance(spec.assigner, _ONE_WINDOW)
    return ReducedContents(backend, reduce_callable(aggregate), shared=shared)


def _fold_of(spec: WindowSpec) -> Fold | None:
    aggregate = spec.aggregate
    if aggregate is None:
        return None
    if isinstance(aggregate, AggregateFunction):
        return lambda values: _aggregated(aggregate, values)
    reduce = reduce_callable(aggregate)
    return lambda values: _reduced(reduce, values)


def _aggregated(function: AggregateFunction, values: Sequence[Any]) -> Any:
    accumulator = function.create_accumulator()
    for value in values:
        accumulator = function.add(value, accumulator)
    return function.get_result(accumulator)


def _reduced(reduce: Callable[[Any, Any], Any], values: Sequence[Any]) -> Any:
    reduced = None
    for value in values:
        reduced = value if reduced is None else reduce(reduced, value)
    return reduced


def _itself(value: Any) -> Any:
    return value


def _value_state(backend: KeyedStateBackend) -> ValueState[Any]:
    return cast("ValueState[Any]", backend.state(ValueStateDescriptor(STATE), namespaced=True))


def _list_state(backend: KeyedStateBackend) -> ListState[Any]:
    return cast("ListState[Any]", backend.state(ListStateDescriptor(STATE), namespaced=True))


def _merge_values(
    backend: KeyedStateBackend,
    state: ValueState[Any],
    merge: Callable[[Any, Any], Any],
    target: Namespace,
    sources: Sequence[Namespace],
) -> None:
    backend.namespace = target
    merged = before = state.value()
    for source in sources:
        backend.namespace = source
        found = state.value()
        if found is not None:
            state.clear()
            merged = found if merged is None else merge(merged, found)
    backend.namespace = target
    if merged is not None or before is not None:
        state.update(merged)


def _merge_lists(
    backend: KeyedStateBackend,
    state: ListState[Any],
    target: Namespace,
    sources: Sequence[Namespace],
) -> None:
    for source in sources:
        backend.namespace = source
        found = list(state.get())
        if found:
            state.clear()
            backend.namespace = target
            state.add_all(found)
