"""Sessions by event time whose trigger is their own: the records of a key in a run become sessions first.

Such a trigger does nothing with a record but to set the timer of the session's end, unless that has
passed already. So of the records of a key that come together those that belong together are put into
one window, which then meets the sessions that are there, once for all of them. Where a record might be
late, the records of its key go one by one, because their order counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, TypeAlias

from riverrun.api.session_windows import DynamicEventTimeSessionWindows, EventTimeSessionWindows
from riverrun.api.timer_service import TimeDomain
from riverrun.api.triggers import EventTimeTrigger
from riverrun.api.windows import Window
from riverrun.graph.specs import WindowSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.window_merging import MergingWindowOperator
from riverrun.runtime.operators.window_namespaces import MAX_TIME, Namespace
from riverrun.state.backend import NO_KEY

_Item: TypeAlias = tuple[int, int, Any]
"""Time, end of the record's own window, and the record."""
_Session: TypeAlias = tuple[Namespace, list[Any]]
"""A window and its records, in the order in which they came."""


class SessionOperator(MergingWindowOperator):
    """Meets the sessions of a key once for all records of a run that belong together."""

    @staticmethod
    def can_run(spec: WindowSpec) -> bool:
        """Whether windows of ``spec`` are of this kind."""
        sessions = (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
        return (
            spec.evictor is None
            and type(spec.trigger) is EventTimeTrigger
            and type(spec.assigner) in sessions
        )

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        backend = self._backend
        by_key, one_by_one = self._by_key(values, timestamps)
        for key, items in by_key.items():
            backend.key = key
            if key in one_by_one:
                for timestamp, _, value in items:
                    self._add(value, timestamp)
            else:
                self._add_sessions(key, items)
        backend.key = NO_KEY
        backend.records_passed(len(values))
        self._results.send(emit)

    def _by_key(
        self, values: list[Any], timestamps: list[int] | None
    ) -> tuple[dict[Any, list[_Item]], set[Any]]:
        """The records by key, and the keys with a record that might be late or is out of bounds."""
        key_of, assigner = self._key_of, self._assigner
        fixed = assigner.session_gap if isinstance(assigner, EventTimeSessionWindows) else 0
        gap_of = assigner.gap_of if isinstance(assigner, DynamicEventTimeSessionWindows) else None
        by_key: dict[Any, list[_Item]] = {}
        one_by_one: set[Any] = set()
        past = self._timers.watermark + 1
        for value, timestamp in zip(values, self._times(values, timestamps), strict=True):
            end = timestamp + (fixed if gap_of is None else gap_of(value))
            key = key_of(value)
            if end <= past or not timestamp > MIN_TIMESTAMP or end > MAX_TIME:
                one_by_one.add(key)
            found = by_key.get(key)
            if found is None:
                by_key[key] = [(timestamp, end, value)]
            else:
                found.append((timestamp, end, value))
        return by_key, one_by_one

    def _add_sessions(self, key: Any, items: list[_Item]) -> None:
        """Take in records of the current key, none of which can be late."""
        if len(items) == 1:
            start, end, value = items[0]
            self._add_session(key, (start, end), [value])
            return
        for window, values in sessions_of(items):
            self._add_session(key, window, values)

    def _add_session(self, key: Any, new: tuple[int, int], values: list[Any]) -> None:
        windows = self._windows
        stored = windows.stored()
        if stored is None:
            self._backend.namespace = new
            self._contents.add_all(values, ())
            windows.store(((new, new),))
            self._set_timers(key, new)
            return
        if len(stored) > 1:
            self._meet_many(key, new, values)
            return
        ((known, home),) = stored
        if new[0] > known[1] or new[1] < known[0]:
            self._meet_many(key, new, values)
            return
        self._backend.namespace = home
        self._contents.add_all(values, ())
        grown = (min(new[0], known[0]), max(new[1], known[1]))
        if grown != known:
            self._remove_timers(key, known)
            self._set_timers(key, grown)
            windows.store(((grown, home),))
        elif self._lateness:
            self._set_end(key, known)

    def _meet_many(self, key: Any, new: Namespace, values: list[Any]) -> None:
        """The same where the key has other sessions, too."""
        known = self._windows.load()
        before = known.copy()
        window = self._windows.add(known, new, self._merged_sessions)
        self._backend.namespace = known[window]
        self._contents.add_all(values, ())
        if window not in before:
            self._set_timers(key, window)
            self._windows.save(known)
        elif self._lateness:
            self._set_end(key, window)

    def _merged_sessions(
        self,
        result: Namespace,
        parts: list[Namespace],
        state_window: Namespace,
        moved: list[Namespace],
    ) -> None:
        """Sessions became one: the timers of each end, as the trigger would have it."""
        del result
        for part in parts:
            self._remove_timers(self._backend.key, part)
        if moved:
            self._contents.merge(state_window, moved)

    def _timer_due(
        self, time: int, window: Window, namespace: Namespace, domain: TimeDomain
    ) -> None:
        """What the trigger would say is known: to fire at the end."""
        del domain
        windows = self._windows.load()
        if namespace not in windows:
            return
        end = min(namespace[1] - 1, MAX_TIME)
        last = time == min(end + self._lateness, MAX_TIME)
        self._backend.namespace = windows[namespace]
        if time == end:
            self._fire(window, last=last)
        if last:
            self._contents.clear()
            if self._function_clear is not None:
                self._function_clear(window)
            del windows[namespace]
            self._windows.save(windows)

    def _remove_timers(self, key: Any, window: Namespace) -> None:
        end = window[1] - 1
        self._timers.event.remove(end, key, window)
        if self._lateness:
            self._timers.event.remove(min(end + self._lateness, MAX_TIME), key, window)

    def _set_end(self, key: Any, window: Namespace) -> None:
        """Let a session fire again that fired before a restart, was kept, and gets another record.

        Event time begins anew with a restart, so its end is to come once more.
        """
        self._timers.event.add(window[1] - 1, key, window)

    def _set_timers(self, key: Any, window: Namespace) -> None:
        end = window[1] - 1
        self._timers.event.add(end, key, window)
        if self._lateness and end + self._lateness < MAX_TIME:
            self._timers.event.add(end + self._lateness, key, window)


def sessions_of(items: list[_Item]) -> Iterator[_Session]:
    """The sessions that records make among themselves.

    >>> list(sessions_of([(0, 5, "a"), (20, 25, "b"), (4, 9, "c")]))
    [((0, 9), ['a', 'c']), ((20, 25), ['b'])]
    """
    if len(items) == 1:
        start, end, value = items[0]
        yield (start, end), [value]
        return
    windows: list[tuple[int, int]] = []
    low = high = None
    for start, end in sorted((start, end) for start, end, _ in items):
        if high is None or low is None:
            low, high = start, end
        elif start <= high:
            high = max(high, end)
        else:
            windows.append((low, high))
            low, high = start, end
    if low is not None and high is not None:
        windows.append((low, high))
    if len(windows) == 1:
        yield windows[0], [value for _, _, value in items]
        return
    starts = [start for start, _ in windows]
    values: list[list[Any]] = [[] for _ in windows]
    for start, _, value in items:
        values[bisect_right(starts, start) - 1].append(value)
    yield from zip(windows, values, strict=True)
