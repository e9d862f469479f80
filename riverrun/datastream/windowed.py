"""Streams cut into windows: what a program calls to say what becomes of each window.

In BATCH mode results are final: watermarks do not advance before the input has ended, so no record is
late and an event-time window fires once, with everything that belongs to it. Windows of processing
time that are open then fire as well. Count windows fire when they are full, as always.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from riverrun.api.functions import (
    AggregateFunction,
    AllWindowFunction,
    NullByteKeySelector,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from riverrun.api.resolve import Callable2, key_callable
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from riverrun.datastream.column_streams import key_columns
from riverrun.datastream.windowing import OperatorStream, Records, Windows
from riverrun.graph.transformations import Transformation
from riverrun.serde.columns import ColumnLayout
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["AllWindowedStream", "WindowedStream", "count_windows"]

S = TypeVar("S", bound=OperatorStream)
Type: TypeAlias = TypeInformation | None
KeyedFunction: TypeAlias = (
    WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any]
)
AllFunction: TypeAlias = AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any]


class WindowedStream(Windows[S]):
    """A keyed stream cut into windows, those of each key by themselves.

    What ``KeyedStream.window(assigner)`` gives. ``reduce`` and ``aggregate`` keep one value for each key
    and window, ``apply`` and ``process`` all records.
    """

    _kind = "Window"
    _keyed = True

    def __init__(self, keyed_stream: Records[S], window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(keyed_stream, window_assigner)

    def reduce(
        self,
        reduce_function: ReduceFunction | Callable2,
        window_function: KeyedFunction | None = None,
        output_type: Type = None,
    ) -> S:
        """Fold a window's records to one of the same type; ``window_function`` gets that one."""
        checked = None if window_function is None else _keyed_function("reduce", window_function)
        return self._reduce(reduce_function, checked, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: KeyedFunction | None = None,
        accumulator_type: TypeInformation | list[TypeInformation] | None = None,
        output_type: Type = None,
    ) -> S:
        """Fold a window's records into an accumulator; ``window_function`` gets its result."""
        checked = None if window_function is None else _keyed_function("aggregate", window_function)
        return self._aggregate(aggregate_function, checked, accumulator_type, output_type)

    def apply(
        self, window_function: WindowFunction[Any, Any, Any, Any], output_type: Type = None
    ) -> S:
        """Call ``window_function`` with a window's key and records each time it fires."""
        if not isinstance(window_function, WindowFunction):
            raise TypeError(f"apply: got {window_function!r}; expected a WindowFunction object")
        return self._build("apply", None, window_function, output_type)

    def process(
        self,
        process_window_function: ProcessWindowFunction[Any, Any, Any, Any],
        output_type: Type = None,
    ) -> S:
        """Call the function with a window's key, context and records each time it fires."""
        if not isinstance(process_window_function, ProcessWindowFunction):
            raise TypeError(
                f"process: got {process_window_function!r}; expected a ProcessWindowFunction object"
            )
        return self._build("process", None, process_window_function, output_type)

    def _key_columns(self, layout: ColumnLayout) -> list[tuple[str, TypeInformation]]:
        keyed: Any = self._stream
        return key_columns("aggregate_columns", keyed._key_selector, keyed._key_type, layout)  # noqa: SLF001

    def _placed(self, result: S, operator: Transformation) -> S:
        del operator
        return result


class AllWindowedStream(Windows[S]):
    """A stream cut into windows that hold all its records, whatever their keys.

    What ``DataStream.window_all_function(assigner)`` gives. One subtask does all the work.
    """

    _kind = "AllWindow"
    _keyed = False

    def __init__(self, data_stream: Records[S], window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream, window_assigner)

    def reduce(
        self,
        reduce_function: ReduceFunction | Callable2,
        window_function: AllFunction | None = None,
        output_type: Type = None,
    ) -> S:
        """Fold a window's records to one of the same type; ``window_function`` gets that one."""
        checked = None if window_function is None else _all_function("reduce", window_function)
        return self._reduce(reduce_function, checked, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AllFunction | None = None,
        accumulator_type: TypeInformation | list[TypeInformation] | None = None,
        output_type: Type = None,
    ) -> S:
        """Fold a window's records into an accumulator; ``window_function`` gets its result."""
        checked = None if window_function is None else _all_function("aggregate", window_function)
        return self._aggregate(aggregate_function, checked, accumulator_type, output_type)

    def apply(
        self, window_function: AllWindowFunction[Any, Any, Any], output_type: Type = None
    ) -> S:
        """Call ``window_function`` with a window's records each time it fires."""
        if not isinstance(window_function, AllWindowFunction):
            raise TypeError(f"apply: got {window_function!r}; expected an AllWindowFunction object")
        return self._build("apply", None, window_function, output_type)

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[Any, Any, Any],
        output_type: Type = None,
    ) -> S:
        """Call the function with a window's context and records each time it fires."""
        if not isinstance(process_window_function, ProcessAllWindowFunction):
            raise TypeError(
                f"process: got {process_window_function!r}; "
                f"expected a ProcessAllWindowFunction object"
            )
        return self._build("process", None, process_window_function, output_type)

    def _placed(self, result: S, operator: Transformation) -> S:
        operator.key_selector = key_callable(NullByteKeySelector())
        operator.key_type = Types.INT()
        operator.forced_parallelism = 1
        return result


def count_windows(size: int, slide: int) -> WindowAssigner[Any, Any]:
    """Windows of ``size`` records, one every ``slide``; one after the other if ``slide`` is 0."""
    if slide == 0:
        return CountTumblingWindowAssigner(size)
    return CountSlidingWindowAssigner(size, slide)


def _keyed_function(method: str, function: Any) -> KeyedFunction:
    if isinstance(function, WindowFunction | ProcessWindowFunction):
        return function
    raise TypeError(
        f"{method}: the window function is {function!r}; "
        f"expected a WindowFunction or a ProcessWindowFunction object"
    )


def _all_function(method: str, function: Any) -> AllFunction:
    if isinstance(function, AllWindowFunction | ProcessAllWindowFunction):
        return function
    raise TypeError(
        f"{method}: the window function is {function!r}; "
        f"expected an AllWindowFunction or a ProcessAllWindowFunction object"
    )
