"""Windows of so many records of a key. A window fires when it is full, and never before."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from riverrun.api.state import ValueStateDescriptor
from riverrun.api.trigger import Trigger
from riverrun.api.triggers import CountTrigger, PurgingTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_lengths import positive_count
from riverrun.api.window_serializers import CountWindowSerializer
from riverrun.api.windows import CountWindow
from riverrun.serde.types import Types

__all__ = ["CountSlidingWindowAssigner", "CountTumblingWindowAssigner"]

T = TypeVar("T")


class _ByCount(WindowAssigner[T, CountWindow]):
    """Counts the records of each key, in state."""

    window_size: int
    count_desc: ClassVar[ValueStateDescriptor]

    def position(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """How many records of the key came before this one; the next call gives one more."""
        state = context.get_runtime_context().get_state(self.count_desc)
        before: int = state.value() or 0
        state.update(before + 1)
        return before

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        del env
        # A full window gets no further record: purging changes nothing but the size of the state.
        return PurgingTrigger(CountTrigger(self.window_size))

    def get_window_serializer(self) -> CountWindowSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


@dataclass(frozen=True, repr=False)
class CountTumblingWindowAssigner(_ByCount[T]):
    """Windows of ``window_size`` records, one after the other."""

    window_size: int

    count_desc: ClassVar = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    def __post_init__(self) -> None:
        positive_count(type(self).__name__, "the size", self.window_size)

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        """Windows of ``window_size`` records."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        del element, timestamp
        return [CountWindow(self.position(context) // self.window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.window_size})"


@dataclass(frozen=True, repr=False)
class CountSlidingWindowAssigner(_ByCount[T]):
    """Windows of ``window_size`` records; one begins every ``window_slide`` records.

    The first result comes when the first window is full. If the slide is greater than the size, the
    records between two windows belong to none.
    """

    window_size: int
    window_slide: int

    count_desc: ClassVar = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    def __post_init__(self) -> None:
        positive_count(type(self).__name__, "the size", self.window_size)
        positive_count(type(self).__name__, "the slide", self.window_slide)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        """Windows of ``window_size`` records, one every ``window_slide``."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        del element, timestamp
        position = self.position(context)
        last = position // self.window_slide
        first = max(0, -(-(position - self.window_size + 1) // self.window_slide))
        return [CountWindow(number) for number in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.window_size}, {self.window_slide})"
