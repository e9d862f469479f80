"""Aggregates of windows declared on columns: which operator computes them, and what comes out."""

from __future__ import annotations

from typing import Any, Final

from riverrun.api.count_window_assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from riverrun.api.evictor import Evictor
from riverrun.api.trigger import Trigger
from riverrun.api.triggers import EventTimeTrigger, ProcessingTimeTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.graph.column_specs import FixedWindows
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["bounds_of", "fixed_windows"]

_BOUNDLESS: Final = (GlobalWindows, CountTumblingWindowAssigner, CountSlidingWindowAssigner)


def fixed_windows(
    assigner: WindowAssigner[Any, Any],
    trigger: Trigger[Any, Any] | None,
    evictor: Evictor[Any, Any] | None,
) -> FixedWindows | None:
    """The assigner, if windows are of one size, follow each other or overlap, and fire when they are over."""
    if evictor is not None:
        return None
    if type(assigner) in (TumblingEventTimeWindows, SlidingEventTimeWindows):
        usual: type[Trigger[Any, Any]] = EventTimeTrigger
    elif type(assigner) in (TumblingProcessingTimeWindows, SlidingProcessingTimeWindows):
        usual = ProcessingTimeTrigger
    else:
        return None
    if trigger is not None and type(trigger) is not usual:
        return None
    assert isinstance(  # noqa: S101  (asked just now)
        assigner,
        TumblingEventTimeWindows
        | TumblingProcessingTimeWindows
        | SlidingEventTimeWindows
        | SlidingProcessingTimeWindows,
    )
    return assigner if getattr(assigner, "slide", assigner.size) <= assigner.size else None


def bounds_of(assigner: WindowAssigner[Any, Any]) -> list[tuple[str, TypeInformation]]:
    """The columns that say which window it is; windows that are not of time have none."""
    if isinstance(assigner, _BOUNDLESS):
        return []
    return [("window_start", Types.LONG()), ("window_end", Types.LONG())]
