"""Functions over a stream and a broadcast stream, whose records every subtask keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.api.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from riverrun.api.state import MapStateDescriptor, StateDescriptor
from riverrun.api.timer_service import TimeDomain, TimerService
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import BroadcastProcessSpec, KeyedBroadcastProcessSpec
from riverrun.runtime.emit import Emit
from riverrun.runtime.operator_states import OperatorStates
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.gathered import gather
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.process import Clocks
from riverrun.runtime.operators.timer_calls import CallsTimers, TimerCalls
from riverrun.runtime.timer_services import USER_TIMERS, KeyedTimers
from riverrun.state.backend import NO_KEY, KeyedStateBackend
from riverrun.state.operator_state import OperatorBroadcastState


class DoubtfulBroadcast(ProgramError):  # noqa: N818
    """A broadcast record would be applied to keys to some of which it was applied before the restart."""

    def __init__(self, operator: str, state: str) -> None:
        super().__init__(operator, state)
        self.operator, self.state = operator, state

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: apply_to_keyed_state({self.state!r}) for a broadcast record that "
            f"was in flight when the unaligned checkpoint was taken; with another parallelism a subtask "
            f"has keys of several subtasks, only some of which had applied it; restore the checkpoint "
            f"with the parallelism that it was taken with, or rescale from a savepoint"
        )


class _BaseContext:
    """Time and broadcast state; one object per operator and side, moved from record to record."""

    def __init__(self, name: str, clocks: Clocks | KeyedTimers, states: dict[str, Any]) -> None:
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


class _WritingContext(_BaseContext, BroadcastProcessFunction.Context):
    """For records of the broadcast side: state may be changed."""


class _ReadingContext(_BaseContext, BroadcastProcessFunction.ReadOnlyContext):
    """For records of the other side: state may only be read."""


class _KeyedWritingContext(_BaseContext, KeyedBroadcastProcessFunction.Context):
    """The same where the other side has keys, whose state can be gone through."""

    def __init__(
        self, name: str, timers: KeyedTimers, states: dict[str, Any], own: OperatorStates
    ) -> None:
        super().__init__(name, timers, states)
        self._backend = own.keyed
        self._own = own

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
    ) -> None:
        if self._own.doubtful:
            raise DoubtfulBroadcast(self._name, state_descriptor.name)
        backend = self._backend
        state = backend.state(state_descriptor)
        # The function may remove the state of a key, so they are not looked for meanwhile.
        for key in list(backend.keys(state_descriptor.name)):
            backend.key = key
            function(key, state)
        backend.key = NO_KEY


class _KeyedReadingContext(_BaseContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """For records and timers of the keyed side."""

    def __init__(
        self, name: str, timers: KeyedTimers, states: dict[str, Any], backend: KeyedStateBackend
    ) -> None:
        super().__init__(name, timers, states)
        self._timers = timers
        self._backend = backend
        self.domain = TimeDomain.EVENT_TIME

    def timer_service(self) -> TimerService:
        return self._timers

    def time_domain(self) -> TimeDomain:
        return self.domain

    def get_current_key(self) -> Any:
        return self._backend.key


class BroadcastProcessOperator(FunctionOperator):
    """Records of input 0 read the broadcast state, records of input 1 change it."""

    def __init__(self, spec: BroadcastProcessSpec | KeyedBroadcastProcessSpec) -> None:
        super().__init__(spec.fn)
        self._element: Callable[[Any, Any], Any] = spec.fn.process_element
        self._broadcast_element: Callable[[Any, Any], Any] = spec.fn.process_broadcast_element
        self._descriptors = spec.descriptors

    def open(self, context: OperatorContext) -> None:
        states = _broadcast_states(context.states, self._descriptors)
        views = {name: state.read_only() for name, state in states.items()}
        self._side_output = context.side_output
        self._open_contexts(context, views, dict(states))
        super().open(context)

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._clocks.watermark = watermark

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        made = gather(self._element, values, timestamps, self._reader)
        made.emit(emit, self._side_output)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        made = gather(self._broadcast_element, values, timestamps, self._writer)
        made.emit(emit, self._side_output)

    def _open_contexts(
        self, context: OperatorContext, views: dict[str, Any], states: dict[str, Any]
    ) -> None:
        self._clocks: Clocks | KeyedTimers = Clocks(context.clock)
        self._reader: _BaseContext = _ReadingContext(context.name, self._clocks, views)
        self._writer: _BaseContext = _WritingContext(context.name, self._clocks, states)


class KeyedBroadcastProcessOperator(CallsTimers, BroadcastProcessOperator):
    """The same where records of input 0 have keys, with state and timers."""

    def __init__(self, spec: KeyedBroadcastProcessSpec) -> None:
        super().__init__(spec)
        self._on_timer: Callable[[int, Any], Any] = spec.fn.on_timer

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        made = gather(self._element, self._with_keys(values), timestamps, self._reader)
        made.emit(emit, self._side_output)

    def _open_contexts(
        self, context: OperatorContext, views: dict[str, Any], states: dict[str, Any]
    ) -> None:
        backend, name = context.states.keyed, context.name
        timers = self._clocks = KeyedTimers(context.clock, backend, USER_TIMERS)
        reader = self._reader = _KeyedReadingContext(name, timers, views, backend)
        self._writer = _KeyedWritingContext(name, timers, states, context.states)
        self._calls = TimerCalls(timers, backend, self._on_timer, reader, context.side_output)


def _broadcast_states(
    states: OperatorStates, descriptors: tuple[MapStateDescriptor, ...]
) -> dict[str, OperatorBroadcastState]:
    store = states.operator
    return {each.get_name(): store.get_broadcast_state(each) for each in descriptors}
