"""One side of an interval join: the records that came last, at hand beside the state.

Most records are gone again before a snapshot is taken. They are kept by bucket and then by key: to keep one is one
look into a dict, and when no partner can come for a bucket any more, it goes as a whole, without a timer for each of
its keys. What is there when a snapshot is taken goes to the state, and so does what is too much.

A bucket at hand is as wide as two of the state's: partners of a record are looked for in each bucket that the interval
touches, three instead of five, and records stay an eighth of the interval longer on average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import groupby
from typing import Any, Final, TypeAlias

from riverrun import loops
from riverrun.loops.pure import Entry, Held, partners

Bucket: TypeAlias = dict[Any, Held]
"""The records of one stretch of time by key."""

_PARTS: Final = 2
"""Buckets of the state in one at hand."""


class JoinHand:
    """Records of all keys, found by key and by ranges of time.

    Attributes:
        width: Of a bucket, in milliseconds.
        buckets: By number; none is empty.
        count: About how many records there are: one too much for each that has the key and bucket of another and
            is gone.
    """

    __slots__ = ("_due", "_stored_width", "buckets", "count", "width")

    def __init__(self, stored_width: int) -> None:
        """Nothing is at hand yet; buckets of the state are ``stored_width`` milliseconds wide."""
        self._stored_width = stored_width
        self.width = _PARTS * stored_width
        self.buckets: dict[int, Bucket] = {}
        self.count = 0
        self._due: list[int] = []
        """A heap of the numbers of all buckets."""

    def hold(self, keys: Sequence[Any], values: Sequence[Any], times: Sequence[int]) -> None:
        """Keep the records of a run."""
        for number in loops.hold(self.buckets, self.width, keys, values, times):
            heappush(self._due, number)
        self.count += len(values)

    def between(self, key: Any, first: int, last: int) -> list[Entry]:
        """The records of a key from ``first`` to ``last``, both inclusive, sorted by time."""
        return partners(self.buckets, self.width, key, first, last)

    def drop(self, number: int) -> None:
        """Forget the buckets up to this one."""
        due = self._due
        while due and due[0] <= number:
            self.count -= len(self.buckets.pop(heappop(due)))
        if not due:
            self.count = 0

    def recount(self) -> int:
        """How many keys of buckets there are, which is what it takes to write them; ``count`` from now on."""
        self.count = sum(map(len, self.buckets.values()))
        return self.count

    def take(self, most: int = 0) -> Iterator[tuple[int, Bucket]]:
        """Give away what is at hand, those that stay longest first, until ``most`` are left; to be used up.

        Gives the numbers of the state's buckets and what goes there. All that a key has in a bucket goes together.
        """
        spare = self.recount() - most
        for number in sorted(self.buckets, reverse=True):
            if spare <= 0:
                break
            taken = self._taken(number, spare)
            spare -= len(taken)
            yield from self._by_part(taken).items()
        self._due = sorted(self.buckets)
        self.recount()

    def _by_part(self, bucket: Bucket) -> dict[int, Bucket]:
        """Records of a bucket by those of the state."""
        width = self._stored_width
        parts: dict[int, Bucket] = {}
        for key, held in bucket.items():
            if isinstance(held, tuple):
                parts.setdefault(held[0] // width, {})[key] = held
                continue
            for number, entries in groupby(held, lambda entry: entry[0] // width):
                parts.setdefault(number, {})[key] = list(entries)
        return parts

    def _taken(self, number: int, most: int) -> Bucket:
        """At most so many keys of a bucket."""
        bucket = self.buckets[number]
        if len(bucket) <= most:
            return self.buckets.pop(number)
        return dict(bucket.popitem() for _ in range(most))
