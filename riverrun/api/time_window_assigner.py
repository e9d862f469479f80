"""What assigners of time windows have in common."""

from __future__ import annotations

from typing import Any, TypeVar

from riverrun.api.trigger import Trigger
from riverrun.api.triggers import EventTimeTrigger, ProcessingTimeTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_serializers import TimeWindowSerializer
from riverrun.api.windows import TimeWindow
from riverrun.core.short_repr import short_repr
from riverrun.protocol.elements import MIN_TIMESTAMP

__all__ = ["EventTimeAssigner", "ProcessingTimeAssigner"]

T = TypeVar("T")


class EventTimeAssigner(WindowAssigner[T, TimeWindow]):
    """Windows that are over when the watermark says so."""

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        del env
        return EventTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True

    def event_time(self, element: T, timestamp: int | None) -> int:
        """``timestamp``, once it is known that the record has one."""
        if timestamp is None or timestamp == MIN_TIMESTAMP:
            raise ValueError(
                f"{self!r}: the record {short_repr(element)} has no timestamp; expected an event time in "
                f"milliseconds: call assign_timestamps_and_watermarks(...) before the windows, with a "
                f"timestamp assigner, or use windows of processing time"
            )
        return timestamp


class ProcessingTimeAssigner(WindowAssigner[T, TimeWindow]):
    """Windows that are over when the wall clock says so."""

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        del env
        return ProcessingTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return False
