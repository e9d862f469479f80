"""Process functions, with and without a key: side outputs and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from riverrun.api.output_tag import OutputTag
from riverrun.api.process_functions import KeyedProcessFunction, ProcessFunction
from riverrun.api.timer_service import TimerService
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import KeyedProcessSpec, ProcessSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import Emit, OperatorContext
from riverrun.state.backend import NO_KEY, KeyedStateBackend


class Clocks(TimerService):
    """Both clocks; timers come with event time."""

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

    __slots__ = ("_backend", "_clocks", "time")

    def __init__(self, clocks: TimerService, backend: KeyedStateBackend | None) -> None:
        self._clocks = clocks
        self._backend = backend
        self.time: int | None = None

    def timer_service(self) -> TimerService:
        return self._clocks

    def timestamp(self) -> int | None:
        return self.time

    def get_current_key(self) -> Any:
        return None if self._backend is None else self._backend.key


class ProcessOperator(FunctionOperator):
    """Calls ``process_element`` per record and sorts what it yields into outputs."""

    def __init__(self, spec: ProcessSpec | KeyedProcessSpec) -> None:
        super().__init__(spec.fn)
        self._process: Callable[[Any, Any], Any] = spec.fn.process_element

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._clocks = Clocks(context.clock)
        self._context = _Context(self._clocks, self._backend)
        self._side_output = context.side_output

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._clocks.watermark = watermark

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        gathered = Gathered(timed=timestamps is not None)
        if timestamps is not None:
            self._process_timed(values, timestamps, gathered)
        elif self._backend is not None and self._key is not None:
            self._process_keyed(values, gathered)
        else:
            context, process, add = self._context, self._process, gathered.add
            for value in values:
                made = process(value, context)
                if made is not None:
                    add(made, None)
        gathered.emit(emit, self._side_output)

    def _process_keyed(self, values: list[Any], gathered: Gathered) -> None:
        """The loop that most stateful jobs spend their time in."""
        context, process, add = self._context, self._process, gathered.add_side
        backend, key_of = self._backend, self._key
        assert backend is not None and key_of is not None  # noqa: S101, PT018  (asked by the caller)
        append = gathered.main[0].append
        for value in values:
            backend.key = key_of(value)
            made = process(value, context)
            if made is None:
                continue
            for item in made:
                if type(item) is tuple and _is_tagged(item):
                    add(item, None)
                else:
                    append(item)
        backend.key = NO_KEY
        backend.records_passed(len(values))

    def _process_timed(self, values: list[Any], timestamps: list[int], gathered: Gathered) -> None:
        context, process = self._context, self._process
        each = values if self._backend is None else self._with_keys(values)
        for value, time in zip(each, timestamps, strict=True):
            context.time = time
            made = process(value, context)
            if made is not None:
                gathered.add(made, time)
        context.time = None


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
            if type(item) is tuple and _is_tagged(item):
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


def _is_tagged(item: tuple[Any, ...]) -> bool:
    return len(item) == 2 and isinstance(item[0], OutputTag)  # noqa: PLR2004
