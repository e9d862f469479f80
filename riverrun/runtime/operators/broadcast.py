"""Functions over a stream and a broadcast stream, whose records every subtask keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from riverrun.api.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from riverrun.api.state import MapStateDescriptor
from riverrun.api.timer_service import TimerService
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import BroadcastProcessSpec, KeyedBroadcastProcessSpec
from riverrun.runtime.operator_states import OperatorStates
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import Emit, OperatorContext
from riverrun.runtime.operators.process import Clocks, Gathered
from riverrun.state.operator_state import OperatorBroadcastState


class _BaseContext:
    """Time and broadcast state; one object per operator and side, moved from record to record."""

    def __init__(self, name: str, clocks: Clocks, states: dict[str, Any]) -> None:
        self._name = name
        self._clocks = clocks
        self._states = states
        self.time: int | None = None

    def timestamp(self) -> int | None:
        return self.time

    def current_processing_time(self) -> int:
        return self._clocks.current_processing_time()

    def current_watermark(self) -> int:
        return self._clocks.current_watermark()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> Any:
        state = self._states.get(state_descriptor.get_name())
        if state is None:
            known = ", ".join(sorted(self._states)) or "none"
            raise ProgramError(
                f"operator {self._name!r}: broadcast state {state_descriptor.get_name()!r} was not "
                f"declared; the stream was broadcast with: {known}; name it in broadcast(...)"
            )
        return state


class _BroadcastContext(
    _BaseContext, BroadcastProcessFunction.Context, KeyedBroadcastProcessFunction.Context
):
    """For records of the broadcast side: state may be changed."""


class _ReadOnlyContext(
    _BaseContext,
    BroadcastProcessFunction.ReadOnlyContext,
    KeyedBroadcastProcessFunction.ReadOnlyContext,
):
    """For records of the other side: state may only be read."""

    def __init__(
        self, name: str, clocks: Clocks, states: dict[str, Any], key: Callable[[], Any]
    ) -> None:
        super().__init__(name, clocks, states)
        self._current_key = key

    def timer_service(self) -> TimerService:
        return self._clocks

    def get_current_key(self) -> Any:
        return self._current_key()


class BroadcastProcessOperator(FunctionOperator):
    """Records of input 0 read the broadcast state, records of input 1 change it."""

    def __init__(self, spec: BroadcastProcessSpec | KeyedBroadcastProcessSpec) -> None:
        super().__init__(spec.fn)
        self._element: Callable[[Any, Any], Any] = spec.fn.process_element
        self._broadcast_element: Callable[[Any, Any], Any] = spec.fn.process_broadcast_element
        self._descriptors = spec.descriptors

    def open(self, context: OperatorContext) -> None:
        states = _broadcast_states(context.states, self._descriptors)
        self._clocks = Clocks(context.clock)
        views = {name: state.read_only() for name, state in states.items()}
        self._reader = _ReadOnlyContext(context.name, self._clocks, views, self._current_key)
        self._writer = _BroadcastContext(context.name, self._clocks, dict(states))
        self._side_output = context.side_output
        super().open(context)

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._clocks.watermark = watermark

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        each = values if self._backend is None else self._with_keys(values)
        self._run(each, timestamps, emit, self._reader, self._element)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._run(values, timestamps, emit, self._writer, self._broadcast_element)

    def _run(
        self,
        values: Iterable[Any],
        timestamps: list[int] | None,
        emit: Emit,
        context: _BaseContext,
        call: Callable[[Any, Any], Any],
    ) -> None:
        gathered = Gathered(timed=timestamps is not None)
        for index, value in enumerate(values):
            context.time = None if timestamps is None else timestamps[index]
            made = call(value, context)
            if made is not None:
                gathered.add(made, context.time)
        gathered.emit(emit, self._side_output)

    def _current_key(self) -> Any:
        return None if self._backend is None else self._backend.key


def _broadcast_states(
    states: OperatorStates, descriptors: tuple[MapStateDescriptor, ...]
) -> dict[str, OperatorBroadcastState]:
    store = states.operator
    return {each.get_name(): store.get_broadcast_state(each) for each in descriptors}
