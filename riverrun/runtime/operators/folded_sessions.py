"""Sessions by event time with an incremental function: those that records come into are held at hand.

Most keys have one session, into which record after record comes. It is taken out of the state once, and each
record then costs one look into a dict and the user's call. What is held is written to the state before a snapshot
is taken, when there is too much of it, and when something comes up that only ``SessionOperator`` knows: a second
session of the key, or a record that may be late. A session that grows leaves its timer where it is; once that is
due, it is set for the end as it is then.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final, cast

from riverrun.api.functions import AggregateFunction
from riverrun.api.resolve import reduce_callable
from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.api.timer_service import TimeDomain
from riverrun.api.windows import Window
from riverrun.graph.specs import WindowSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.window_contents import STATE
from riverrun.runtime.operators.window_namespaces import MAX_TIME, Namespace
from riverrun.runtime.operators.window_sessions import SessionOperator
from riverrun.state.backend import NO_KEY

_MOST: Final = 1 << 14
"""Sessions that may be at hand: to write them takes some ten milliseconds."""


class _Session:
    """The only session of a key, ahead of what the state says about it."""

    __slots__ = ("end", "held", "home", "known", "start", "timer")

    def __init__(self, window: tuple[int, int], held: Any) -> None:
        self.start, self.end = window
        self.held = held
        """The accumulator; None where the function gave none."""
        self.timer: Namespace = window
        """The window whose end has a timer."""
        self.known: Namespace | None = None
        """The window that is in the state, if one is."""
        self.home: Namespace = window
        """Where in the state the accumulator belongs."""


class FoldedSessionOperator(SessionOperator):
    """Gives the results of ``SessionOperator``, and snapshots with the same state and timers."""

    @staticmethod
    def can_run(spec: WindowSpec) -> bool:
        """Whether windows of ``spec`` are of this kind."""
        # Sessions that are kept after they fired are few, and their timers are two.
        return (
            SessionOperator.can_run(spec)
            and spec.aggregate is not None
            and spec.allowed_lateness_ms == 0
        )

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        function = spec.aggregate
        self._first: Callable[[Any], Any]
        self._fold: Callable[[Any, Any], Any]
        self._result: Callable[[Any], Any]
        if isinstance(function, AggregateFunction):
            create, add = function.create_accumulator, function.add
            self._first = lambda value: add(value, create())
            self._fold, self._result = add, function.get_result
        else:
            assert function is not None  # noqa: S101  (asked by can_run)
            reduce = reduce_callable(function)
            self._first = self._result = _as_it_is
            self._fold = lambda value, held: reduce(held, value)

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._sessions: dict[Any, _Session] = {}
        state = self._backend.state(ValueStateDescriptor(STATE), namespaced=True)
        self._accumulators = cast("ValueState[Any]", state)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        times = list(islice(self._times(values, timestamps), len(values)))
        ends = self._ends(values, times)
        keys = self._keys_of(values)
        if ends and (min(times) <= MIN_TIMESTAMP or max(ends) > MAX_TIME):
            self._settle_all()
            super().process(values, timestamps, emit)
            return
        find, fold, first = self._sessions.get, self._fold, self._first
        for key, value, time, end in zip(keys, values, times, ends, strict=True):
            session = find(key)
            # One that is at hand is not over, so nothing that touches it is late.
            if session is None or time > session.end or end < session.start:
                self._begin(key, value, (time, end))
                continue
            if end > session.end:  # noqa: PLR1730  (a call of max per record)
                session.end = end
            if time < session.start:  # noqa: PLR1730
                session.start = time
            held = session.held
            session.held = first(value) if held is None else fold(value, held)
        self._backend.key = NO_KEY
        self._backend.records_passed(len(values))
        self._results.send(emit)
        if len(self._sessions) > _MOST:
            self._settle_all()

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._settle_all()
        super().snapshot(checkpoint, timestamp)

    def _begin(self, key: Any, value: Any, window: tuple[int, int]) -> None:
        """Take in a record that touches no session at hand."""
        self._backend.key = key
        self._settle(key)
        if window[1] <= self._timers.watermark + 1:
            self._add(value, window[0])
            return
        stored = self._windows.stored()
        if stored is None:
            self._sessions[key] = _Session(window, self._first(value))
            self._timers.event.add(window[1] - 1, key, window)
            return
        known, home = stored[0]
        if len(stored) > 1 or window[0] > known[1] or window[1] < known[0]:
            self._add_session(key, window, [value])
            return
        self._backend.namespace = home
        held = self._accumulators.value()
        session = _Session(known, self._first(value) if held is None else self._fold(value, held))
        session.known, session.home = known, home
        session.start, session.end = min(known[0], window[0]), max(known[1], window[1])
        self._sessions[key] = session

    def _settle(self, key: Any) -> None:
        """Write what is at hand of the current key to the state."""
        session = self._sessions.pop(key, None)
        if session is None:
            return
        window = (session.start, session.end)
        if window != session.timer:
            self._timers.event.remove(session.timer[1] - 1, key, session.timer)
            self._timers.event.add(window[1] - 1, key, window)
        if window != session.known:
            self._windows.store(((window, session.home),))
        self._backend.namespace = session.home
        self._accumulators.update(session.held)

    def _settle_all(self) -> None:
        backend = self._backend
        for key in list(self._sessions):
            backend.key = key
            self._settle(key)
        backend.key = NO_KEY

    def _timer_due(
        self, time: int, window: Window, namespace: Namespace, domain: TimeDomain
    ) -> None:
        key = self._backend.key
        session = self._sessions.get(key)
        if session is None:
            super()._timer_due(time, window, namespace, domain)
            return
        if namespace != session.timer:
            return
        grown = (session.start, session.end)
        if grown != namespace:
            session.timer = grown
            self._timers.event.add(grown[1] - 1, key, grown)
            return
        del self._sessions[key]
        self._backend.namespace = session.home
        result = None if session.held is None else self._result(session.held)
        if result is not None:
            made = self._call(key, window, (result,))
            if made is not None:
                self._results.add(made, time)
        self._drop(session, window)

    def _drop(self, session: _Session, window: Window) -> None:
        """The session is over: nothing of it is left."""
        if session.known is not None:
            self._backend.namespace = session.home
            self._accumulators.clear()
            self._windows.store(None)
        if self._function_clear is not None:
            self._function_clear(window)


def _as_it_is(value: Any) -> Any:
    return value
