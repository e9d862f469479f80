"""PyFlink's adapters from its window operator's calls to the window functions that users write.

riverrun's own operator has no need of them. They are here because programs and libraries that extend
PyFlink import them; each does what its name says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from riverrun.api.function import Function
from riverrun.api.functions import ReduceFunction
from riverrun.api.resolve import Callable2
from riverrun.api.runtime_context import KeyedStateStore, RuntimeContext
from riverrun.api.window_functions import ProcessAllWindowFunction, ProcessWindowFunction

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")


class FunctionWrapper(Function):
    """A function object around a callable."""

    def __init__(self, func: Any) -> None:
        self._func = func


class ReduceFunctionWrapper(FunctionWrapper, ReduceFunction):
    """A ReduceFunction around a callable of two values."""

    def __init__(self, func: Callable2) -> None:
        super().__init__(func)

    def reduce(self, value1: Any, value2: Any) -> Any:
        """What the callable makes of the two."""
        return self._func(value1, value2)


class InternalWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """What PyFlink's window operator calls."""

    class InternalWindowContext(ABC):
        """What the operator knows of the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """How far event time has come."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of the key and window."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of the key."""

    @abstractmethod
    def process(
        self, key: KEY, window: W, context: InternalWindowContext, input_data: IN
    ) -> Iterable[OUT]:
        """What becomes of the window's contents."""

    @abstractmethod
    def clear(self, window: W, context: InternalWindowContext) -> None:
        """The window is over."""


class _Adapter(InternalWindowFunction[Any, Any, Any, Any]):
    """Opens, closes and calls the function that it wraps."""

    def __init__(self, wrapped_function: Any) -> None:
        self._wrapped = wrapped_function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the wrapped function."""
        self._wrapped.open(runtime_context)

    def close(self) -> None:
        """Close the wrapped function."""
        self._wrapped.close()

    def clear(self, window: Any, context: Any) -> None:
        """Nothing: a window function has no state of its own."""


class InternalIterableWindowFunction(_Adapter):
    """Calls a WindowFunction with all records."""

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``apply`` gives."""
        del context
        found: Iterable[Any] = self._wrapped.apply(key, window, input_data)
        return found


class InternalSingleValueWindowFunction(InternalIterableWindowFunction):
    """Calls a WindowFunction with the one result of an aggregation."""

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``apply`` gives."""
        return super().process(key, window, context, [input_data])


class InternalIterableAllWindowFunction(_Adapter):
    """Calls an AllWindowFunction with all records."""

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``apply`` gives."""
        del key, context
        found: Iterable[Any] = self._wrapped.apply(window, input_data)
        return found


class InternalSingleValueAllWindowFunction(InternalIterableAllWindowFunction):
    """Calls an AllWindowFunction with the one result of an aggregation."""

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``apply`` gives."""
        return super().process(key, window, context, [input_data])


class InternalProcessWindowContext(ProcessWindowFunction.Context[Any]):
    """The context of a ProcessWindowFunction, over that of the operator."""

    def __init__(self) -> None:
        self._window: Any = None
        self._underlying: Any = None

    def window(self) -> Any:
        return self._window

    def current_processing_time(self) -> int:
        return int(self._underlying.current_processing_time())

    def current_watermark(self) -> int:
        return int(self._underlying.current_watermark())

    def window_state(self) -> KeyedStateStore:
        store: KeyedStateStore = self._underlying.window_state()
        return store

    def global_state(self) -> KeyedStateStore:
        store: KeyedStateStore = self._underlying.global_state()
        return store

    def at(self, window: Any, underlying: Any) -> InternalProcessWindowContext:
        """The same object, moved to another window."""
        self._window, self._underlying = window, underlying
        return self


class InternalProcessAllWindowContext(
    InternalProcessWindowContext, ProcessAllWindowFunction.Context[Any]
):
    """The context of a ProcessAllWindowFunction, over that of the operator."""


class InternalIterableProcessWindowFunction(_Adapter):
    """Calls a ProcessWindowFunction with all records."""

    def __init__(self, wrapped_function: Any) -> None:
        super().__init__(wrapped_function)
        self._context = InternalProcessWindowContext()

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``process`` gives."""
        at = self._context.at(window, context)
        found: Iterable[Any] = self._wrapped.process(key, at, input_data)
        return found

    def clear(self, window: Any, context: Any) -> None:
        """Let the function clear its state of the window."""
        self._wrapped.clear(self._context.at(window, context))


class InternalSingleValueProcessWindowFunction(InternalIterableProcessWindowFunction):
    """Calls a ProcessWindowFunction with the one result of an aggregation."""

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``process`` gives."""
        return super().process(key, window, context, [input_data])


class InternalIterableProcessAllWindowFunction(_Adapter):
    """Calls a ProcessAllWindowFunction with all records."""

    def __init__(self, wrapped_function: Any) -> None:
        super().__init__(wrapped_function)
        self._context = InternalProcessAllWindowContext()

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``process`` gives."""
        del key
        found: Iterable[Any] = self._wrapped.process(self._context.at(window, context), input_data)
        return found

    def clear(self, window: Any, context: Any) -> None:
        """Let the function clear its state of the window."""
        self._wrapped.clear(self._context.at(window, context))


class InternalSingleValueProcessAllWindowFunction(InternalIterableProcessAllWindowFunction):
    """Calls a ProcessAllWindowFunction with the one result of an aggregation."""

    def process(self, key: Any, window: Any, context: Any, input_data: Any) -> Iterable[Any]:
        """What ``process`` gives."""
        return super().process(key, window, context, [input_data])
