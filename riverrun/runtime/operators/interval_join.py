"""Pairs of records of two keyed streams that are close to each other in event time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress, repeat
from typing import Any, Final

from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.state import ListStateDescriptor
from riverrun.core.errors import UserCodeError
from riverrun.graph.specs import IntervalJoinSpec
from riverrun.metrics.metric import Counter
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.co_function import CoFunctionOperator
from riverrun.runtime.operators.gathered import Gathered, is_tagged
from riverrun.runtime.operators.join_buffer import JoinBuffer
from riverrun.runtime.operators.join_runs import Found, drop_bucket, keep_run, partners_of
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.run_keys import KeysOf
from riverrun.state.backend import NO_KEY

_LEFT: Final = 0
_RIGHT: Final = 1
_BY_BUCKET: Final = "by bucket"
"""Says in snapshots that there is one timer for each bucket; earlier ones have one for each record."""


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

    def gone_at(self, bucket: int) -> int:
        """When no partner can come any more for the records of a bucket."""
        width = self.buffer.width
        return min(bucket * width + width - 1 + self.keep_ms, MAX_WATERMARK)


class IntervalJoinOperator(CoFunctionOperator):
    """Keeps the records of both sides for as long as a partner may still come.

    A record meets those that came before it and that are still kept; so each pair is made once, by the
    one of the two that comes last. A record before the watermark is late and meets nobody. Records go a
    bucket at a time, when no partner can come for any in it: up to a quarter of the interval later.
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
        self._take(self._left, self._right, self._keys_of, (values, timestamps), emit)

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        self._take(self._right, self._left, self._second_keys_of, (values, timestamps), emit)

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        self._watermark = watermark
        backend, take = self._backend, self._cleanup.take
        assert backend is not None  # noqa: S101  (set by open)
        while (due := take(watermark)) is not None:
            time, timers = due
            for side in (self._left, self._right):
                keys = [key for key, number in timers if number == side.number]
                if keys:
                    self._clean(side, time, keys)
        backend.key = NO_KEY

    def _clean(self, side: _Side, time: int, keys: list[Any]) -> None:
        """Forget what ``keys`` hold of the bucket whose time has come, and everything when time ends."""
        backend, buffer = self._backend, side.buffer
        assert backend is not None  # noqa: S101  (set by open)
        bucket = (time - side.keep_ms) // buffer.width
        # Timers of restored state may have been set by other bounds.
        whole = time < MAX_WATERMARK and time == side.gone_at(bucket)
        if whole and buffer.maps is not None:
            drop_bucket(buffer.maps, bucket, keys)
            buffer.maps.note(keys)
            return
        for key in keys:
            backend.key = key
            if time == MAX_WATERMARK:
                buffer.clear()
            else:
                buffer.drop(time - side.keep_ms)

    def _take(
        self,
        own: _Side,
        other: _Side,
        keys_of: KeysOf | None,
        run: tuple[list[Any], list[int] | None],
        emit: Emit,
    ) -> None:
        backend = self._backend
        assert backend is not None and keys_of is not None  # noqa: S101, PT018  (set by open)
        gathered = Gathered(timed=True)
        values, times = self._on_time(own, *run)
        if own.buffer.maps is None or other.buffer.maps is None:
            self._meet_one_by_one(own, other, keys_of(values), (values, times), gathered)
        else:
            self._meet(own, other, keys_of(values), (values, times), gathered)
        backend.key = NO_KEY
        backend.records_passed(len(run[0]))
        gathered.emit(emit, self._side_output)

    def _on_time(
        self, side: _Side, values: list[Any], timestamps: list[int] | None
    ) -> tuple[list[Any], list[int]]:
        """The records that are not late; the others go their way."""
        if timestamps is None or MIN_TIMESTAMP in timestamps:
            times = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
            for value, time in zip(values, times, strict=False):  # noqa: B007  (the value is named)
                if time == MIN_TIMESTAMP:
                    raise NoEventTime(self._name)
        assert timestamps is not None  # noqa: S101  (asked just now)
        watermark = self._watermark
        if min(timestamps, default=watermark) >= watermark:
            return values, timestamps
        late = [time < watermark for time in timestamps]
        self._emit_late(side, list(compress(values, late)), list(compress(timestamps, late)))
        kept = [not each for each in late]
        return list(compress(values, kept)), list(compress(timestamps, kept))

    def _meet(
        self,
        own: _Side,
        other: _Side,
        keys: list[Any],
        run: tuple[list[Any], list[int]],
        gathered: Gathered,
    ) -> None:
        """Keep each record and let it meet its partners, in maps of buckets by key."""
        mine, theirs, width = own.buffer.maps, other.buffer.maps, own.buffer.width
        assert mine is not None and theirs is not None  # noqa: S101, PT018  (asked by the caller)
        values, times = run
        new = keep_run(mine, width, keys, zip(times, values, strict=True))
        mine.note(keys)
        for bucket, fresh in new.items():
            self._cleanup.add_all(own.gone_at(bucket), fresh, own.number)
        interval = (own.lower_ms, own.upper_ms)
        self._pair(own, partners_of(theirs, width, interval, keys, run), gathered)

    def _meet_one_by_one(
        self,
        own: _Side,
        other: _Side,
        keys: list[Any],
        run: tuple[list[Any], list[int]],
        gathered: Gathered,
    ) -> None:
        """The same where only the buckets of the current key can be had."""
        backend, width = self._backend, own.buffer.width
        assert backend is not None  # noqa: S101  (set by open)
        for key, value, time in zip(keys, *run, strict=True):
            backend.key = key
            if own.buffer.add(time, value):
                self._cleanup.add(own.gone_at(time // width), key, own.number)
            partners = other.buffer.between(time + own.lower_ms, time + own.upper_ms)
            if partners:
                self._pair(own, ((key, value, time, partners),), gathered)

    def _pair(self, own: _Side, found: Iterable[Found], gathered: Gathered) -> None:
        """Call the function for each record and each of its partners."""
        context, join, backend, tag = self._context, self._join, self._backend, OutputTag
        assert backend is not None  # noqa: S101  (set by open)
        append, append_time = gathered.main[0].append, gathered.main[1].append
        is_left = own.number == _LEFT
        for backend.key, value, time, partners in found:
            for at, partner in partners:
                if is_left:
                    context.left, context.right = time, at
                    made = join(value, partner, context)
                else:
                    context.left, context.right = at, time
                    made = join(partner, value, context)
                if made is None:
                    continue
                later = at if at > time else time  # noqa: FURB136  (a call of max per pair)
                for item in made:
                    if type(item) is tuple and item and type(item[0]) is tag and is_tagged(item):
                        gathered.add_side(item, later)
                    else:
                        append(item)
                        append_time(later)

    def _emit_late(self, side: _Side, values: list[Any], timestamps: list[int]) -> None:
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
            for side in (self._left, self._right):
                for key, bucket in side.buffer.rearrange():
                    self._cleanup.add(side.gone_at(bucket), key, side.number)
        written.update([bounds])
