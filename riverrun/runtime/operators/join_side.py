"""One side of an interval join: what is at hand of it, what is in state, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.operators.join_buffer import JoinBuffer
from riverrun.runtime.operators.join_entries import Entry, merged
from riverrun.runtime.operators.join_hand import JoinHand
from riverrun.state.timers import TimerQueue

_NOTHING: Final = MIN_TIMESTAMP - 1
"""Before all buckets."""
_ANYTHING: Final = MAX_WATERMARK
"""Not before any bucket."""


class JoinSide:
    """The records of one of the two inputs, for as long as partners may come.

    A record is at hand first. In the state, what a key has in a bucket has one timer, which says when to forget it.

    Attributes:
        number: Which input it is, and the namespace of its timers.
        lower_ms, upper_ms: Where partners are, relative to a record of this side.
        late_tag: The side output of late records, if there is one.
        buffer: What is in the state.
        hand: What is not.
    """

    def __init__(
        self, number: int, buffer: JoinBuffer, lower_ms: int, upper_ms: int, late_tag: str | None
    ) -> None:
        self.number = number
        self.lower_ms = max(lower_ms, MIN_TIMESTAMP)
        self.upper_ms = min(upper_ms, MAX_WATERMARK)
        self.late_tag = late_tag
        self.buffer = buffer
        self.hand = JoinHand(buffer.width)
        self._keep_ms = max(0, upper_ms)
        """How far event time must get past a record before no partner can come any more."""
        self._stored_until = _NOTHING
        """The last bucket that the state may have something of."""

    def take_up(self, cleanup: TimerQueue) -> None:
        """See what is in the state."""
        if cleanup.next_time() is None:
            self.nothing_stored()
        elif self.buffer.swift:
            newest = self.buffer.newest()
            self._stored_until = _NOTHING if newest is None else newest
        else:
            self._stored_until = _ANYTHING

    def nothing_stored(self) -> None:
        """The state has nothing any more."""
        self._stored_until = _NOTHING

    def take_up_other_bounds(self, cleanup: TimerQueue) -> None:
        """Rearrange what is in the state by the bounds of this side."""
        for key, bucket in self.buffer.rearrange():
            cleanup.add(self._gone_at(bucket), key, self.number)

    def all_at_hand(self, first: int) -> bool:
        """Whether the state has no record from ``first`` on."""
        return first // self.buffer.width > self._stored_until

    def finder(self) -> Callable[[Any, int, int], list[Entry]]:
        """What finds the records of a key from a first time to a last one, sorted by time, until the run is over."""
        stored, at_hand = self.buffer.finder(), self.hand.between
        # What is in the state of a key and bucket came before all that is at hand of it.
        return lambda *wanted: merged(stored(*wanted), at_hand(*wanted))

    def forget(self, watermark: int) -> None:
        """Forget what is at hand and has no partners to come."""
        width = self.hand.width
        if watermark == MAX_WATERMARK:
            self.hand.drop(MAX_WATERMARK)
        else:
            self.hand.drop((watermark - self._keep_ms + 1) // width - 1)

    def forget_stored(self, time: int, keys: Collection[Any]) -> None:
        """Forget what ``keys`` have in the state and whose time has come."""
        if time == MAX_WATERMARK:
            self.buffer.clear(keys)
        else:
            # Timers of restored state may have been set by other bounds, in the middle of a bucket.
            self.buffer.drop(time - self._keep_ms, keys)

    def store(self, cleanup: TimerQueue, most: int = 0) -> None:
        """Put what is at hand into the state, all but about ``most`` records."""
        for bucket, records in self.hand.take(most):
            fresh = self.buffer.put(bucket, records)
            cleanup.add_all(self._gone_at(bucket), fresh, self.number)
            self._stored_until = max(self._stored_until, bucket)

    def _gone_at(self, bucket: int) -> int:
        """When no partner can come any more for the records of a bucket."""
        width = self.buffer.width
        return min(bucket * width + width - 1 + self._keep_ms, MAX_WATERMARK)
