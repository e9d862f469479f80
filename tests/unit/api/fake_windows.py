"""What triggers and assigners are given, made of dicts: clocks, timers and state of one key."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any
from unittest.mock import create_autospec

from riverrun.api.resolve import reduce_callable
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import (
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from riverrun.api.trigger import Trigger
from riverrun.api.window_assigner import MergingWindowAssigner, WindowAssigner
from riverrun.api.windows import TimeWindow, Window
from riverrun.protocol.elements import MIN_TIMESTAMP


class FakeValue(ValueState[Any]):
    def __init__(self, kept: dict[Any, Any], at: Any) -> None:
        self._kept, self._at = kept, at

    def value(self) -> Any:
        return self._kept.get(self._at)

    def update(self, value: Any) -> None:
        self._kept[self._at] = value

    def clear(self) -> None:
        self._kept.pop(self._at, None)


class FakeReducing(ReducingState[Any]):
    def __init__(self, kept: dict[Any, Any], at: Any, descriptor: ReducingStateDescriptor) -> None:
        self._kept, self._at = kept, at
        self._reduce = reduce_callable(descriptor.get_reduce_function())  # type: ignore[arg-type]  # as passed

    def get(self) -> Any:
        return self._kept.get(self._at)

    def add(self, value: Any) -> None:
        before = self._kept.get(self._at)
        self._kept[self._at] = value if before is None else self._reduce(before, value)

    def clear(self) -> None:
        self._kept.pop(self._at, None)


class FakeTriggerContext(Trigger.OnMergeContext):
    """The context of ``window``; ``merging`` are the windows that became it."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.merging: list[Window] = []
        self.watermark = MIN_TIMESTAMP
        self.now = 0
        self.event_timers: set[int] = set()
        self.processing_timers: set[int] = set()
        self.kept: dict[Any, Any] = {}

    def get_current_processing_time(self) -> int:
        return self.now

    def get_metric_group(self) -> Any:
        raise NotImplementedError

    def get_current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.add(time)

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.discard(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard(time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        at = (state_descriptor.name, self.window)
        if isinstance(state_descriptor, ReducingStateDescriptor):
            return FakeReducing(self.kept, at, state_descriptor)
        assert isinstance(state_descriptor, ValueStateDescriptor)
        return FakeValue(self.kept, at)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        assert isinstance(state_descriptor, ReducingStateDescriptor)
        name = state_descriptor.name
        target = FakeReducing(self.kept, (name, self.window), state_descriptor)
        for part in self.merging:
            found = self.kept.pop((name, part), None)
            if found is not None:
                target.add(found)


class FakeAssignerContext(WindowAssigner.WindowAssignerContext):
    """The wall clock, and a runtime context that has value state of one key and nothing else."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self.kept: dict[Any, Any] = {}

    def get_current_processing_time(self) -> int:
        return self.now

    @cached_property
    def runtime(self) -> Any:
        runtime = create_autospec(RuntimeContext, instance=True)
        runtime.get_state.side_effect = lambda descriptor: FakeValue(self.kept, descriptor.name)
        return runtime

    def get_runtime_context(self) -> RuntimeContext:
        runtime: RuntimeContext = self.runtime
        return runtime


class Merges(MergingWindowAssigner.MergeCallback[TimeWindow]):
    """Notes what became one."""

    def __init__(self) -> None:
        self.found: list[tuple[set[TimeWindow], TimeWindow]] = []

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.found.append((set(to_be_merged), merge_result))
