"""The window assigners that come with riverrun.

=========================  ======================================================================
assigner                   windows
=========================  ======================================================================
Tumbling...TimeWindows     of one size, one after the other
Sliding...TimeWindows      of one size, beginning every slide
...TimeSessionWindows      of records that follow each other within a gap
Dynamic...SessionWindows   the same, with a gap that each record says for itself
GlobalWindows              one that holds everything
Count...WindowAssigner     of so many records
=========================  ======================================================================

Those of event time need timestamps; those of processing time go by the wall clock of the operator.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from riverrun.api.count_window_assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from riverrun.api.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from riverrun.api.time_window_assigner import EventTimeAssigner, ProcessingTimeAssigner
from riverrun.api.trigger import Trigger
from riverrun.api.triggers import EndOfStreamTrigger, NeverTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_lengths import Length, milliseconds, positive_milliseconds
from riverrun.api.window_serializers import GlobalWindowSerializer
from riverrun.api.windows import GlobalWindow, TimeWindow

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "GlobalWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
]

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class _Tumbling:
    """Windows of ``size`` milliseconds; one of them begins at ``offset``."""

    size: int
    offset: int = 0

    def __post_init__(self) -> None:
        _check(type(self).__name__, "size", self.size, self.offset)

    def windows_at(self, time: int) -> list[TimeWindow]:
        """The one window that holds ``time``."""
        start = time - (time - self.offset) % self.size
        return [TimeWindow(start, start + self.size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


@dataclass(frozen=True, repr=False)
class _Sliding:
    """Windows of ``size`` milliseconds, one every ``slide``; one of them begins at ``offset``."""

    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        positive_milliseconds(type(self).__name__, "the size", self.size)
        _check(type(self).__name__, "slide", self.slide, self.offset)

    def windows_at(self, time: int) -> list[TimeWindow]:
        """All windows that hold ``time``, the latest first; none if it lies between windows."""
        size = self.size
        last = time - (time - self.offset) % self.slide
        return [TimeWindow(start, start + size) for start in range(last, time - size, -self.slide)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class TumblingEventTimeWindows(_Tumbling, EventTimeAssigner[T]):
    """Windows of one size, one after the other, by event time."""

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingEventTimeWindows[Any]:
        """Windows of ``size`` that begin at ``offset`` after its multiples (since the Unix epoch, UTC).

        Days of a time zone east of Greenwich need a negative offset: ``of(Time.days(1), Time.hours(-8))``.
        """
        return TumblingEventTimeWindows(*_tumbling("TumblingEventTimeWindows", size, offset))

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del context
        return self.windows_at(self.event_time(element, timestamp))


class TumblingProcessingTimeWindows(_Tumbling, ProcessingTimeAssigner[T]):
    """Windows of one size, one after the other, by the wall clock."""

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingProcessingTimeWindows[Any]:
        """Windows of ``size`` that begin at ``offset`` after its multiples (since the Unix epoch, UTC)."""
        return TumblingProcessingTimeWindows(
            *_tumbling("TumblingProcessingTimeWindows", size, offset)
        )

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del element, timestamp
        return self.windows_at(context.get_current_processing_time())


class SlidingEventTimeWindows(_Sliding, EventTimeAssigner[T]):
    """Windows of one size that begin every slide, by event time.

    They overlap if the slide is less than the size. If it is greater there is time between them, and
    records of that time belong to no window.
    """

    @staticmethod
    def of(
        size: Length, slide: Length, offset: Length | None = None
    ) -> SlidingEventTimeWindows[Any]:
        """Windows of ``size`` that begin at ``offset`` after multiples of ``slide``."""
        return SlidingEventTimeWindows(*_sliding("SlidingEventTimeWindows", size, slide, offset))

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del context
        return self.windows_at(self.event_time(element, timestamp))


class SlidingProcessingTimeWindows(_Sliding, ProcessingTimeAssigner[T]):
    """Windows of one size that begin every slide, by the wall clock."""

    @staticmethod
    def of(
        size: Length, slide: Length, offset: Length | None = None
    ) -> SlidingProcessingTimeWindows[Any]:
        """Windows of ``size`` that begin at ``offset`` after multiples of ``slide``."""
        return SlidingProcessingTimeWindows(
            *_sliding("SlidingProcessingTimeWindows", size, slide, offset)
        )

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        del element, timestamp
        return self.windows_at(context.get_current_processing_time())


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """One window for all records of a key; it needs a trigger to ever fire."""

    _default: ClassVar[type[Trigger[Any, GlobalWindow]]] = NeverTrigger

    @staticmethod
    def create() -> GlobalWindows[Any]:
        """An assigner of this kind."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows[Any]:
        """The same with a window that fires at the end of bounded input."""
        return _UntilTheEnd()

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        del element, timestamp, context
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[T, GlobalWindow]:
        del env
        return self._default()

    def get_window_serializer(self) -> GlobalWindowSerializer:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class _UntilTheEnd(GlobalWindows[T]):
    _default = EndOfStreamTrigger


def _tumbling(who: str, size: Length, offset: Length | None) -> tuple[int, int]:
    return milliseconds(who, "the size", size), milliseconds(who, "the offset", offset or 0)


def _sliding(who: str, size: Length, slide: Length, offset: Length | None) -> tuple[int, int, int]:
    start = milliseconds(who, "the offset", offset or 0)
    return milliseconds(who, "the size", size), milliseconds(who, "the slide", slide), start


def _check(who: str, what: str, step: int, offset: int) -> None:
    positive_milliseconds(who, f"the {what}", step)
    milliseconds(who, "the offset", offset)
    if abs(offset) >= step:
        raise ValueError(
            f"{who}: the offset is {offset!r} ms and the {what} {step!r} ms; "
            f"expected an offset between minus the {what} and the {what}: abs(offset) < {what}"
        )
