"""Windows: pieces of a stream that records are gathered by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["CountWindow", "GlobalWindow", "TimeWindow", "Window"]

_MAX_TIMESTAMP: Final = 9_223_372_036_854_775_807


class Window(ABC):
    """A group of records; windows are compared and hashed by what they cover."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last event time that belongs to the window; it is over when the watermark reaches it."""


class _MergeCallback(Protocol):
    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None: ...


@dataclass(frozen=True, slots=True, order=True)
class TimeWindow(Window):
    """The time from ``start``, inclusive, to ``end``, exclusive, in milliseconds."""

    start: int
    end: int

    def max_timestamp(self) -> int:
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the two overlap, or one begins where the other ends."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Where the window of ``timestamp`` begins, if one begins at ``offset`` and all have this size."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: _MergeCallback) -> None:
        """Call ``callback.merge(parts, merged)`` for every group of two or more windows that touch."""
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(set(windows)):
            if groups and groups[-1][0].intersects(window):
                merged, parts = groups[-1]
                groups[-1] = (merged.cover(window), [*parts, window])
            else:
                groups.append((window, [window]))
        for merged, parts in groups:
            if len(parts) > 1:
                callback.merge(parts, merged)


@dataclass(frozen=True, slots=True)
class CountWindow(Window):
    """A window that is over when it has so many records; ``id`` tells a key's windows apart."""

    id: int

    def max_timestamp(self) -> int:
        return _MAX_TIMESTAMP


@dataclass(frozen=True, slots=True)
class GlobalWindow(Window):
    """The window that holds everything."""

    @staticmethod
    def get() -> GlobalWindow:
        """The one global window."""
        return _GLOBAL

    def max_timestamp(self) -> int:
        return _MAX_TIMESTAMP

    def __repr__(self) -> str:
        return "GlobalWindow"


_GLOBAL: Final = GlobalWindow()
