"""Windows of fixed size with an incremental function and the usual trigger, a run at a time.

The results, the state and the timers are those of ``WindowOperator``, which does the rare things: records
for windows that are over already. All others are folded into the accumulators of their windows with one
user call each, and a timer is set only when a key is new in a window. What is due is worked on a window
at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from riverrun.api.functions import AggregateFunction
from riverrun.api.resolve import reduce_callable
from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.api.triggers import EventTimeTrigger, ProcessingTimeTrigger
from riverrun.api.window_assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.windows import TimeWindow
from riverrun.core.short_repr import short_repr
from riverrun.graph.specs import WindowSpec
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.window import MissingTimestamp, WindowOperator
from riverrun.runtime.operators.window_contents import STATE
from riverrun.runtime.operators.window_marks import Marks
from riverrun.runtime.operators.window_namespaces import MAX_TIME
from riverrun.runtime.slices import Piece, Slicing
from riverrun.runtime.timestamps import first_and_last
from riverrun.state.backend import NO_KEY
from riverrun.state.folding import Aggregating, Folding, Reducing
from riverrun.state.namespace_runs import NamespaceRuns

_TRIGGERS: Final = {
    TumblingEventTimeWindows: EventTimeTrigger,
    SlidingEventTimeWindows: EventTimeTrigger,
    TumblingProcessingTimeWindows: ProcessingTimeTrigger,
    SlidingProcessingTimeWindows: ProcessingTimeTrigger,
}
_AT_ONCE: Final = 4096
"""Keys of a window that are worked on together."""

Bounds = tuple[int, int]
"""A window as state and timers know it: its start and its end."""


def slicing_of(spec: WindowSpec) -> Slicing | None:
    """How to cut time for ``spec``; ``None``: the operators here are not for it."""
    assigner = spec.assigner
    trigger = _TRIGGERS.get(type(assigner))
    if type(spec.trigger) is not trigger or spec.evictor is not None or spec.aggregate is None:
        return None
    assert isinstance(  # noqa: S101  (asked just now)
        assigner,
        TumblingEventTimeWindows
        | TumblingProcessingTimeWindows
        | SlidingEventTimeWindows
        | SlidingProcessingTimeWindows,
    )
    slide = getattr(assigner, "slide", assigner.size)
    return Slicing(assigner.size, slide, assigner.offset) if slide <= assigner.size else None


class FoldedWindowOperator(WindowOperator):
    """One accumulator for each key and window."""

    takes_time_columns = True

    def __init__(self, spec: WindowSpec, slicing: Slicing) -> None:
        super().__init__(spec)
        self._slicing = slicing
        function = spec.aggregate
        self._folding: Folding
        if isinstance(function, AggregateFunction):
            self._folding = Aggregating(function.create_accumulator, function.add)
            self._result = function.get_result
        else:
            assert function is not None  # noqa: S101  (asked by slicing_of)
            self._folding = Reducing(reduce_callable(function))
            self._result = _as_it_is
        self._plain = spec.function is None
        self._latest = MAX_WATERMARK - slicing.size
        """The last time that leaves room for a window before the end of time."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._clock = context.clock
        self._held = self._runs(STATE)
        self._queue = self._timers.event if self._event_time else self._timers.processing
        # Only windows that are kept after they fired can be there without a timer to fire.
        self._marks = Marks(context) if self._needs_marks else None
        self._horizon = self._horizon_at(MIN_TIMESTAMP)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        keys = self._keys_of(values)
        if self._event_time:
            self._process_timed(keys, values, timestamps)
        else:
            start, _ = self._slicing.bounds(self._now())
            self._fold([(start, keys, values)])
        self._backend.records_passed(len(values))
        self._results.send(emit)

    def advance(self, watermark: int, emit: Emit) -> None:
        if watermark == MAX_TIME and self._spec.fire_open_at_end:
            self.run_due(MAX_TIME, emit)
        self._timers.watermark = watermark
        if self._event_time:
            self._horizon = self._horizon_at(watermark)
            self._fire_until(watermark, emit)

    def run_due(self, now: int, emit: Emit) -> None:
        if not self._event_time:
            self._fire_until(self._timers.passed(now), emit)

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        super().snapshot(checkpoint, timestamp)
        if self._marks is not None:
            self._marks.save(self._reached(), shares=self._shares)

    # What windows that share slices do in another way.

    @property
    def _needs_marks(self) -> bool:
        return self._event_time and self._lateness > 0

    @property
    def _shares(self) -> bool | None:
        """Whether windows share slices; ``None``: it is not known yet."""
        return False

    def _now(self) -> int:
        """The time by which records are put into windows of processing time."""
        return self._clock.now()

    def _reached(self) -> int:
        """How far the clock of the windows has come."""
        return self._timers.watermark

    def _process_timed(
        self, keys: list[Any], values: list[Any], timestamps: list[int] | None
    ) -> None:
        if timestamps is None:
            raise MissingTimestamp(self._name, short_repr(values[0]), repr(self._assigner))
        earliest, latest = first_and_last(timestamps)
        if earliest < self._horizon or latest > self._latest:
            keys, values, timestamps = self._take_beside(keys, values, list(timestamps))
            if not keys:
                return
            earliest, latest = first_and_last(timestamps)
        slicing = self._slicing
        start, end = slicing.bounds(earliest)
        if latest < end:  # most often: a run is short beside a window
            self._fold([(start, keys, values)])
        else:
            self._fold(slicing.split(keys, values, timestamps))

    def _take_beside(
        self, keys: list[Any], values: list[Any], timestamps: list[int]
    ) -> tuple[list[Any], list[Any], list[int]]:
        """Work one by one on records of windows that are, or were, over, and on those at the end of time.

        Returns:
            What is left of the run. No window that is over holds any of it, so it may come later.
        """
        backend, horizon, latest, add = self._backend, self._horizon, self._latest, self._add
        left: list[int] = []
        for index, time in enumerate(timestamps):
            if horizon <= time <= latest:
                left.append(index)
                continue
            value = values[index]
            backend.key = keys[index]
            add(value, time)
        backend.key = NO_KEY
        return (
            [keys[index] for index in left],
            [values[index] for index in left],
            [timestamps[index] for index in left],
        )

    def _fold(self, pieces: Sequence[Piece]) -> None:
        """Fold records of windows that are not over, and set timers for what is new."""
        size = self._slicing.size
        by_window = [
            ((window, window + size), keys, values)
            for start, keys, values in pieces
            for window in self._slicing.windows(start)
        ]
        for (window, _, _), new in zip(
            by_window, self._held.fold_in(by_window, self._folding), strict=True
        ):
            if new:
                self._set_timers(end_of(window), new, window)
                if self._lateness:
                    self._set_cleanup(new, window)

    def _set_timers(self, time: int, keys: Sequence[Any], window: Bounds) -> None:
        self._queue.add_all(time, keys, window)

    def _set_cleanup(self, keys: Sequence[Any], window: Bounds) -> None:
        time = self._cleanup_of(window)
        if time < MAX_TIME:
            self._set_timers(time, keys, window)

    def _cleanup_of(self, window: Bounds) -> int:
        return end_of(window, self._lateness)

    def _fire_until(self, time: int, emit: Emit) -> None:
        take = self._queue.take
        while (due := take(time)) is not None:
            by_window: dict[Bounds, list[Any]] = {}
            for key, window in due[1]:
                keys = by_window.get(window)
                if keys is None:
                    by_window[window] = [key]
                else:
                    keys.append(key)
            # Several windows of a key are over at once where time ends; the earlier goes first, because
            # what it leaves behind is the later one's.
            for window in sorted(by_window):
                keys = by_window[window]
                for start in range(0, len(keys), _AT_ONCE):
                    self._due(due[0], window, keys[start : start + _AT_ONCE])
                    if self._results.many:
                        self._results.send(emit)
        self._backend.key = NO_KEY
        self._results.send(emit)

    def _due(self, time: int, window: Bounds, keys: list[Any]) -> None:
        """Timers of one window are due: it is over, or its state is to go, or both."""
        over, gone = time == end_of(window), time == self._cleanup_of(window)
        if over:
            held = self._held
            found = held.take_in(window, keys) if gone else held.values_in(window, keys)
            self._emit_results(window, keys, found)
        elif gone:
            self._held.drop_in(window, keys)
        if gone:
            self._clear_functions(window, keys)

    def _emit_results(
        self, window: Bounds, keys: Sequence[Any], accumulators: Sequence[Any]
    ) -> None:
        """Give out what the accumulators of ``keys`` stand for; None where there is none."""
        time = end_of(window)
        result = self._result
        if self._plain:
            made = []
            for key, accumulator in zip(keys, accumulators, strict=True):
                if accumulator is not None:
                    try:
                        made.append(result(accumulator))
                    except Exception as error:
                        raise self._failed(key, window) from error
            self._results.add_plain([value for value in made if value is not None], time)
            return
        backend, call, covered = self._backend, self._call, TimeWindow(*window)
        for key, accumulator in zip(keys, accumulators, strict=True):
            if accumulator is None:
                continue
            backend.key, backend.namespace = key, window
            try:
                found = result(accumulator)
                given = None if found is None else call(key, covered, (found,))
                if given is not None:
                    self._results.add(given, time)
            except OperatorFailed:
                raise
            except Exception as error:
                raise self._failed(key, window) from error

    def _clear_functions(self, window: Bounds, keys: Sequence[Any]) -> None:
        clear = self._function_clear
        if clear is None:
            return
        backend, covered = self._backend, TimeWindow(*window)
        for key in keys:
            backend.key, backend.namespace = key, window
            try:
                clear(covered)
            except Exception as error:
                raise self._failed(key, window) from error

    def _failed(self, key: Any, window: Bounds) -> OperatorFailed:
        at = f"<key {short_repr(key)} and window {TimeWindow(*window)!r}>"
        return OperatorFailed(self._name, at)

    def _horizon_at(self, time: int) -> int:
        """Records before it go beside the others; a record without a time is always before it."""
        if self._marks is not None:
            time = max(time, self._marks.greatest)
        return max(self._slicing.horizon(time), MIN_TIMESTAMP + 1)

    def _runs(self, name: str) -> NamespaceRuns:
        backend = self._backend
        state = backend.state(ValueStateDescriptor(name), namespaced=True)
        return backend.runs(cast("ValueState[Any]", state))


def end_of(window: Bounds, later: int = 0) -> int:
    """The last time of ``window``, or a time ``later`` than it, but never after the end of time.

    >>> end_of((0, 10)), end_of((0, 10), 5)
    (9, 14)
    """
    return min(window[1] - 1 + later, MAX_TIME)


def _as_it_is(accumulator: Any) -> Any:
    return accumulator
