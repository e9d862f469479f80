"""Joins of two keyed streams by how far apart records are in event time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, NoReturn, Self, TypeVar

from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.core.errors import ProgramError
from riverrun.core.time import DurationLike, to_millis
from riverrun.datastream.connected import (
    Connectable,
    OperatorStream,
    check_same_program,
    two_inputs,
)
from riverrun.datastream.output_types import output_type_of
from riverrun.graph.specs import IntervalJoinSpec
from riverrun.serde.type_info import TypeInformation

__all__ = ["IntervalJoin", "IntervalJoined"]

S = TypeVar("S", bound=OperatorStream)


class IntervalJoin(Generic[S]):
    """Two keyed streams whose records of one key may be joined; what ``a.interval_join(b)`` gives."""

    def __init__(self, left: Connectable[S], right: Connectable[S]) -> None:
        self._left = left
        self._right = right
        check_same_program("interval_join", left, right)

    def in_event_time(self) -> Self:
        """Go by event time, as an interval join always does."""
        return self

    def in_processing_time(self) -> NoReturn:
        """Refuse: there is no interval join by the wall clock."""
        raise ProgramError(
            "interval_join: processing time is not supported; give the streams timestamps with "
            "assign_timestamps_and_watermarks() and join them in event time"
        )

    def between(self, lower_bound: DurationLike, upper_bound: DurationLike) -> IntervalJoined[S]:
        """Join records with ``left + lower_bound <= right <= left + upper_bound`` in event time.

        Either bound may be negative: then the right record comes before the left one.
        """
        lower, upper = to_millis(lower_bound), to_millis(upper_bound)
        if lower > upper:
            raise ValueError(
                f"interval_join: the lower bound is {lower} ms and the upper bound {upper} ms; "
                f"expected lower <= upper"
            )
        return IntervalJoined(self._left, self._right, _Bounds(lower, upper))


@dataclass(frozen=True, slots=True)
class _Bounds:
    lower_ms: int
    upper_ms: int
    lower_open: bool = False
    upper_open: bool = False
    left_late: OutputTag | None = None
    right_late: OutputTag | None = None


class IntervalJoined(Generic[S]):
    """An interval join that only lacks its function; what ``between`` gives."""

    def __init__(self, left: Connectable[S], right: Connectable[S], bounds: _Bounds) -> None:
        self._left = left
        self._right = right
        self._bounds = bounds

    def upper_bound_exclusive(self) -> IntervalJoined[S]:
        """Leave out pairs that are exactly the upper bound apart."""
        return self._with(upper_open=True)

    def lower_bound_exclusive(self) -> IntervalJoined[S]:
        """Leave out pairs that are exactly the lower bound apart."""
        return self._with(lower_open=True)

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined[S]:
        """Send late records of the left stream to a side output, instead of dropping them."""
        return self._with(left_late=_checked("side_output_left_late_data", output_tag))

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined[S]:
        """Send late records of the right stream to a side output, instead of dropping them."""
        return self._with(right_late=_checked("side_output_right_late_data", output_tag))

    def process(
        self,
        process_join_function: ProcessJoinFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Call the function for each pair; its results have the later of the pair's timestamps."""
        fn, bounds = process_join_function, self._bounds
        if not isinstance(fn, ProcessJoinFunction):
            raise TypeError(
                f"process: got {fn!r} on an interval join; expected a ProcessJoinFunction object"
            )
        type_info = output_type_of("process", output_type, fn.process_element, element=True)
        spec = IntervalJoinSpec(
            fn,
            lower_ms=bounds.lower_ms + bounds.lower_open,
            upper_ms=bounds.upper_ms - bounds.upper_open,
            left_late_tag=None if bounds.left_late is None else bounds.left_late.tag_id,
            right_late_tag=None if bounds.right_late is None else bounds.right_late.tag_id,
        )
        return two_inputs(
            "interval_join",
            (self._left, self._right),
            "Interval Join",
            spec,
            type_info,
            declared=output_type is not None,
        )

    def _with(self, **changes: Any) -> IntervalJoined[S]:
        return IntervalJoined(self._left, self._right, replace(self._bounds, **changes))


def _checked(method: str, tag: Any) -> OutputTag:
    if not isinstance(tag, OutputTag):
        raise TypeError(f"{method}: got {tag!r}; expected an OutputTag")
    return tag
