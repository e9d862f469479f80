"""State that belongs to a key and a window: of triggers, and of window functions.

Each scope has names of its own, so that a trigger's ``count`` and a window function's are two states.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from riverrun.api.runtime_context import KeyedStateStore
from riverrun.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    Aggregator,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from riverrun.core.errors import ProgramError
from riverrun.runtime.operators.window_namespaces import Namespace
from riverrun.state.backend import KeyedStateBackend


class NotMergeable(ProgramError):  # noqa: N818
    """State was to be merged that knows no way to."""

    def __init__(self, state: str, kind: str) -> None:
        super().__init__(state, kind)
        self.state, self.kind = state, kind

    def __str__(self) -> str:
        return (
            f"state {self.state!r} of a trigger: merge_partitioned_state was asked for {self.kind} state, "
            f"which cannot be merged; use a ReducingState, an AggregatingState or a ListState"
        )


class WindowStates:
    """States of the backend's current key and namespace, for one scope of names."""

    def __init__(self, backend: KeyedStateBackend, scope: str) -> None:
        self._backend = backend
        self._scope = scope
        self._known: dict[str, tuple[StateDescriptor, State]] = {}

    def get(self, descriptor: StateDescriptor) -> State:
        """The state that ``descriptor`` describes."""
        known = self._known.get(descriptor.name)
        if known is not None and known[0] is descriptor:
            return known[1]
        state = self._open(descriptor)
        self._known[descriptor.name] = (descriptor, state)
        return state

    def merge(
        self, descriptor: StateDescriptor, target: Namespace, sources: Sequence[Namespace]
    ) -> None:
        """Make one state in ``target`` of that and those in ``sources``, which end.

        Raises:
            NotMergeable: it is state of a kind that has no way to.
        """
        state, backend = self.get(descriptor), self._backend
        if not isinstance(state, ReducingState | ListState | AccumulatorState):
            raise NotMergeable(descriptor.name, descriptor.kind.value)
        before = backend.namespace
        for source in sources:
            backend.namespace = source
            found = state.accumulator() if isinstance(state, AccumulatorState) else state.get()
            state.clear()
            backend.namespace = target
            if found is None:
                continue
            if isinstance(state, AccumulatorState):
                state.merge(found)
            elif isinstance(state, ListState):
                state.add_all(found)
            else:
                state.add(found)
        backend.namespace = before

    def _open(self, descriptor: StateDescriptor) -> State:
        name = f"{self._scope}.{descriptor.name}"
        if isinstance(descriptor, AggregatingStateDescriptor):
            stored = ValueStateDescriptor(name, descriptor.value_type_info)
            stored.ttl_config = descriptor.ttl_config
            state = cast("ValueState[Any]", self._backend.state(stored, namespaced=True))
            return AccumulatorState(state, descriptor.get_agg_function())
        named = copy.copy(descriptor)
        named.name = name
        return self._backend.state(named, namespaced=True)


class AccumulatorState(AggregatingState[Any, Any]):
    """An aggregating state whose accumulators can be had, which it takes to merge them."""

    def __init__(self, state: ValueState[Any], function: Aggregator) -> None:
        self._state = state
        self._function = function

    def get(self) -> Any:
        found = self._state.value()
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        found = self._state.value()
        before = self._function.create_accumulator() if found is None else found
        self._state.update(self._function.add(value, before))

    def clear(self) -> None:
        self._state.clear()

    def accumulator(self) -> Any:
        """The accumulator; None when nothing was added."""
        return self._state.value()

    def merge(self, accumulator: Any) -> None:
        """Take in another accumulator."""
        found = self._state.value()
        both = accumulator if found is None else self._function.merge(found, accumulator)
        self._state.update(both)


class WindowStateStore(KeyedStateStore):
    """The state of one key and window, as window functions see it."""

    def __init__(self, states: WindowStates) -> None:
        self._states = states

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        return cast("ValueState[Any]", self._states.get(state_descriptor))

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return cast("ListState[Any]", self._states.get(state_descriptor))

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        return cast("MapState[Any, Any]", self._states.get(state_descriptor))

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        return cast("ReducingState[Any]", self._states.get(state_descriptor))

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        return cast("AggregatingState[Any, Any]", self._states.get(state_descriptor))


class NoWindowState(ProgramError):  # noqa: N818
    """A window function asked for state of a window that may become part of another one."""

    def __init__(self, operator: str, state: str) -> None:
        super().__init__(operator, state)
        self.operator, self.state = operator, state

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: per-window state {self.state!r} is not allowed with windows that "
            f"merge; use global_state(), and tell the windows apart yourself"
        )


class RefusedStateStore(KeyedStateStore):
    """What stands for the state of a window that may become part of another one."""

    def __init__(self, operator: str) -> None:
        self._operator = operator

    def _refuse(self, method: str, state_descriptor: StateDescriptor) -> NoReturn:
        del method
        raise NoWindowState(self._operator, state_descriptor.get_name())
