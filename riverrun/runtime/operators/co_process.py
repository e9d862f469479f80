"""Process functions over two connected streams, with and without keys: side outputs, time, timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.api.co_functions import CoProcessFunction, KeyedCoProcessFunction
from riverrun.api.timer_service import TimeDomain, TimerService
from riverrun.graph.specs import CoProcessSpec, KeyedCoProcessSpec
from riverrun.loops import Moment
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.co_function import CoFunctionOperator
from riverrun.runtime.operators.gathered import gather, gather_keyed
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.process import Clocks
from riverrun.runtime.operators.timer_calls import CallsTimers, TimerCalls
from riverrun.runtime.run_keys import KeysOf
from riverrun.runtime.timer_services import USER_TIMERS, KeyedTimers
from riverrun.state.backend import NO_KEY, KeyedStateBackend


class _Context(Moment, CoProcessFunction.Context, KeyedCoProcessFunction.OnTimerContext):
    """The record or timer in hand; one object per operator, moved on from one to the next."""

    __slots__ = ("_backend", "_timers", "domain")

    def __init__(self, timers: TimerService, backend: KeyedStateBackend | None) -> None:
        self._timers = timers
        self._backend = backend
        self.time = None
        self.domain = TimeDomain.EVENT_TIME

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int | None:
        return self.time

    def get_current_key(self) -> Any:
        return None if self._backend is None else self._backend.key

    def time_domain(self) -> TimeDomain:
        return self.domain


class CoProcessOperator(CoFunctionOperator):
    """Calls ``process_element1`` or ``process_element2`` and sorts what they yield into outputs."""

    def __init__(self, spec: CoProcessSpec | KeyedCoProcessSpec) -> None:
        super().__init__(spec.fn)
        self._element1: Callable[[Any, Any], Any] = spec.fn.process_element1
        self._element2: Callable[[Any, Any], Any] = spec.fn.process_element2

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._clocks = Clocks(context.clock)
        self._context = _Context(self._clocks, self._backend)
        self._side_output = context.side_output

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._call(self._element1, self._keys_of, (values, timestamps), emit)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._call(self._element2, self._second_keys_of, (values, timestamps), emit)

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._clocks.watermark = watermark

    def _call(
        self,
        element: Callable[[Any, Any], Any],
        keys_of: KeysOf | None,
        run: tuple[list[Any], list[int] | None],
        emit: Emit,
    ) -> None:
        backend = self._backend
        if backend is None or keys_of is None:
            made = gather(element, *run, self._context)
        else:
            made = gather_keyed(element, run, self._context, backend, keys_of(run[0]))
            backend.key = NO_KEY
            backend.records_passed(len(run[0]))
        made.emit(emit, self._side_output)


class KeyedCoProcessOperator(CallsTimers, CoProcessOperator):
    """The same with keys: both inputs share the state and the timers of a key."""

    def __init__(self, spec: KeyedCoProcessSpec) -> None:
        super().__init__(spec)
        self._on_timer: Callable[[int, Any], Any] = spec.fn.on_timer

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        assert self._backend is not None  # noqa: S101  (the spec is for keyed streams)
        timers = KeyedTimers(context.clock, self._backend, USER_TIMERS)
        self._context = _Context(timers, self._backend)
        self._calls = TimerCalls(
            timers, self._backend, self._on_timer, self._context, context.side_output
        )
