"""Windows of one size whose trigger is their own: a run is sorted by window and key first.

Such a trigger does nothing with a record but to set the timer of the window's end, unless the window is
over already. So the records of one key and window that come together are added together. Records of
windows that are over, and those whose time is out of bounds, go one by one as everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypeAlias

from riverrun.api.timer_service import TimeDomain
from riverrun.api.triggers import EventTimeTrigger, ProcessingTimeTrigger
from riverrun.api.window_assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.windows import Window
from riverrun.graph.specs import WindowSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.window import WindowOperator
from riverrun.runtime.operators.window_namespaces import MAX_TIME, Namespace, end_of, namespace_of
from riverrun.state.backend import NO_KEY

_ByKey: TypeAlias = dict[Any, list[Any]]
_Groups: TypeAlias = dict[int, _ByKey | None]
"""Records by the start of their window and by key; None: the records of this window go one by one."""

_BY_EVENT_TIME = (TumblingEventTimeWindows, SlidingEventTimeWindows)
_BY_CLOCK = (TumblingProcessingTimeWindows, SlidingProcessingTimeWindows)


class RunWindowOperator(WindowOperator):
    """Adds all records of a run that belong to one key and window at once."""

    @staticmethod
    def can_run(spec: WindowSpec) -> bool:
        """Whether windows of ``spec`` are of this kind."""
        assigner, trigger = type(spec.assigner), type(spec.trigger)
        return spec.evictor is None and (
            (assigner in _BY_EVENT_TIME and trigger is EventTimeTrigger)
            or (assigner in _BY_CLOCK and trigger is ProcessingTimeTrigger)
        )

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        assigner: Any = spec.assigner
        self._size: int = assigner.size
        self._slide: int = getattr(assigner, "slide", assigner.size)
        self._offset: int = assigner.offset

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        timers = self._timers
        queue = timers.event if self._event_time else timers.processing
        self._set_timer: Callable[[int, Any, Any], None] = queue.add

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        times = self._times(values, timestamps)
        if not self._event_time:
            groups = self._at_now(values)
        elif self._slide == self._size:
            groups = self._tumbling(values, times)
        else:
            groups = self._sliding(values, times)
        for start, by_key in groups.items():
            if by_key:
                self._add_group(start, by_key)
        self._backend.key = NO_KEY
        self._backend.records_passed(len(values))
        self._results.send(emit)

    def _at_now(self, values: list[Any]) -> _Groups:
        by_key: _ByKey = {}
        for key, value in zip(self._keys_of(values), values, strict=True):
            by_key.setdefault(key, []).append(value)
        now = self._timers.current_processing_time()
        last = now - (now - self._offset) % self._slide
        return dict.fromkeys(range(last, now - self._size, -self._slide), by_key)

    def _tumbling(self, values: list[Any], times: Iterable[int]) -> _Groups:
        size, offset = self._size, self._offset
        groups: _Groups = {}
        for key, value, timestamp in zip(self._keys_of(values), values, times, strict=True):
            start = timestamp - (timestamp - offset) % size
            if start not in groups:
                groups[start] = {} if self._is_open(start) else None
            by_key = groups[start]
            if by_key is None:
                self._backend.key = key
                self._add(value, timestamp)
                continue
            found = by_key.get(key)
            if found is None:
                by_key[key] = [value]
            else:
                found.append(value)
        return groups

    def _sliding(self, values: list[Any], times: Iterable[int]) -> _Groups:
        size, slide, offset = self._size, self._slide, self._offset
        groups: _Groups = {}
        for key, value, timestamp in zip(self._keys_of(values), values, times, strict=True):
            last = timestamp - (timestamp - offset) % slide
            starts = range(last, timestamp - size, -slide)
            added = 0
            for start in starts:
                if start not in groups:
                    groups[start] = {} if self._is_open(start) else None
                by_key = groups[start]
                if by_key is None:
                    break  # so are all that follow: windows come latest first
                found = by_key.get(key)
                if found is None:
                    by_key[key] = [value]
                else:
                    found.append(value)
                added += 1
            if added == 0 or added < len(starts):
                self._backend.key = key
                self._add_rest(value, timestamp, added)
        return groups

    def _add_rest(self, value: Any, timestamp: int, added: int) -> None:
        """Take a record into its windows but the first ``added``, one by one."""
        if added == 0:
            self._add(value, timestamp)
            return
        windows = self._assigner.assign_windows(value, timestamp, self._assigner_context)
        for window in islice(windows, added, None):
            if end_of(window, self._lateness) > self._timers.watermark:
                namespace = namespace_of(window)
                self._add_to(window, namespace, namespace, value, timestamp)

    def _is_open(self, start: int) -> bool:
        """Whether records of the window need nothing but to be added, whatever their times are."""
        in_bounds = start > MIN_TIMESTAMP and start + 2 * self._size <= MAX_TIME
        return in_bounds and start + self._size - 1 > self._timers.watermark

    def _add_group(self, start: int, by_key: _ByKey) -> None:
        backend, contents, set_timer = self._backend, self._contents, self._set_timer
        window = (start, start + self._size)
        end = start + self._size - 1
        cleanup = end + self._lateness
        backend.namespace = window
        for key, values in by_key.items():
            backend.key = key
            contents.add_all(values, ())
            set_timer(end, key, window)
            if cleanup != end:
                self._set_cleanup(cleanup, key, window)

    def _set_cleanup(self, time: int, key: Any, window: Namespace) -> None:
        if time < MAX_TIME:
            self._set_timer(time, key, window)

    def _timer_due(
        self, time: int, window: Window, namespace: Namespace, domain: TimeDomain
    ) -> None:
        """What the trigger would say is known: to fire at the end."""
        del domain
        self._backend.namespace = namespace
        end = min(namespace[1] - 1, MAX_TIME)
        last = time == min(end + self._lateness, MAX_TIME)
        if time == end:
            self._fire(window, last=last)
        if last:
            self._contents.clear()
            if self._function_clear is not None:
                self._backend.namespace = namespace
                self._function_clear(window)
