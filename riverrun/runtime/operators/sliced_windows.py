"""Sliding windows with an incremental function: a record is folded once, however many windows it is in.

Each key has one accumulator a slice, and a window that fires merges those of its slices. Results are
those of ``WindowOperator`` if it does not matter in which order records are folded, nor where brackets
are put: slices are merged in the order of time, not in that of arrival. So sums of floats may differ in
their last digits, and "the last record that came" is that of the last slice.

Timers are linked: a slice that gets its first record sets the timer of the first window that it is in, and
a window that fires sets that of the next window if something is left for it.

Two kinds of windows have an accumulator of their own nevertheless, as in ``FoldedWindowOperator``: all of
them if the function cannot merge; and after a restart those that were over when the state was saved, and
to which records come while event time is behind that point. They begin anew then, while their slices still
hold what belongs to later windows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from riverrun.api.functions import AggregateFunction
from riverrun.api.resolve import reduce_callable
from riverrun.graph.specs import WindowSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.folded_windows import Bounds, FoldedWindowOperator, end_of
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.window_namespaces import MAX_TIME
from riverrun.runtime.slices import Piece, Slicing

log = logging.getLogger(__name__)

STATE: Final = "_window.slices"
"""Name of the state that holds accumulators by key and slice."""


class SlicedWindowOperator(FoldedWindowOperator):
    """One accumulator for each key and slice."""

    def __init__(self, spec: WindowSpec, slicing: Slicing) -> None:
        super().__init__(spec, slicing)
        function = spec.aggregate
        self._merge: Callable[[Any, Any], Any]
        if isinstance(function, AggregateFunction):
            self._merge = function.merge
        else:
            assert function is not None  # noqa: S101  (asked by slicing_of)
            self._merge = reduce_callable(function)
        self._passed = MIN_TIMESTAMP
        """Up to when timers of processing time have fired."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        assert self._marks is not None  # noqa: S101  (_needs_marks)
        self._saved = self._marks
        self._slices = self._runs(STATE)
        self._passed = self._saved.greatest
        self._sharing = self._saved.shares
        if not self._saved.found and context.states.was_saved:
            # By an operator that had an accumulator for each window.
            self._sharing = False

    def run_due(self, now: int, emit: Emit) -> None:
        super().run_due(now, emit)
        self._passed = max(self._passed, self._timers.passed(now))

    @property
    def _needs_marks(self) -> bool:
        return True

    @property
    def _shares(self) -> bool | None:
        return self._sharing

    def _now(self) -> int:
        # No record comes into a window that has fired, also if the clock was put back.
        return max(super()._now(), self._passed + 1)

    def _reached(self) -> int:
        return super()._reached() if self._event_time else self._passed

    def _fold(self, pieces: Sequence[Piece]) -> None:
        if self._sharing is None:
            self._sharing = self._can_share(pieces[0][2][0])
        if not self._sharing:
            super()._fold(pieces)
            return
        size = self._slicing.size
        for piece, new in zip(pieces, self._slices.fold_in(pieces, self._folding), strict=True):
            if new:
                first = self._slicing.windows(piece[0])[-1]
                window = (first, first + size)
                self._set_timers(end_of(window), new, window)

    def _add(self, value: Any, timestamp: int) -> None:
        """Take in a record of the current key that may be late for some of its windows."""
        if self._sharing is None:
            self._sharing = self._can_share(value)
        if not self._sharing:
            super()._add(value, timestamp)
            return
        key, watermark = self._backend.key, self._timers.watermark
        saved = self._saved.of(key)
        skipped, folded = True, False
        for covered in self._assigner.assign_windows(value, timestamp, self._assigner_context):
            window = (covered.start, covered.end)
            cleanup = self._cleanup_of(window)
            if cleanup <= watermark:
                continue
            skipped = False
            if cleanup <= saved:
                self._add_to(covered, window, window, value, timestamp)
                continue
            if not folded:
                folded = True
                piece = (self._slicing.bounds(timestamp)[0], (key,), (value,))
                self._slices.fold_in((piece,), self._folding)
            if end_of(window) <= watermark:
                self._emit_results(window, (key,), self._gather(window, (key,)))
            else:
                self._set_timers(end_of(window), (key,), window)
            if cleanup < MAX_TIME:
                self._set_timers(cleanup, (key,), window)
        self._backend.key = key
        if skipped:
            self._skipped(value, timestamp)

    def _due(self, time: int, window: Bounds, keys: list[Any]) -> None:
        cleanup = self._cleanup_of(window)
        if not self._sharing:
            super()._due(time, window, keys)
            return
        if cleanup <= self._saved.greatest:
            anew = [key for key in keys if cleanup <= self._saved.of(key)]
            if anew:
                super()._due(time, window, anew)
                keys = [key for key in keys if cleanup > self._saved.of(key)]
        if time == end_of(window):
            self._emit_results(window, keys, self._gather(window, keys, and_go_on=True))
            if self._lateness:
                self._set_cleanup(keys, window)
        if time == cleanup:
            for start in self._slicing.leaving(window[0]):
                self._slices.drop_in(start, keys)
            self._clear_functions(window, keys)

    def _gather(self, window: Bounds, keys: Sequence[Any], *, and_go_on: bool = False) -> list[Any]:
        """The accumulators of a window, made of those of its slices; None where it has none.

        With ``and_go_on`` the next window is set to fire for all keys that have something in it.
        """
        slide = self._slicing.slide
        following = (window[0] + slide, window[1] + slide)
        leaving = self._slicing.leaving(window[0])
        staying = self._slicing.slices(window[0])[len(leaving) :]
        merge = self._merge
        first = self._slices.merge_in(leaving, keys, merge)
        rest = self._slices.merge_in(staying, keys, merge)
        if and_go_on and rest:
            self._set_timers(end_of(following), self._yet_to_fire(following, rest), following)
        found = []
        for key in keys:
            before, after = first.get(key), rest.get(key)
            if before is None or after is None:
                found.append(after if before is None else before)
            else:
                found.append(merge(before, after))
        return found

    def _yet_to_fire(self, window: Bounds, keys: Iterable[Any]) -> list[Any]:
        """Those of ``keys`` whose window had not fired when the state was saved.

        One that had fires again only if a record comes into it, which sets its timer.
        """
        end = end_of(window)
        if end > self._saved.greatest:
            return list(keys)
        return [key for key in keys if end > self._saved.of(key)]

    def _can_share(self, value: Any) -> bool:
        """Whether accumulators can be merged: tried out with one record and no record."""
        function = self._spec.aggregate
        if not isinstance(function, AggregateFunction):
            return True
        try:
            reason = _why_not_merged(function, value)
        except Exception as error:  # noqa: BLE001  (a merge that does not work is not called again)
            reason = repr(error)
        if reason is None:
            return True
        log.warning(
            "windows keep an accumulator each operator=%s function=%s: merge cannot be used (%s); sliding "
            "windows that share accumulators need it and are faster",
            self._name,
            type(function).__name__,
            reason,
        )
        return False


def _why_not_merged(function: AggregateFunction, value: Any) -> str | None:
    """What is wrong with ``merge``; None if nothing is found."""

    def with_value() -> Any:
        return function.add(value, function.create_accumulator())

    expected = function.get_result(with_value())
    for merged in (
        function.merge(with_value(), function.create_accumulator()),
        function.merge(function.create_accumulator(), with_value()),
    ):
        if merged is None:
            return "it returned None"
        result = function.get_result(merged)
        if result != expected and result == result:  # noqa: PLR0124  (not a number is like another)
            return f"with an empty accumulator it made {result!r} of {expected!r}"
    return None
