"""What assigners, triggers, evictors and window functions are given: one object each, moved along.

The backend's current key is theirs; ``namespace`` and ``current`` say which window is at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riverrun.api.evictor import Evictor
from riverrun.api.runtime_context import KeyedStateStore, RuntimeContext
from riverrun.api.state import State, StateDescriptor
from riverrun.api.trigger import Trigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_functions import ProcessAllWindowFunction, ProcessWindowFunction
from riverrun.api.windows import GlobalWindow, Window
from riverrun.metrics.groups import MetricGroup
from riverrun.runtime.operators.window_namespaces import (
    MAX_TIME,
    Namespace,
    end_of,
    window_of,
)
from riverrun.runtime.operators.window_states import WindowStates
from riverrun.runtime.timer_services import KeyedTimers


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """What assigners are given."""

    def __init__(self, timers: KeyedTimers, runtime: RuntimeContext) -> None:
        self._timers = timers
        self._runtime = runtime

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime


class TriggerContext(Trigger.OnMergeContext):
    """What triggers are given.

    Attributes:
        namespace: Of the window at hand.
        merged: The namespaces of the windows that became the one at hand, while that happens.
        at_end: Whether a timer of the end of time is being worked on.
    """

    def __init__(self, timers: KeyedTimers, states: WindowStates, runtime: RuntimeContext) -> None:
        self._timers = timers
        self._states = states
        self._runtime = runtime
        self.namespace: Namespace = None
        self.merged: Sequence[Namespace] = ()
        self.at_end = False

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def get_metric_group(self) -> MetricGroup:
        return self._runtime.get_metrics_group()

    def get_current_watermark(self) -> int:
        return self._timers.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self._timers.register_processing(min(time, MAX_TIME), self.namespace)

    def register_event_time_timer(self, time: int) -> None:
        if self._timers.watermark == MAX_TIME and end_of(window_of(self.namespace)) == MAX_TIME:
            # Nothing more will come, and a window without an end would go from timer to timer for ever:
            # it gets one more, at the end of time.
            if self.at_end:
                return
            time = MAX_TIME
        self._timers.register_event(min(time, MAX_TIME), self.namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        self._timers.delete_processing(min(time, MAX_TIME), self.namespace)

    def delete_event_time_timer(self, time: int) -> None:
        self._timers.delete_event(min(time, MAX_TIME), self.namespace)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        return self._states.get(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        if self.merged:
            self._states.merge(state_descriptor, self.namespace, self.merged)


class EvictorContext(Evictor.EvictorContext):
    """What evictors are given."""

    def __init__(self, timers: KeyedTimers, runtime: RuntimeContext) -> None:
        self._timers = timers
        self._runtime = runtime

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def get_metric_group(self) -> MetricGroup:
        return self._runtime.get_metrics_group()

    def get_current_watermark(self) -> int:
        return self._timers.watermark


class FunctionContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """What window functions are given.

    Attributes:
        current: The window at hand.
    """

    def __init__(
        self, timers: KeyedTimers, window_state: KeyedStateStore, runtime: RuntimeContext
    ) -> None:
        self._timers = timers
        self._window_state = window_state
        self._runtime = runtime
        self.current: Window = GlobalWindow.get()

    def window(self) -> Any:
        return self.current

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        return self._timers.watermark

    def window_state(self) -> KeyedStateStore:
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        return self._runtime
