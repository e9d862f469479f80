"""Process functions with a current key: state, timers, side outputs and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.timer_service import TimeDomain, TimerService
from riverrun.graph.specs import KeyedProcessSpec
from riverrun.loops import Moment
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.gathered import gather_keyed
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.timer_calls import CallsTimers, TimerCalls
from riverrun.runtime.timer_services import USER_TIMERS, KeyedTimers
from riverrun.state.backend import NO_KEY, KeyedStateBackend


class _Context(Moment, KeyedProcessFunction.OnTimerContext):
    """The record or timer in hand; one object per operator, moved on from one to the next."""

    __slots__ = ("_backend", "_timers", "domain")

    def __init__(self, timers: KeyedTimers, backend: KeyedStateBackend) -> None:
        self._timers = timers
        self._backend = backend
        self.time = None
        self.domain = TimeDomain.EVENT_TIME

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int | None:
        return self.time

    def time_domain(self) -> TimeDomain:
        return self.domain

    def get_current_key(self) -> Any:
        return self._backend.key


class KeyedProcessOperator(CallsTimers, FunctionOperator):
    """Calls ``process_element`` per record, ``on_timer`` per timer, and sorts what they yield."""

    def __init__(self, spec: KeyedProcessSpec) -> None:
        super().__init__(spec.fn)
        self._process: Callable[[Any, Any], Any] = spec.fn.process_element
        self._on_timer: Callable[[int, Any], Any] = spec.fn.on_timer

    def open(self, context: OperatorContext) -> None:
        assert context.key_selector is not None  # noqa: S101  (the spec is for keyed streams)
        self._keyed = context.states.keyed
        super().open(context)
        timers = KeyedTimers(context.clock, self._keyed, USER_TIMERS)
        self._context = _Context(timers, self._keyed)
        self._side_output = context.side_output
        self._calls = TimerCalls(
            timers, self._keyed, self._on_timer, self._context, context.side_output
        )

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        keys = self._keys(values)
        run = values, timestamps
        gathered = gather_keyed(self._process, run, self._context, self._keyed, keys)
        self._keyed.key = NO_KEY
        self._keyed.records_passed(len(values))
        gathered.emit(emit, self._side_output)

    def _keys(self, values: list[Any]) -> list[Any]:
        assert self._keys_of is not None  # noqa: S101  (set by open)
        keys = self._keys_of(values)
        if self._keyed.reads_ahead:
            self._keyed.expect(keys)
        return keys
