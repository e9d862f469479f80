"""The evictors that come with riverrun: by count, by time, by distance.

Each evicts before the window function is called, or after it with ``do_evict_after``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

from riverrun.api.delta import DeltaLike, delta_callable
from riverrun.api.evictor import Evictor, TimestampedValue
from riverrun.api.window_lengths import Length, positive_count, positive_milliseconds
from riverrun.api.windows import Window

__all__ = ["CountEvictor", "DeltaEvictor", "TimeEvictor"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class _OneSided(Evictor[T, W]):
    """Does the same thing either before or after the window function."""

    def __init__(self, *, do_evict_after: bool) -> None:
        self.do_evict_after = do_evict_after

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        """Remove from ``elements``, which may be empty, what is not to stay."""

    def evict_before(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        del size, window, evictor_context
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        del size, window, evictor_context
        if self.do_evict_after:
            self._evict(elements)


class CountEvictor(_OneSided[T, W]):
    """Keeps the last ``max_count`` records that were added."""

    def __init__(self, max_count: int, *, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after=do_evict_after)
        self.max_count = positive_count(type(self).__name__, "the count", max_count)

    @staticmethod
    def of(
        max_count: int,
        do_evict_after: bool = False,  # noqa: FBT001, FBT002 - Flink's order
    ) -> CountEvictor[Any, Any]:
        """An evictor that keeps ``max_count`` records."""
        return CountEvictor(max_count, do_evict_after=do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        del elements[: max(0, len(elements) - self.max_count)]

    def __repr__(self) -> str:
        return f"CountEvictor({self.max_count})"


class TimeEvictor(_OneSided[T, W]):
    """Keeps the records of the last ``window_size`` before the latest one, in event time.

    Records without timestamps all stay.
    """

    def __init__(self, window_size: Length, *, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after=do_evict_after)
        self.window_size = positive_milliseconds(type(self).__name__, "the time", window_size)

    @staticmethod
    def of(
        window_size: Length,
        do_evict_after: bool = False,  # noqa: FBT001, FBT002 - Flink's order
    ) -> TimeEvictor[Any, Any]:
        """An evictor that keeps the last ``window_size``."""
        return TimeEvictor(window_size, do_evict_after=do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        times = [element.timestamp for element in elements if element.timestamp is not None]
        if not times:
            return
        cutoff = max(times) - self.window_size
        elements[:] = [
            element
            for element in elements
            if element.timestamp is None or element.timestamp > cutoff
        ]

    def __repr__(self) -> str:
        return f"TimeEvictor({self.window_size})"


class DeltaEvictor(_OneSided[T, W]):
    """Keeps the records that are nearer than ``threshold`` to the last one that was added."""

    def __init__(
        self, threshold: float, delta_function: DeltaLike, *, do_evict_after: bool = False
    ) -> None:
        super().__init__(do_evict_after=do_evict_after)
        self.threshold = threshold
        self.delta_function = delta_function
        self._delta = delta_callable(type(self).__name__, delta_function)

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaLike,
        do_evict_after: bool = False,  # noqa: FBT001, FBT002 - Flink's order
    ) -> DeltaEvictor[Any, Any]:
        """An evictor that keeps records nearer than ``threshold``."""
        return DeltaEvictor(threshold, delta_function, do_evict_after=do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        if not elements:
            return
        last = elements[-1].value
        elements[:] = [
            element for element in elements if self._delta(element.value, last) < self.threshold
        ]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self.delta_function!r}, {self.threshold!r})"
