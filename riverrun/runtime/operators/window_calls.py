"""How each kind of window function is called, and where what it makes is gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from riverrun.api.output_tag import OutputTag
from riverrun.api.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from riverrun.api.windows import Window
from riverrun.graph.specs import WindowFunctions
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.window_contexts import FunctionContext

Call: TypeAlias = Callable[[Any, Window, Sequence[Any]], Iterable[Any] | None]
"""Called with key, window and contents; gives what comes out."""
Clear: TypeAlias = Callable[[Window], None]
"""Called when a window is over."""

_MOST: Final = 4096
"""So many results go on at once; more would only wait in memory."""


def call_of(function: WindowFunctions | None, context: FunctionContext) -> Call:
    """How to call ``function``; without one the contents come out as they are."""
    match function:
        case None:
            return _contents
        case ProcessWindowFunction():
            process = function.process

            def call(key: Any, window: Window, contents: Sequence[Any]) -> Iterable[Any] | None:
                context.current = window
                return process(key, context, contents)

            return call
        case ProcessAllWindowFunction():
            process_all = function.process

            def call_all(_: Any, window: Window, contents: Sequence[Any]) -> Iterable[Any] | None:
                context.current = window
                return process_all(context, contents)

            return call_all
        case WindowFunction():
            return function.apply
        case AllWindowFunction():
            apply = function.apply
            return lambda _, window, contents: apply(window, contents)


def clear_of(function: WindowFunctions | None, context: FunctionContext) -> Clear | None:
    """What to call when a window is over; ``None``: nothing."""
    if not isinstance(function, ProcessWindowFunction | ProcessAllWindowFunction):
        return None
    cleared = type(function).clear
    if cleared in {ProcessWindowFunction.clear, ProcessAllWindowFunction.clear}:
        return None
    clear = function.clear

    def call(window: Window) -> None:
        context.current = window
        clear(context)

    return call


def _contents(key: Any, window: Window, contents: Sequence[Any]) -> Sequence[Any]:
    del key, window
    return contents


class Results:
    """What comes out of windows, until enough of it is there to be sent on."""

    __slots__ = ("_side_output", "_sides", "_times", "_values")

    def __init__(self, side_output: Callable[[str], Emit]) -> None:
        self._side_output = side_output
        self._values: list[Any] = []
        self._times: list[int] = []
        self._sides: dict[str, tuple[list[Any], list[int]]] = {}

    def add(self, made: Iterable[Any], time: int) -> None:
        """Take what a window function made for a window that ends at ``time``."""
        values = self._values
        before = len(values)
        append = values.append
        for item in made:
            if type(item) is tuple and len(item) == 2 and isinstance(item[0], OutputTag):  # noqa: PLR2004
                self.add_side(item[0].tag_id, item[1], time)
            else:
                append(item)
        self._times += [time] * (len(values) - before)

    def add_plain(self, values: Sequence[Any], time: int) -> None:
        """Take results of several windows that end at ``time``; none of them is for a side output."""
        self._values += values
        self._times += [time] * len(values)

    def add_side(self, tag: str, value: Any, time: int) -> None:
        """Take a record of a side output."""
        values, times = self._sides.setdefault(tag, ([], []))
        values.append(value)
        times.append(time)

    @property
    def many(self) -> bool:
        """Whether it is time to send."""
        return len(self._values) >= _MOST

    def send(self, emit: Emit) -> None:
        """Send everything on."""
        if self._sides:
            sides, self._sides = self._sides, {}
            for tag, (values, times) in sides.items():
                self._side_output(tag)(values, times)
        if self._values:
            values, times = self._values, self._times
            self._values, self._times = [], []
            emit(values, times)
