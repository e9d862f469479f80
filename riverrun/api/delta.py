"""Windows by how far records are apart: by price, by place, by anything that has a distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar, cast

from riverrun.api.quiet_trigger import QuietTrigger
from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.windows import Window
from riverrun.serde.type_info import TypeInformation

__all__ = ["DeltaFunction", "DeltaLike", "DeltaTrigger", "delta_callable"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class DeltaFunction(ABC, Generic[T]):
    """Says how far a record is from an earlier one."""

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """The distance."""


DeltaLike: TypeAlias = DeltaFunction[Any] | Callable[[Any, Any], float]


def delta_callable(who: str, delta_function: DeltaLike) -> Callable[[Any, Any], float]:
    """What to call with two records to get their distance."""
    if isinstance(delta_function, DeltaFunction):
        return delta_function.get_delta
    if isinstance(delta_function, type) or not callable(delta_function):
        raise TypeError(
            f"{who}: the delta function is {delta_function!r}; "
            f"expected a DeltaFunction object or a callable of two records"
        )
    return delta_function


class DeltaTrigger(QuietTrigger[T, W]):
    """Fires when a record is farther than ``threshold`` from the one that fired last.

    The first record of a window does not fire; it is what the next ones are measured from.
    """

    def __init__(
        self,
        threshold: float,
        delta_function: DeltaLike,
        type_info: TypeInformation | None = None,
    ) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self._delta = delta_callable(type(self).__name__, delta_function)
        self.state_desc = ValueStateDescriptor("last-element", type_info)

    @staticmethod
    def of(
        threshold: float, delta_function: DeltaLike, type_info: TypeInformation | None = None
    ) -> DeltaTrigger[Any, Any]:
        """A trigger of this kind; ``type_info`` is the records' type."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        del timestamp, window
        state = cast("ValueState[T]", ctx.get_partitioned_state(self.state_desc))
        last = state.value()
        if last is None:
            state.update(element)
            return TriggerResult.CONTINUE
        if self._delta(last, element) <= self.threshold:
            return TriggerResult.CONTINUE
        state.update(element)
        return TriggerResult.FIRE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        del window, ctx
        raise NotImplementedError("DeltaTrigger: windows that merge cannot have it")

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        del window
        ctx.get_partitioned_state(self.state_desc).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.delta_function!r}, {self.threshold!r})"
