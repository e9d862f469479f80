"""Functions over the records of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from riverrun.api.function import Function
from riverrun.api.runtime_context import KeyedStateStore

__all__ = [
    "AllWindowFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Works on a key's records of one window."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """What becomes of ``inputs``, the records of ``key`` in ``window``."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Works on all records of one window."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """What becomes of ``inputs``, the records in ``window``."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Works on a key's records of one window and sees time and state."""

    class Context(ABC, Generic[W2]):
        """What is known about the window at hand."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """How far event time has come."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and window; to be cleared in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key, shared by its windows."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]:
        """What becomes of ``elements``, the records of ``key`` in the window."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Delete what was put into the window's state; the window is over."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Works on all records of one window and sees state."""

    class Context(ABC, Generic[W2]):
        """What is known about the window at hand."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this window; to be cleared in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State shared by all windows."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]:
        """What becomes of ``elements``, the records in the window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Delete what was put into the window's state; the window is over."""


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Gives the records as they are."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        del key, window
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Gives the records as they are."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        del window
        yield from inputs
