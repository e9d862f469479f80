"""Process functions, with and without a key: side outputs and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from riverrun.api.output_tag import OutputTag
from riverrun.api.process_functions import KeyedProcessFunction, ProcessFunction
from riverrun.api.resolve import key_callable
from riverrun.api.timer_service import TimerService
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import KeyedProcessSpec, ProcessSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import Emit, OperatorContext


class _Clocks(TimerService):
    """Both clocks; timers need keyed state, which this version does not have."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        return self._clock.now()

    def current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise ProgramError(f"timer for {timestamp}: this version has no timers yet")

    register_event_time_timer = register_processing_time_timer
    delete_processing_time_timer = register_processing_time_timer
    delete_event_time_timer = register_processing_time_timer


class _Context(ProcessFunction.Context, KeyedProcessFunction.Context):
    """The record in hand; one object per operator, moved from record to record."""

    __slots__ = ("_clocks", "key", "time")

    def __init__(self, clocks: TimerService) -> None:
        self._clocks = clocks
        self.time: int | None = None
        self.key: Any = None

    def timer_service(self) -> TimerService:
        return self._clocks

    def timestamp(self) -> int | None:
        return self.time

    def get_current_key(self) -> Any:
        return self.key


class ProcessOperator(FunctionOperator):
    """Calls ``process_element`` per record and sorts what it yields into outputs."""

    def __init__(self, spec: ProcessSpec | KeyedProcessSpec) -> None:
        super().__init__(spec.fn)
        self._process: Callable[[Any, Any], Any] = spec.fn.process_element
        self._key: Callable[[Any], Any] | None = None

    def open(self, context: OperatorContext) -> None:
        self._clocks = _Clocks(context.clock)
        self._context = _Context(self._clocks)
        self._side_output = context.side_output
        if context.key_selector is not None:
            self._key = key_callable(context.key_selector)
        super().open(context)

    def advance(self, watermark: int) -> None:
        self._clocks.watermark = watermark

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        context, process, key = self._context, self._process, self._key
        gathered = _Gathered(timed=timestamps is not None)
        for index, value in enumerate(values):
            if key is not None:
                context.key = key(value)
            if timestamps is not None:
                context.time = timestamps[index]
            made = process(value, context)
            if made is not None:
                gathered.add(made, context.time)
        gathered.emit(emit, self._side_output)


class _Gathered:
    """What process functions yield over a run, main output and side outputs apart."""

    def __init__(self, *, timed: bool) -> None:
        self._timed = timed
        self._main: tuple[list[Any], list[int]] = ([], [])
        self._side: dict[str, tuple[list[Any], list[int]]] = {}

    def add(self, made: Iterable[Any], time: int | None) -> None:
        for item in made:
            value, output = item, self._main
            if type(item) is tuple and len(item) == 2 and isinstance(item[0], OutputTag):  # noqa: PLR2004
                value = item[1]
                output = self._side.setdefault(item[0].tag_id, ([], []))
            output[0].append(value)
            if time is not None:
                output[1].append(time)

    def emit(self, main: Emit, side_output: Callable[[str], Emit]) -> None:
        for tag, (values, times) in self._side.items():
            side_output(tag)(values, times if self._timed else None)
        values, times = self._main
        if values:
            main(values, times if self._timed else None)
