"""What assigners of time windows have in common."""

from __future__ import annotations

from typing import Any, Final, NoReturn, TypeVar

from riverrun.api.trigger import Trigger
from riverrun.api.triggers import EventTimeTrigger, ProcessingTimeTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_serializers import TimeWindowSerializer
from riverrun.api.windows import TimeWindow
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP

__all__ = ["EventTimeAssigner", "ProcessingTimeAssigner"]

T = TypeVar("T")

_SHOWN: Final = 200
"""So much of a record goes into a message."""


class EventTimeAssigner(WindowAssigner[T, TimeWindow]):
    """Windows that are over when the watermark says so."""

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        del env
        return EventTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True

    def event_time(self, element: T, timestamp: int | None, length: int) -> int:
        """``timestamp``, once it is known to be one and to leave room for a window of ``length``."""
        if timestamp is None or not MIN_TIMESTAMP < timestamp <= MAX_WATERMARK - length:
            self._refuse(element, timestamp)
        return timestamp

    def _refuse(self, element: T, timestamp: int | None) -> NoReturn:
        if timestamp is None or timestamp == MIN_TIMESTAMP:
            raise ValueError(
                f"{self!r}: the record {shown(element)} has no timestamp; expected an event time in "
                f"milliseconds: call assign_timestamps_and_watermarks(...) before the windows, with a "
                f"timestamp assigner, or use windows of processing time"
            )
        raise ValueError(
            f"{self!r}: the record {shown(element)} has the timestamp {timestamp!r}; expected "
            f"milliseconds since 1970 as a 64-bit integer that leaves room for a window; "
            f"check the timestamp assigner"
        )


class ProcessingTimeAssigner(WindowAssigner[T, TimeWindow]):
    """Windows that are over when the wall clock says so."""

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        del env
        return ProcessingTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return False


def shown(element: object) -> str:
    """The record as a message shows it, cut if it is long."""
    text = repr(element)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
