"""The slices of time that the records of a run of columns belong to."""

from __future__ import annotations

from math import gcd

import numpy as np

from riverrun.api.time_window_assigner import EventTimeAssigner
from riverrun.core.short_repr import short_repr
from riverrun.graph.column_specs import FixedWindows
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.operators.window import MissingTimestamp
from riverrun.runtime.slices import Slicing
from riverrun.serde.column_groups import index_of
from riverrun.serde.columns import ColumnRun, Indices, time_array

__all__ = ["SliceTimes"]


class SliceTimes:
    """Knows the slices of an operator's windows.

    Args:
        operator: the name of the window operator, for messages.
        assigner: its windows.
    """

    def __init__(self, operator: str, assigner: FixedWindows) -> None:
        self._operator = operator
        self._assigner = assigner
        self.slicing = Slicing(
            assigner.size, getattr(assigner, "slide", assigner.size), assigner.offset
        )
        slide, part = self.slicing.slide, self.slicing.size % self.slicing.slide
        self._part = part
        self._unit = gcd(slide, part)
        """Between two starts of slices lie so many milliseconds, or a multiple of it."""

    def event_times(self, run: ColumnRun, timestamps: list[int] | None) -> Indices:
        """The event times of a run that has records.

        Raises:
            MissingTimestamp: there are none.
            ValueError: a window around one of them would leave what 64 bits can hold.
        """
        assigner = self._assigner
        if timestamps is None:
            raise MissingTimestamp(self._operator, short_repr(run[0]), repr(assigner))
        times = time_array(timestamps)
        if int(times.min()) == MIN_TIMESTAMP:
            assert isinstance(assigner, EventTimeAssigner)  # noqa: S101  (asked by the caller)
            assigner.event_time(run[int(times.argmin())], MIN_TIMESTAMP)
        size = self.slicing.size
        # Starts are found below a time, by up to a slide and an offset, in whole numbers of 64 bits.
        earliest, latest = MIN_TIMESTAMP + 2 * size, MAX_WATERMARK - size
        for place in (int(times.argmin()), int(times.argmax())):
            if not earliest <= int(times[place]) <= latest:
                raise ValueError(
                    f"{assigner!r}: the record {short_repr(run[place])} has the timestamp "
                    f"{int(times[place])}, which leaves no room for a window; expected {earliest} to "
                    f"{latest}, in milliseconds since 1970: check the timestamp assigner"
                )
        return times

    def starts(self, times: Indices) -> Indices:
        """When the slice of each record begins."""
        slicing, part = self.slicing, self._part
        phase = (times - slicing.offset) % slicing.slide
        begin = times - phase
        return begin if not part else np.where(phase < part, begin, begin + part)

    def indexed(self, starts: Indices) -> tuple[Indices, Indices]:
        """Which slices occur, by their start, ascending; and the place of each row's slice among them."""
        first = int(starts.min())
        steps = (starts - first) // self._unit
        present, places = index_of(steps, int(steps.max()) + 1)
        return present * self._unit + first, places
