"""Sessions by event time whose trigger is their own: the records of a key in a run become sessions first.

Such a trigger does nothing with a record but to set the timer of the session's end, unless that has
passed already. So of the records of a key that come together those that belong together are put into
one window, which then meets the sessions that are there, once for all of them. Where a record might be
late, the records of its key go one by one, because their order counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
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
        times = list(islice(self._times(values, timestamps), len(values)))
        ends = self._ends(values, times)
        keys = self._keys_of(values)
        late = self._perhaps_late(keys, times, ends)
        whole, apart = _by_key(keys, values, times, ends, late)
        for key, (start, end, found) in whole.items():
            backend.key = key
            self._add_session(key, (start, end), found)
        for key, items in apart.items():
            backend.key = key
            if key in late:
                for timestamp, _, value in items:
                    self._add(value, timestamp)
            else:
                self._add_sessions(key, items)
        backend.key = NO_KEY
        backend.records_passed(len(values))
        self._results.send(emit)

    def _ends(self, values: list[Any], times: list[int]) -> list[int]:
        """Where the records' own windows end."""
        assigner = self._assigner
        if isinstance(assigner, DynamicEventTimeSessionWindows):
            gap_of = assigner.gap_of
            return [time + gap_of(value) for value, time in zip(values, times, strict=True)]
        assert isinstance(assigner, EventTimeSessionWindows)  # noqa: S101  (asked by can_run)
        gap = assigner.session_gap
        return [time + gap for time in times]

    def _perhaps_late(self, keys: list[Any], times: list[int], ends: list[int]) -> set[Any]:
        """The keys with a record that might be late or is out of bounds."""
        past = self._timers.watermark + 1
        if not ends or (min(ends) > past and min(times) > MIN_TIMESTAMP and max(ends) <= MAX_TIME):
            return set()
        return {
            key
            for key, time, end in zip(keys, times, ends, strict=True)
            if end <= past or not time > MIN_TIMESTAMP or end > MAX_TIME
        }

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


def _by_key(
    keys: list[Any], values: list[Any], times: list[int], ends: list[int], late: set[Any]
) -> tuple[dict[Any, list[Any]], dict[Any, list[_Item]]]:
    """Start, end and records of keys whose records are one session, and the records of the others.

    A record that does not touch what came before it puts its key among the others, as does one in ``late``.
    """
    whole: dict[Any, list[Any]] = {}
    others = set(late)
    for key, value, time, end in zip(keys, values, times, ends, strict=True):
        session = whole.get(key)
        if session is None:
            whole[key] = [time, end, [value]]
        elif time <= session[1] and end >= session[0]:
            session[2].append(value)
            if end > session[1]:  # noqa: PLR1730  (a call of max per record)
                session[1] = end
            if time < session[0]:  # noqa: PLR1730
                session[0] = time
        else:
            others.add(key)
    apart: dict[Any, list[_Item]] = {}
    if others:
        for key in others:
            del whole[key]
        for key, value, time, end in zip(keys, values, times, ends, strict=True):
            if key in others:
                apart.setdefault(key, []).append((time, end, value))
    return whole, apart


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
