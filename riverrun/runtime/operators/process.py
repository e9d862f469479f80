"""Process functions without keys: side outputs and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from riverrun.api.output_tag import OutputTag
from riverrun.api.process_functions import ProcessFunction
from riverrun.api.timer_service import TimerService
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import ProcessSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.function_operators import FunctionOperator
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
        context, process = self._context, self._process
        gathered = Gathered(timed=timestamps is not None)
        add = gathered.add
        each = values if self._backend is None else self._with_keys(values)
        if timestamps is None:
            for value in each:
                made = process(value, context)
                if made is not None:
                    add(made, None)
        else:
            for value, time in zip(each, timestamps, strict=True):
                context.time = time
                made = process(value, context)
                if made is not None:
                    add(made, time)
            context.time = None
        gathered.emit(emit, self._side_output)


Output: TypeAlias = tuple[list[Any], list[int]]
"""Values and their timestamps."""


class Gathered:
    """What process functions yield over a run, main output and side outputs apart."""

    __slots__ = ("_side", "_timed", "main")

    def __init__(self, *, timed: bool) -> None:
        self._timed = timed
        self.main: Output = ([], [])
        self._side: dict[str, Output] = {}

    def add(self, made: Any, time: int | None) -> None:
        """Take all that a call made."""
        values, times = self.main
        for item in made:
            if type(item) is tuple and is_tagged(item):
                self.add_side(item, time)
                continue
            values.append(item)
            if time is not None:
                times.append(time)

    def add_side(self, item: tuple[OutputTag, Any], time: int | None) -> None:
        """Take a pair of a tag and a value."""
        values, times = self._side.setdefault(item[0].tag_id, ([], []))
        values.append(item[1])
        if time is not None:
            times.append(time)

    def emit(self, main: Emit, side_output: Callable[[str], Emit]) -> None:
        """Send everything on."""
        for tag, (values, times) in self._side.items():
            side_output(tag)(values, times if self._timed else None)
        values, times = self.main
        if values:
            main(values, times if self._timed else None)


def is_tagged(item: tuple[Any, ...]) -> bool:
    """Whether a function that yields ``item`` means a side output."""
    return len(item) == 2 and isinstance(item[0], OutputTag)  # noqa: PLR2004
