"""Process functions without keys: side outputs and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.api.process_functions import ProcessFunction
from riverrun.api.timer_service import TimerService
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import ProcessSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.gathered import gather
from riverrun.runtime.operators.operator import OperatorContext


class Clocks(TimerService):
    """Both clocks of an operator without keys, and so without timers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        return self._clock.now()

    def current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise ProgramError(
            f"timer for {timestamp!r}: the stream has no keys, and a timer belongs to a key; use key_by "
            f"first, then a KeyedProcessFunction or another function with keys"
        )

    register_event_time_timer = register_processing_time_timer
    delete_processing_time_timer = register_processing_time_timer
    delete_event_time_timer = register_processing_time_timer


class _Context(ProcessFunction.Context):
    """The record in hand; one object per operator, moved from record to record."""

    __slots__ = ("_clocks", "time")

    def __init__(self, clocks: TimerService) -> None:
        self._clocks = clocks
        self.time: int | None = None

    def timer_service(self) -> TimerService:
        return self._clocks

    def timestamp(self) -> int | None:
        return self.time


class ProcessOperator(FunctionOperator):
    """Calls ``process_element`` per record and sorts what it yields into outputs."""

    def __init__(self, spec: ProcessSpec) -> None:
        super().__init__(spec.fn)
        self._process: Callable[[Any, Any], Any] = spec.fn.process_element

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._clocks = Clocks(context.clock)
        self._context = _Context(self._clocks)
        self._side_output = context.side_output

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._clocks.watermark = watermark

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        each = values if self._backend is None else self._with_keys(values)
        gather(self._process, each, timestamps, self._context).emit(emit, self._side_output)
