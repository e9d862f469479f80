"""The timers of one operator: set for the current key, fired as its clocks move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from riverrun.api.timer_service import TimeDomain, TimerService
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.state.backend import NO_KEY, KeyedStateBackend
from riverrun.state.timers import TimerQueue

Fire: TypeAlias = Callable[[int, Any, Any, TimeDomain], None]
"""Handles a timer: its time, key, namespace and clock; the backend's key is the timer's."""

USER_TIMERS: Final = "user"
"""The name of the timers that a function sets."""
_PASSED: Final = 1
"""A wall-clock timer fires once its millisecond is over: no record of that time comes after it."""


class NoKeyForTimer(ProgramError):  # noqa: N818
    """A timer was used where there is no key."""

    def __init__(self, time: int) -> None:
        super().__init__(time)
        self.time = time

    def __str__(self) -> str:
        return (
            f"timer for {self.time!r}: there is no current key; a timer belongs to the key of a record "
            f"or timer, so use it in process_element or on_timer, not in open or close"
        )


class KeyedTimers(TimerService):
    """Timers by event time and by the wall clock, kept in the operator's state backend.

    As a ``TimerService`` it serves the backend's current key with no namespace; operators that have
    namespaces, such as windows, name them.

    Attributes:
        watermark: How far event time has come.
        event: The timers by event time.
        processing: The timers by the wall clock.
    """

    def __init__(self, clock: Clock, backend: KeyedStateBackend, name: str) -> None:
        """Take up the timers that the backend has under ``name``."""
        self.watermark = MIN_TIMESTAMP
        self.event: TimerQueue = backend.timers(f"_timers.{name}.event")
        self.processing: TimerQueue = backend.timers(f"_timers.{name}.processing")
        self._clock = clock
        self._backend = backend
        self._firing: tuple[TimerQueue, int] | None = None
        """The queue and time whose timers are being fired."""
        self._cancelled: set[tuple[Any, Any]] = set()
        """Timers of that time that were taken to be fired and then deleted."""

    def current_processing_time(self) -> int:
        return self._clock.now()

    def current_watermark(self) -> int:
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        key = self._backend.key
        if key is NO_KEY:
            raise NoKeyForTimer(timestamp)
        self.event.add(timestamp, key, None)

    def register_processing_time_timer(self, timestamp: int) -> None:
        key = self._backend.key
        if key is NO_KEY:
            raise NoKeyForTimer(timestamp)
        self.processing.add(timestamp, key, None)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._delete(self.event, timestamp, None)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._delete(self.processing, timestamp, None)

    def register_event(self, time: int, namespace: Any) -> None:
        """Set an event-time timer of the current key in ``namespace``."""
        key = self._backend.key
        if key is NO_KEY:
            raise NoKeyForTimer(time)
        self.event.add(time, key, namespace)

    def register_processing(self, time: int, namespace: Any) -> None:
        """Set a wall-clock timer of the current key in ``namespace``."""
        key = self._backend.key
        if key is NO_KEY:
            raise NoKeyForTimer(time)
        self.processing.add(time, key, namespace)

    def delete_event(self, time: int, namespace: Any) -> None:
        """Forget an event-time timer of the current key in ``namespace``."""
        self._delete(self.event, time, namespace)

    def delete_processing(self, time: int, namespace: Any) -> None:
        """Forget a wall-clock timer of the current key in ``namespace``."""
        self._delete(self.processing, time, namespace)

    def advance(self, watermark: int, fire: Fire) -> None:
        """Event time has reached ``watermark``: fire what is due, in the order of time."""
        self.watermark = watermark
        self._fire(self.event, watermark, fire, TimeDomain.EVENT_TIME)

    def due_at(self) -> int | None:
        """When ``run_due`` has something to do, by the wall clock; ``None``: there are no timers."""
        time = self.processing.next_time()
        return None if time is None else time + _PASSED

    def run_due(self, now: int, fire: Fire) -> None:
        """The wall clock has reached ``now``: fire what is due, in the order of time."""
        self._fire(self.processing, self.passed(now), fire, TimeDomain.PROCESSING_TIME)

    def passed(self, now: int) -> int:
        """The last time whose wall-clock timers are due at ``now``."""
        return now - _PASSED

    def _fire(self, queue: TimerQueue, until: int, fire: Fire, domain: TimeDomain) -> None:
        backend, cancelled, take = self._backend, self._cancelled, queue.take
        try:
            while (due := take(until)) is not None:
                time, timers = due
                self._firing = (queue, time)
                for timer in timers:
                    if cancelled and timer in cancelled:
                        continue
                    backend.key, namespace = timer
                    fire(time, timer[0], namespace, domain)
                cancelled.clear()
        finally:
            self._firing = None
            cancelled.clear()
            backend.key = NO_KEY

    def _delete(self, queue: TimerQueue, time: int, namespace: Any) -> None:
        key = self._backend.key
        if key is NO_KEY:
            raise NoKeyForTimer(time)
        queue.remove(time, key, namespace)
        if self._firing == (queue, time):
            self._cancelled.add((key, namespace))
