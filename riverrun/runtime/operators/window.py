"""Windows of any assigner, trigger, evictor and function.

Per record: its windows are asked for, those that are late are left out, the record is added to the
others, and the trigger says whether to fire. Per timer: the trigger is asked again, and at the window's
cleanup time everything about it is dropped. Contents, timers and the trigger's memory are state of
(key, window) in the backend; the operator itself remembers nothing between two calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from riverrun.api.timer_service import TimeDomain
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.windows import GlobalWindow, Window
from riverrun.core.errors import ProgramError
from riverrun.core.short_repr import short_repr
from riverrun.graph.specs import WindowSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.operators.window_calls import Results, call_of, clear_of
from riverrun.runtime.operators.window_contents import contents_for
from riverrun.runtime.operators.window_contexts import (
    AssignerContext,
    EvictorContext,
    FunctionContext,
    TriggerContext,
)
from riverrun.runtime.operators.window_lifecycle import Lifecycles
from riverrun.runtime.operators.window_namespaces import (
    MAX_TIME,
    Namespace,
    end_of,
    namespace_of,
    window_of,
)
from riverrun.runtime.operators.window_states import WindowStates, WindowStateStore
from riverrun.runtime.run_keys import run_keys
from riverrun.runtime.timer_services import KeyedTimers
from riverrun.state.backend import NO_KEY

_CONTINUE = TriggerResult.CONTINUE


class WindowOperator(Operator):
    """Windows that stay what they are; those that merge have an operator of their own."""

    def __init__(self, spec: WindowSpec) -> None:
        self._spec = spec
        self._assigner = spec.assigner
        self._trigger: Trigger[Any, Any] = spec.trigger
        self._event_time = spec.assigner.is_event_time()
        self._lateness = spec.allowed_lateness_ms if self._event_time else 0
        self._lifecycles = Lifecycles(spec.aggregate, spec.function)

    def open(self, context: OperatorContext) -> None:
        assert context.key_selector is not None  # noqa: S101  (windows of all records have one key)
        self._name = context.name
        self._keys_of = run_keys(context.key_selector)
        backend = self._backend = context.states.keyed
        timers = self._timers = KeyedTimers(context.clock, backend, "window")
        runtime = context.runtime
        self._assigner_context = AssignerContext(timers, runtime)
        self._trigger_context = TriggerContext(
            timers, WindowStates(backend, "_window.trigger"), runtime
        )
        self._function_context = self._open_function_context(timers, context)
        self._contents = contents_for(self._spec, backend, EvictorContext(timers, runtime))
        self._call = call_of(self._spec.function, self._function_context)
        self._function_clear = clear_of(self._spec.function, self._function_context)
        self._last_window: tuple[Namespace, Window] = (None, GlobalWindow.get())
        self._results = Results(context.side_output)
        self._late_dropped = runtime.get_metrics_group().counter("numLateRecordsDropped")
        self._lifecycles.open(context)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        backend, add = self._backend, self._add
        keys, times = self._keys_of(values), self._times(values, timestamps)
        for value, backend.key, timestamp in zip(values, keys, times, strict=False):
            add(value, timestamp)
        backend.key = NO_KEY
        backend.records_passed(len(values))
        self._results.send(emit)

    def advance(self, watermark: int, emit: Emit) -> None:
        if watermark == MAX_TIME and self._spec.fire_open_at_end:
            self.run_due(MAX_TIME, emit)
        self._emit = emit
        self._timers.advance(watermark, self._on_timer)
        self._results.send(emit)

    def due_at(self) -> int | None:
        return self._timers.due_at()

    def run_due(self, now: int, emit: Emit) -> None:
        self._emit = emit
        self._timers.run_due(now, self._on_timer)
        self._results.send(emit)

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._lifecycles.snapshot(checkpoint, timestamp)

    def checkpoint_completed(self, checkpoint: int) -> None:
        self._lifecycles.checkpoint_completed(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        self._lifecycles.checkpoint_aborted(checkpoint)

    def close(self) -> None:
        self._lifecycles.close()

    def _open_function_context(
        self, timers: KeyedTimers, context: OperatorContext
    ) -> FunctionContext:
        states = WindowStates(self._backend, "_window.function")
        return FunctionContext(timers, WindowStateStore(states), context.runtime)

    def _times(self, values: list[Any], timestamps: list[int] | None) -> Iterable[int]:
        if timestamps is not None:
            return timestamps
        if self._event_time:
            raise MissingTimestamp(self._name, short_repr(values[0]), repr(self._assigner))
        return repeat(MIN_TIMESTAMP)

    def _add(self, value: Any, timestamp: int) -> None:
        """Take in a record of the current key."""
        skipped = True
        for window in self._assigner.assign_windows(value, timestamp, self._assigner_context):
            if self._event_time and end_of(window, self._lateness) <= self._timers.watermark:
                continue
            skipped = False
            namespace = namespace_of(window)
            self._add_to(window, namespace, namespace, value, timestamp)
        if skipped:
            self._skipped(value, timestamp)

    def _add_to(
        self,
        window: Window,
        namespace: Namespace,
        state_window: Namespace,
        value: Any,
        timestamp: int,
    ) -> None:
        """Take a record into a window that is not late and whose contents are in ``state_window``."""
        self._backend.namespace = state_window
        self._contents.add(value, timestamp)
        context = self._trigger_context
        self._backend.namespace = context.namespace = namespace
        result = self._trigger.on_element(value, timestamp, window, context)
        if result is not _CONTINUE:
            self._act(result, window, state_window, last=False)
        self._register_cleanup(window, namespace)

    def _skipped(self, value: Any, timestamp: int) -> None:
        """A record went into no window."""
        if not self._event_time or timestamp + self._lateness > self._timers.watermark:
            return
        if self._spec.late_tag is not None:
            late = value if self._spec.late_value is None else self._spec.late_value(value)
            self._results.add_side(self._spec.late_tag, late, timestamp)
        else:
            self._late_dropped.inc()

    def _on_timer(self, time: int, key: Any, namespace: Namespace, domain: TimeDomain) -> None:
        window = self._window_of(namespace)
        try:
            self._timer_due(time, window, namespace, domain)
        except OperatorFailed:
            raise
        except Exception as error:
            clock = "event-time" if domain is TimeDomain.EVENT_TIME else "processing-time"
            timer = f"<{clock} timer {time} of key {short_repr(key)} and window {window!r}>"
            raise OperatorFailed(self._name, timer) from error
        if self._results.many:
            self._results.send(self._emit)

    def _window_of(self, namespace: Namespace) -> Window:
        """The window of a timer; those of one time mostly have one window, which is made once."""
        known, window = self._last_window
        if namespace != known:
            window = window_of(namespace)
            self._last_window = (namespace, window)
        return window

    def _timer_due(
        self, time: int, window: Window, namespace: Namespace, domain: TimeDomain
    ) -> None:
        last = self._is_cleanup(time, window, domain)
        self._timer_of(time, window, namespace, namespace, domain, last=last)
        if last:
            self._clear(window, namespace, namespace)

    def _timer_of(
        self,
        time: int,
        window: Window,
        namespace: Namespace,
        state_window: Namespace,
        domain: TimeDomain,
        *,
        last: bool,
    ) -> None:
        """Ask the trigger what a timer of ``window`` means, and do it."""
        context = self._trigger_context
        self._backend.namespace = context.namespace = namespace
        context.at_end = time == MAX_TIME
        if time == MAX_TIME:
            # What was to be later than the end of time was put there; the trigger knows the real time.
            time = max(time, window.max_timestamp())
        if domain is TimeDomain.EVENT_TIME:
            result = self._trigger.on_event_time(time, window, context)
        else:
            result = self._trigger.on_processing_time(time, window, context)
        if result is not _CONTINUE:
            self._act(result, window, state_window, last=last)

    def _act(self, result: Any, window: Window, state_window: Namespace, *, last: bool) -> None:
        """Do what the trigger said; ``last`` if the window is over after that."""
        if not isinstance(result, TriggerResult):
            raise NoTriggerResult(self._name, repr(self._trigger), repr(result))
        self._backend.namespace = state_window
        if result.is_fire():
            self._fire(window, last=last or result.is_purge())
        if result.is_purge():
            self._backend.namespace = state_window
            self._contents.clear()

    def _fire(self, window: Window, *, last: bool) -> None:
        """Call the function for the window whose contents are in the current namespace."""
        contents = self._contents.read(window, last=last)
        if contents is None:
            return
        made = self._call(self._backend.key, window, contents)
        if made is not None:
            self._results.add(made, end_of(window))
        self._contents.was_read(window)

    def _is_cleanup(self, time: int, window: Window, domain: TimeDomain) -> bool:
        of_event_time = domain is TimeDomain.EVENT_TIME
        return of_event_time is self._event_time and time == end_of(window, self._lateness)

    def _register_cleanup(self, window: Window, namespace: Namespace) -> None:
        time = end_of(window, self._lateness)
        if time == MAX_TIME:
            return
        if self._event_time:
            self._timers.register_event(time, namespace)
        else:
            self._timers.register_processing(time, namespace)

    def _clear(self, window: Window, namespace: Namespace, state_window: Namespace) -> None:
        """The window is over: drop everything about it."""
        self._backend.namespace = state_window
        self._contents.clear()
        self._clear_trigger(window, namespace)
        if self._function_clear is not None:
            self._function_clear(window)

    def _clear_trigger(self, window: Window, namespace: Namespace) -> None:
        self._backend.namespace = self._trigger_context.namespace = namespace
        self._trigger.clear(window, self._trigger_context)


class MissingTimestamp(ProgramError):  # noqa: N818
    """Windows of event time got a record without one."""

    def __init__(self, operator: str, record: str, assigner: str) -> None:
        super().__init__(operator, record, assigner)
        self.operator, self.record, self.assigner = operator, record, assigner

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: the record {self.record} has no timestamp, and {self.assigner} "
            f"goes by event time; call assign_timestamps_and_watermarks(...) before key_by, or use "
            f"windows of processing time"
        )


class NoTriggerResult(ProgramError):  # noqa: N818
    """A trigger did not say what to do."""

    def __init__(self, operator: str, trigger: str, result: str) -> None:
        super().__init__(operator, trigger, result)
        self.operator, self.trigger, self.result = operator, trigger, result

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: the trigger {self.trigger} returned {self.result}; expected a "
            f"TriggerResult, such as TriggerResult.CONTINUE"
        )
