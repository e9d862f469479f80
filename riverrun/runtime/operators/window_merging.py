"""Windows that may become one, such as sessions."""

from __future__ import annotations

from typing import Any

from riverrun.api.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from riverrun.api.timer_service import TimeDomain
from riverrun.api.window_assigner import MergingWindowAssigner
from riverrun.api.windows import Window
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import WindowSpec
from riverrun.runtime.operators.merging_windows import (
    Merge,
    MergingWindowSet,
    merge_by,
    merge_times,
)
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.window import WindowOperator
from riverrun.runtime.operators.window_contexts import FunctionContext
from riverrun.runtime.operators.window_namespaces import (
    MAX_TIME,
    Namespace,
    end_of,
    namespace_of,
    window_of,
)
from riverrun.runtime.operators.window_states import RefusedStateStore
from riverrun.runtime.timer_services import KeyedTimers

_SESSIONS = (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
)


class MergingWindowOperator(WindowOperator):
    """Adds to what every window does the set of a key's windows and what happens when some become one."""

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        if not spec.trigger.can_merge():
            raise ProgramError(
                f"windows of {spec.assigner!r} merge, and the trigger {spec.trigger!r} cannot; "
                f"use a trigger whose can_merge() is true"
            )

    def open(self, context: OperatorContext) -> None:
        self._windows = MergingWindowSet(context.states.keyed, _merge_of(self._spec.assigner))
        super().open(context)

    def _open_function_context(
        self, timers: KeyedTimers, context: OperatorContext
    ) -> FunctionContext:
        return FunctionContext(timers, RefusedStateStore(context.name), context.runtime)

    def _add(self, value: Any, timestamp: int) -> None:
        skipped = True
        windows = self._windows.load()
        for window in self._assigner.assign_windows(value, timestamp, self._assigner_context):
            namespace = self._windows.add(windows, namespace_of(window), self._merged)
            actual = window_of(namespace)
            if self._event_time and end_of(actual, self._lateness) <= self._timers.watermark:
                del windows[namespace]
                continue
            skipped = False
            self._add_to(actual, namespace, windows[namespace], value, timestamp)
        self._windows.save(windows)
        if skipped:
            self._skipped(value, timestamp)

    def _merged(
        self,
        result: Namespace,
        parts: list[Namespace],
        state_window: Namespace,
        moved: list[Namespace],
    ) -> None:
        """Windows became one: so do their triggers' states, their timers and their contents."""
        window = window_of(result)
        self._refuse_end_before_now(window)
        context = self._trigger_context
        self._backend.namespace = context.namespace = result
        context.merged = parts
        self._trigger.on_merge(window, context)
        context.merged = ()
        for part in parts:
            over = window_of(part)
            self._clear_trigger(over, part)
            self._delete_cleanup(over, part)
        if moved:
            self._contents.merge(state_window, moved)

    def _timer_due(
        self, time: int, window: Window, namespace: Namespace, domain: TimeDomain
    ) -> None:
        windows = self._windows.load()
        state_window = windows.get(namespace, _GONE)
        if state_window is _GONE:
            return  # the trigger left a timer behind when the window became part of another one
        last = self._is_cleanup(time, window, domain)
        self._timer_of(time, window, namespace, state_window, domain, last=last)
        if last:
            self._clear(window, namespace, state_window)
            del windows[namespace]
            self._windows.save(windows)

    def _delete_cleanup(self, window: Window, namespace: Namespace) -> None:
        time = end_of(window, self._lateness)
        if time == MAX_TIME:
            return
        if self._event_time:
            self._timers.delete_event(time, namespace)
        else:
            self._timers.delete_processing(time, namespace)

    def _refuse_end_before_now(self, window: Window) -> None:
        end = end_of(window, self._lateness)
        if self._event_time:
            if end <= self._timers.watermark:
                raise MergedIntoThePast(
                    self._name, repr(window), "watermark", self._timers.watermark
                )
        elif end < (now := self._timers.current_processing_time()):
            raise MergedIntoThePast(self._name, repr(window), "processing time", now)


_GONE = object()


class MergedIntoThePast(ProgramError):  # noqa: N818
    """Merging made a window that was over before it was there."""

    def __init__(self, operator: str, window: str, clock: str, now: int) -> None:
        super().__init__(operator, window, clock, now)
        self.operator, self.window, self.clock, self.now = operator, window, clock, now

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: windows merged into {self.window}, which ends before the current "
            f"{self.clock} {self.now}; the assigner's merge_windows must not make windows end earlier"
        )


def _merge_of(assigner: Any) -> Merge:
    assert isinstance(assigner, MergingWindowAssigner)  # noqa: S101  (asked before this operator is made)
    return merge_times if type(assigner) in _SESSIONS else merge_by(assigner)
