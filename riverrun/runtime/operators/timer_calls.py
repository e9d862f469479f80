"""Calls ``on_timer`` for the timers that are due and sends on what it yields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from riverrun.api.timer_service import TimeDomain
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.gathered import Gathered, RecordContext, is_tagged
from riverrun.runtime.operators.operator import Operator
from riverrun.runtime.timer_services import KeyedTimers
from riverrun.state.backend import NO_KEY, KeyedStateBackend
from riverrun.state.timers import TimerQueue

_LONGEST_RUN: Final = 1024
"""About how many records of timers are sent on together: many may be due at once."""


class OnTimerContext(RecordContext, Protocol):
    """The context that a function gets with a timer; moved from one to the next."""

    domain: TimeDomain


class TimerCalls:
    """The timers of a function without namespaces."""

    def __init__(
        self,
        timers: KeyedTimers,
        backend: KeyedStateBackend,
        on_timer: Callable[[int, Any], Any],
        context: OnTimerContext,
        side_output: Callable[[str], Emit],
    ) -> None:
        self._timers = timers
        self._backend = backend
        self._on_timer = on_timer
        self._context = context
        self._side_output = side_output

    def advance(self, watermark: int, emit: Emit) -> None:
        """Event time has reached ``watermark``: what its timers make has their times."""
        self._timers.watermark = watermark
        self._context.domain = TimeDomain.EVENT_TIME
        self._call(self._timers.event, watermark, emit, timed=True)

    def due_at(self) -> int | None:
        """When the wall clock reaches the first timer, if there is one."""
        return self._timers.due_at()

    def run_due(self, now: int, emit: Emit) -> None:
        """The wall clock has reached ``now``: what its timers make has no event time."""
        self._context.domain = TimeDomain.PROCESSING_TIME
        self._call(self._timers.processing, self._timers.passed(now), emit, timed=False)

    def _call(self, queue: TimerQueue, until: int, emit: Emit, *, timed: bool) -> None:
        """The loop of a job with many timers: no call for each but the user's."""
        context, backend, on_timer, take = self._context, self._backend, self._on_timer, queue.take
        gathered = Gathered(timed=timed)
        values, times = gathered.main
        time, key = until, NO_KEY
        try:
            while (due := take(until)) is not None:
                time, timers = due
                context.time = time
                # A timer of this function has no namespace, so none can delete another of its time.
                for key, _ in timers:
                    backend.key = key
                    made = on_timer(time, context)
                    if made is None:
                        continue
                    for item in made:
                        if type(item) is tuple and is_tagged(item):
                            gathered.add_side(item, time if timed else None)
                        else:
                            values.append(item)
                            times.append(time)
                    if len(values) >= _LONGEST_RUN:
                        gathered.emit(emit, self._side_output)
                        gathered = Gathered(timed=timed)
                        values, times = gathered.main
        except Exception as error:
            error.add_note(f"in on_timer of the timer for {time} of key {key!r}")
            raise
        context.time = None
        backend.key = NO_KEY
        gathered.emit(emit, self._side_output)


class CallsTimers(Operator):
    """An operator whose function has timers without namespaces: ``open`` sets ``_calls``."""

    _calls: TimerCalls

    def advance(self, watermark: int, emit: Emit) -> None:
        self._calls.advance(watermark, emit)

    def due_at(self) -> int | None:
        return self._calls.due_at()

    def run_due(self, now: int, emit: Emit) -> None:
        self._calls.run_due(now, emit)
