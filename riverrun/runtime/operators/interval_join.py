"""Pairs of records of two keyed streams that are close to each other in event time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.state import ListStateDescriptor
from riverrun.core.errors import UserCodeError
from riverrun.graph.specs import IntervalJoinSpec
from riverrun.metrics.metric import Counter
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.co_function import CoFunctionOperator
from riverrun.runtime.operators.gathered import Gathered
from riverrun.runtime.operators.join_buffer import JoinBuffer
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.state.backend import NO_KEY

_LEFT: Final = 0
_RIGHT: Final = 1


class NoEventTime(UserCodeError):  # noqa: N818
    """A record without a timestamp came to an operator that goes by event time."""

    def __init__(self, operator: str) -> None:
        super().__init__(operator)
        self.operator = operator

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: the record has no timestamp, and an interval join goes by "
            f"event time; give both streams timestamps with assign_timestamps_and_watermarks()"
        )


class _Context(ProcessJoinFunction.Context):
    """The pair in hand; one object per operator, moved from pair to pair."""

    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = self.right = MIN_TIMESTAMP

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


class _Side:
    """What is particular to one of the two inputs."""

    __slots__ = ("buffer", "keep_ms", "late_tag", "lower_ms", "number", "upper_ms")

    def __init__(
        self, number: int, buffer: JoinBuffer, lower_ms: int, upper_ms: int, late_tag: str | None
    ) -> None:
        self.number = number
        self.buffer = buffer
        self.lower_ms, self.upper_ms = lower_ms, upper_ms
        """Where partners are, relative to a record of this side."""
        self.keep_ms = max(0, upper_ms)
        """How far event time must get past a record before no partner can come any more."""
        self.late_tag = late_tag


class IntervalJoinOperator(CoFunctionOperator):
    """Keeps the records of both sides for as long as a partner may still come.

    A record meets those that came before it and that are still kept; so each pair is made once, by the
    one of the two that comes last. A record before the watermark is late and meets nobody.
    """

    def __init__(self, spec: IntervalJoinSpec) -> None:
        super().__init__(spec.fn)
        self._spec = spec
        self._join: Callable[[Any, Any, Any], Any] = spec.fn.process_element
        self._watermark = MIN_TIMESTAMP
        self._context = _Context()

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        backend, spec = self._backend, self._spec
        assert backend is not None  # noqa: S101  (an interval join is one of keyed streams)
        self._name = context.name
        self._side_output = context.side_output
        self._dropped: Counter = context.runtime.get_metrics_group().counter(
            "numLateRecordsDropped"
        )
        self._cleanup = backend.timers("_interval_join.cleanup")
        lower, upper = spec.lower_ms, spec.upper_ms
        left = JoinBuffer(backend, "_interval_join.left", upper - lower + 1)
        right = JoinBuffer(backend, "_interval_join.right", upper - lower + 1)
        self._left = _Side(_LEFT, left, lower, upper, spec.left_late_tag)
        self._right = _Side(_RIGHT, right, -upper, -lower, spec.right_late_tag)
        self._take_up_bounds(context)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._take(self._left, self._right, self._key, (values, timestamps), emit)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._take(self._right, self._left, self._second_key, (values, timestamps), emit)

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._watermark = watermark
        backend, take = self._backend, self._cleanup.take
        assert backend is not None  # noqa: S101  (set by open)
        sides = (self._left, self._right)
        while (due := take(watermark)) is not None:
            time, timers = due
            for key, number in timers:
                backend.key = key
                side = sides[number]
                if time == MAX_WATERMARK:
                    side.buffer.clear()
                else:
                    side.buffer.drop(time - side.keep_ms)
        backend.key = NO_KEY

    def _take(
        self,
        own: _Side,
        other: _Side,
        key_of: Callable[[Any], Any] | None,
        run: tuple[list[Any], list[int] | None],
        emit: Emit,
    ) -> None:
        values, timestamps = run
        backend = self._backend
        assert backend is not None and key_of is not None  # noqa: S101, PT018  (set by open)
        gathered = Gathered(timed=True)
        late: list[int] = []
        for index, value in enumerate(values):
            time = MIN_TIMESTAMP if timestamps is None else timestamps[index]
            if time == MIN_TIMESTAMP:
                raise NoEventTime(self._name)
            if time < self._watermark:
                late.append(index)
                continue
            key = backend.key = key_of(value)
            own.buffer.add(time, value)
            partners = other.buffer.between(time + own.lower_ms, time + own.upper_ms)
            if partners:
                self._pair(own, value, time, partners, gathered)
            self._cleanup.add(min(time + own.keep_ms, MAX_WATERMARK), key, own.number)
        backend.key = NO_KEY
        backend.records_passed(len(values))
        gathered.emit(emit, self._side_output)
        if late and timestamps is not None:
            self._emit_late(own, [values[at] for at in late], [timestamps[at] for at in late])

    def _pair(
        self, own: _Side, value: Any, time: int, partners: list[tuple[int, Any]], gathered: Gathered
    ) -> None:
        """Call the function for the record and each of its partners, which are sorted by time."""
        context, join, add = self._context, self._join, gathered.add
        if own.number == _LEFT:
            context.left = time
            for context.right, partner in partners:
                made = join(value, partner, context)
                if made is not None:
                    add(made, max(time, context.right))
        else:
            context.right = time
            for context.left, partner in partners:
                made = join(partner, value, context)
                if made is not None:
                    add(made, max(time, context.left))

    def _emit_late(self, side: _Side, values: list[Any], timestamps: list[int]) -> None:
        if side.late_tag is None:
            self._dropped.inc(len(values))
        else:
            self._side_output(side.late_tag)(values, timestamps)

    def _take_up_bounds(self, context: OperatorContext) -> None:
        """Rearrange restored records if the program had other bounds when it wrote them."""
        bounds = (self._spec.lower_ms, self._spec.upper_ms)
        descriptor = ListStateDescriptor("_interval_join.bounds")
        written = context.states.operator.get_union_list_state(descriptor)
        if any(tuple(each) != bounds for each in written.get()):
            for side in (self._left, self._right):
                for key, time in side.buffer.rearrange():
                    self._cleanup.add(min(time + side.keep_ms, MAX_WATERMARK), key, side.number)
        written.update([bounds])
