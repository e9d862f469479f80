"""Sessions: windows that last as long as records follow each other within a gap.

Each record begins with a window of its own that is as long as the gap; windows that overlap or touch
become one. So two records belong together when they are at most the gap apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from riverrun.api.time_window_assigner import EventTimeAssigner, ProcessingTimeAssigner
from riverrun.api.window_assigner import MergingWindowAssigner, WindowAssigner
from riverrun.api.window_lengths import Length, positive_milliseconds
from riverrun.api.windows import TimeWindow
from riverrun.core.short_repr import short_repr

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]

T = TypeVar("T")


class SessionWindowTimeGapExtractor(ABC):
    """Says after which time without records a session ends, record by record."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap after ``element`` in milliseconds, at least 1."""


GapLike: TypeAlias = SessionWindowTimeGapExtractor | Callable[[Any], int]


class _Merging(MergingWindowAssigner[T, TimeWindow]):
    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


@dataclass(frozen=True, repr=False)
class _FixedGap:
    """Sessions end ``session_gap`` milliseconds after their last record."""

    session_gap: int

    def __post_init__(self) -> None:
        positive_milliseconds(type(self).__name__, "the gap", self.session_gap)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap})"


class _OwnGaps:
    """Each record says how long after it the session may go on without another one."""

    def __init__(self, session_window_time_gap_extractor: GapLike) -> None:
        who = type(self).__name__
        self.extractor = session_window_time_gap_extractor
        if isinstance(session_window_time_gap_extractor, SessionWindowTimeGapExtractor):
            self._extract: Callable[[Any], int] = session_window_time_gap_extractor.extract
        elif isinstance(session_window_time_gap_extractor, type) or not callable(
            session_window_time_gap_extractor
        ):
            raise TypeError(
                f"{who}: the gap extractor is {session_window_time_gap_extractor!r}; "
                f"expected a SessionWindowTimeGapExtractor object or a callable of a record"
            )
        else:
            self._extract = session_window_time_gap_extractor

    def gap_of(self, element: Any) -> int:
        """The gap after ``element`` in milliseconds."""
        gap = self._extract(element)
        if not isinstance(gap, int) or gap <= 0:
            raise ValueError(
                f"{type(self).__name__}: the gap of the record {short_repr(element)} is {gap!r}; expected "
                f"milliseconds, at least 1; check the gap extractor"
            )
        return gap

    def __repr__(self) -> str:
        name = getattr(self.extractor, "__qualname__", type(self.extractor).__qualname__)
        return f"{type(self).__name__}({name})"


class EventTimeSessionWindows(_FixedGap, EventTimeAssigner[T], _Merging[T]):
    """Sessions by event time with one gap for all."""

    @staticmethod
    def with_gap(size: Length) -> EventTimeSessionWindows[Any]:
        """Sessions that end when there is no record for ``size``."""
        return EventTimeSessionWindows(
            positive_milliseconds("EventTimeSessionWindows", "the gap", size)
        )

    @staticmethod
    def with_dynamic_gap(extractor: GapLike) -> DynamicEventTimeSessionWindows[Any]:
        """Sessions with a gap that ``extractor`` gives for each record."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del context
        start = self.event_time(element, timestamp)
        return [TimeWindow(start, start + self.session_gap)]


class ProcessingTimeSessionWindows(_FixedGap, ProcessingTimeAssigner[T], _Merging[T]):
    """Sessions by the wall clock with one gap for all."""

    @staticmethod
    def with_gap(size: Length) -> ProcessingTimeSessionWindows[Any]:
        """Sessions that end when there is no record for ``size``."""
        return ProcessingTimeSessionWindows(
            positive_milliseconds("ProcessingTimeSessionWindows", "the gap", size)
        )

    @staticmethod
    def with_dynamic_gap(extractor: GapLike) -> DynamicProcessingTimeSessionWindows[Any]:
        """Sessions with a gap that ``extractor`` gives for each record."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del element, timestamp
        start = context.get_current_processing_time()
        return [TimeWindow(start, start + self.session_gap)]


class DynamicEventTimeSessionWindows(_OwnGaps, EventTimeAssigner[T], _Merging[T]):
    """Sessions by event time with gaps of the records' own."""

    @staticmethod
    def with_dynamic_gap(extractor: GapLike) -> DynamicEventTimeSessionWindows[Any]:
        """Sessions with a gap that ``extractor`` gives for each record."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del context
        gap = self.gap_of(element)
        start = self.event_time(element, timestamp)
        return [TimeWindow(start, start + gap)]


class DynamicProcessingTimeSessionWindows(_OwnGaps, ProcessingTimeAssigner[T], _Merging[T]):
    """Sessions by the wall clock with gaps of the records' own."""

    @staticmethod
    def with_dynamic_gap(extractor: GapLike) -> DynamicProcessingTimeSessionWindows[Any]:
        """Sessions with a gap that ``extractor`` gives for each record."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del timestamp
        start = context.get_current_processing_time()
        return [TimeWindow(start, start + self.gap_of(element))]
