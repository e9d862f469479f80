"""A sink written as a function; it runs in the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.api.functions import SinkFunction
from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext

__all__ = ["FunctionSink"]


class FunctionSink(Sink[Any]):
    """Calls a SinkFunction, or a callable of one value, for each record."""

    def __init__(self, fn: SinkFunction | Callable[[Any], Any]) -> None:
        if isinstance(fn, Sink):
            raise TypeError(f"add_sink: got the sink {fn!r}; pass it to sink_to() instead")
        if isinstance(fn, type) and issubclass(fn, SinkFunction):
            raise TypeError(f"add_sink: got the class {fn.__name__}; pass an instance of it")
        if not isinstance(fn, SinkFunction) and not callable(fn):
            raise TypeError(f"add_sink: got {fn!r}; expected a SinkFunction or a callable")
        self.fn = fn

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        if isinstance(self.fn, SinkFunction):
            return _FunctionWriter(self.fn, context)
        return _CallableWriter(self.fn)


class _RecordContext:
    """The one context object of a writer, moved from record to record."""

    __slots__ = ("time",)

    def __init__(self) -> None:
        self.time: int | None = None

    def timestamp(self) -> int | None:
        return self.time


class _FunctionWriter(SinkWriter[Any]):
    def __init__(self, function: SinkFunction, context: SinkWriterContext) -> None:
        self._function = function
        self._context = context
        self._record = _RecordContext()

    def open(self) -> None:
        self._function.open(self._context.runtime_context())

    def write(self, value: Any, timestamp: int | None) -> None:
        self._record.time = timestamp
        self._function.invoke(value, self._record)

    def close(self) -> None:
        self._function.close()


class _CallableWriter(SinkWriter[Any]):
    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self._fn(value)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        fn = self._fn
        for value in values:
            fn(value)
