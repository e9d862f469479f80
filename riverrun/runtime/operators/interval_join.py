"""Pairs of records of two keyed streams that are close to each other in event time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress, repeat
from typing import Any, Final

from riverrun import loops
from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.state import ListStateDescriptor
from riverrun.core.errors import UserCodeError
from riverrun.graph.specs import IntervalJoinSpec
from riverrun.loops import KeyHolder, PairTimes
from riverrun.loops.pure import meet_found
from riverrun.metrics.metric import Counter
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.co_function import CoFunctionOperator
from riverrun.runtime.operators.gathered import Gathered
from riverrun.runtime.operators.join_buffer import JoinBuffer
from riverrun.runtime.operators.join_side import JoinSide
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.run_keys import KeysOf
from riverrun.runtime.timestamps import first_and_last
from riverrun.state.backend import NO_KEY

_LEFT: Final = 0
_RIGHT: Final = 1
_BY_BUCKET: Final = "by bucket"
"""Says in snapshots that there is one timer for each bucket; earlier ones have one for each record."""
_MOST: Final = 1 << 17
"""Records that may be at hand: to put them into the state takes a tenth of a second."""
_MOST_UNSAVED: Final = 1 << 20
"""The same in a job that takes no checkpoints, at most a savepoint now and then."""
_MOST_SLOWLY: Final = 1 << 14
"""The same where the state is not in memory."""
_PARTS: Final = 16
"""Room is made for so small a part of what may be at hand at a time."""


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


class _Context(PairTimes, ProcessJoinFunction.Context):
    """The pair in hand; one object per operator, moved from pair to pair."""

    __slots__ = ()

    def __init__(self) -> None:
        self.left = self.right = MIN_TIMESTAMP

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


class IntervalJoinOperator(CoFunctionOperator):
    """Keeps the records of both sides for as long as a partner may still come.

    A record meets those that came before it and that are still kept; so each pair is made once, by the
    one of the two that comes last. A record before the watermark is late and meets nobody. Records go a
    bucket at a time, when no partner can come for any in it: up to a quarter of the interval later. They
    are at hand until a snapshot is taken, and in the state from then on.
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
        self._holder: KeyHolder = backend
        self._name = context.name
        self._side_output = context.side_output
        self._dropped: Counter = context.runtime.get_metrics_group().counter(
            "numLateRecordsDropped"
        )
        self._cleanup = backend.timers("_interval_join.cleanup")
        lower, upper = spec.lower_ms, spec.upper_ms
        left = JoinBuffer(backend, "_interval_join.left", upper - lower + 1)
        right = JoinBuffer(backend, "_interval_join.right", upper - lower + 1)
        self._left = JoinSide(_LEFT, left, lower, upper, spec.left_late_tag)
        self._right = JoinSide(_RIGHT, right, -upper, -lower, spec.right_late_tag)
        self._sides = (self._left, self._right)
        self._most = _most_at_hand(swift=left.swift, checkpointing=context.checkpointing)
        self._take_up_bounds(context)
        for side in self._sides:
            side.take_up(self._cleanup)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._take(self._left, self._right, self._keys_of, (values, timestamps), emit)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._take(self._right, self._left, self._second_keys_of, (values, timestamps), emit)

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._watermark = watermark
        for side in self._sides:
            side.forget(watermark)
        cleanup, time = self._cleanup, None
        while (due := cleanup.take(watermark)) is not None:
            time, timers = due
            for side in self._sides:
                keys = [key for key, number in timers if number == side.number]
                if keys:
                    side.forget_stored(time, keys)
        if time is not None and cleanup.next_time() is None:
            for side in self._sides:
                side.nothing_stored()

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        for side in self._sides:
            side.store(self._cleanup)
        super().snapshot(checkpoint, timestamp)

    def _take(
        self,
        own: JoinSide,
        other: JoinSide,
        keys_of: KeysOf | None,
        run: tuple[list[Any], list[int] | None],
        emit: Emit,
    ) -> None:
        backend = self._backend
        assert backend is not None and keys_of is not None  # noqa: S101, PT018  (set by open)
        earliest = self._earliest(*run)
        values, times = self._on_time(own, earliest, *run)
        if values:
            keys = keys_of(values)
            # All of a run are of one side, so none of them is the partner of another.
            own.hand.hold(keys, values, times)
            gathered = Gathered(timed=True)
            stored_too = not other.all_at_hand(max(earliest, self._watermark) + own.lower_ms)
            self._meet(own, other, keys, (values, times), gathered, stored_too=stored_too)
            backend.key = NO_KEY
            if own.hand.count + other.hand.count > self._most:
                self._make_room()
            gathered.emit(emit, self._side_output)
        backend.records_passed(len(run[0]))

    def _earliest(self, values: list[Any], timestamps: list[int] | None) -> int:
        """The first of the times of a run."""
        if not values:
            return MAX_WATERMARK
        earliest = MIN_TIMESTAMP if timestamps is None else first_and_last(timestamps)[0]
        if earliest == MIN_TIMESTAMP:
            times = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
            for value, time in zip(values, times, strict=False):  # noqa: B007  (the value is named)
                if time == MIN_TIMESTAMP:
                    raise NoEventTime(self._name)
        return earliest

    def _on_time(
        self, side: JoinSide, earliest: int, values: list[Any], timestamps: list[int] | None
    ) -> tuple[list[Any], list[int]]:
        """The records that are not late; the others go their way."""
        watermark, times = self._watermark, timestamps or []
        if earliest >= watermark:
            return values, times
        late = [time < watermark for time in times]
        self._emit_late(side, list(compress(values, late)), list(compress(times, late)))
        kept = [not each for each in late]
        return list(compress(values, kept)), list(compress(times, kept))

    def _meet(
        self,
        own: JoinSide,
        other: JoinSide,
        keys: list[Any],
        run: tuple[list[Any], list[int]],
        gathered: Gathered,
        *,
        stored_too: bool,
    ) -> None:
        """Call the function for each record and each of its partners, which may be in the state too."""
        values, times = run
        if stored_too:
            known = other.buffer.known(keys)
            if any(known):
                # Records of one key stay in their order.
                self._meet_stored(own, other, _only(known, keys, values, times), gathered)
                unknown = [not each for each in known]
                keys, values, times = _only(unknown, keys, values, times)
        out, out_times = gathered.main
        loops.meet(
            self._join, values, keys, self._context, self._holder, out, OutputTag, gathered.add_side, times, out_times,
            other.hand.buckets, other.hand.width, own.lower_ms, own.upper_ms, own is self._left,
        )  # fmt: skip

    def _meet_stored(
        self,
        own: JoinSide,
        other: JoinSide,
        run: tuple[list[Any], list[Any], list[int]],
        gathered: Gathered,
    ) -> None:
        keys, values, times = run
        out, out_times = gathered.main
        meet_found(
            self._join, values, keys, self._context, self._holder, out, OutputTag, gathered.add_side, times, out_times,
            other.finder(), own.lower_ms, own.upper_ms, own is self._left,
        )  # fmt: skip

    def _make_room(self) -> None:
        """Put into the state what is too much to be at hand."""
        over = sum(side.hand.recount() for side in self._sides) - self._most
        if over > 0:
            larger = max(self._sides, key=lambda side: side.hand.count)
            larger.store(self._cleanup, larger.hand.count - over - self._most // _PARTS)

    def _emit_late(self, side: JoinSide, values: list[Any], timestamps: list[int]) -> None:
        if side.late_tag is None:
            self._dropped.inc(len(values))
        else:
            self._side_output(side.late_tag)(values, timestamps)

    def _take_up_bounds(self, context: OperatorContext) -> None:
        """Rearrange restored records if they were written by other bounds or cleaned up in another way."""
        bounds = (self._spec.lower_ms, self._spec.upper_ms, _BY_BUCKET)
        descriptor = ListStateDescriptor("_interval_join.bounds")
        written = context.states.operator.get_union_list_state(descriptor)
        if any(tuple(each) != bounds for each in written.get()):
            for side in self._sides:
                side.take_up_other_bounds(self._cleanup)
        written.update([bounds])


def _most_at_hand(*, swift: bool, checkpointing: bool) -> int:
    if not swift:
        return _MOST_SLOWLY
    return _MOST if checkpointing else _MOST_UNSAVED


def _only(
    wanted: list[bool], keys: list[Any], values: list[Any], times: list[int]
) -> tuple[list[Any], list[Any], list[int]]:
    return (
        list(compress(keys, wanted)),
        list(compress(values, wanted)),
        list(compress(times, wanted)),
    )
