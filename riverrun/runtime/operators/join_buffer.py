"""One side of an interval join: the records of each key by event time, in state."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from riverrun.api.state import MapState, MapStateDescriptor
from riverrun.serde.types import Types
from riverrun.state.backend import NO_KEY, KeyedStateBackend
from riverrun.state.held_maps import HeldMaps

Entry: TypeAlias = tuple[int, Any]
"""A time and a record."""

_TIME: Final = itemgetter(0)
_BUCKETS: Final = 4
"""How many buckets the interval spans: few to look into, small enough to be written one by one."""


class JoinBuffer:
    """Records of the current key, found by ranges of time without looking at the others.

    A bucket is a stretch of time; it holds its records sorted by time, those of one time as they came.

    Attributes:
        width: Of a bucket, in milliseconds.
        maps: The buckets by key, where the backend gives them out.
    """

    def __init__(self, backend: KeyedStateBackend, name: str, interval_ms: int) -> None:
        """Take up the buffer ``name``; it will be searched for stretches of ``interval_ms``."""
        described = MapStateDescriptor(name, Types.LONG())
        self._backend = backend
        self._name = name
        state = backend.state(described)
        self._buckets = cast("MapState[int, list[Entry]]", state)
        self.maps = state if isinstance(state, HeldMaps) else None
        self.width = max(1, interval_ms // _BUCKETS)

    def add(self, time: int, value: Any) -> bool:
        """Keep a record; gives whether it is the first of its bucket."""
        bucket = time // self.width
        entries = self._buckets.get(bucket)
        if entries is None:
            self._buckets.put(bucket, [(time, value)])
            return True
        insert(entries, (time, value))
        self._buckets.put(bucket, entries)
        return False

    def between(self, first: int, last: int) -> list[Entry]:
        """The records from ``first`` to ``last``, both inclusive, sorted by time."""
        return found_between(self._buckets.get, self.width, first, last)

    def drop(self, time: int) -> None:
        """Forget the records of this time, and those before it in its bucket."""
        bucket = time // self.width
        entries = self._buckets.get(bucket)
        if not entries:
            return
        if entries[-1][0] <= time:
            self._buckets.remove(bucket)
            return
        end = bisect_right(entries, time, key=_TIME)
        if end:
            del entries[:end]
            self._buckets.put(bucket, entries)

    def clear(self) -> None:
        """Forget all records."""
        self._buckets.clear()

    def rearrange(self) -> Iterator[tuple[Any, int]]:
        """Move all records to where they belong by this buffer's interval.

        Gives the key and the number of each bucket that there is then.
        """
        backend, buckets = self._backend, self._buckets
        for key in list(backend.keys(self._name)):
            backend.key = key
            entries = [entry for _, bucket in list(buckets.items()) for entry in bucket]
            buckets.clear()
            for time, value in sorted(entries, key=_TIME):
                if self.add(time, value):
                    yield key, time // self.width
        backend.key = NO_KEY


def insert(entries: list[Entry], entry: Entry) -> None:
    """Put a record to the others of its bucket."""
    if entries[-1][0] <= entry[0]:
        entries.append(entry)
    else:
        insort_right(entries, entry, key=_TIME)


def found_between(
    bucket_at: Callable[[int], list[Entry] | None], width: int, first: int, last: int
) -> list[Entry]:
    """The records from ``first`` to ``last``, both inclusive, in the buckets of one key.

    >>> found_between({0: [(3, "a"), (9, "b")], 1: [(12, "c")]}.get, 10, 9, 12)
    [(9, 'b'), (12, 'c')]
    """
    found: list[Entry] = []
    for bucket in range(first // width, last // width + 1):
        entries = bucket_at(bucket)
        if entries:
            found += within(entries, first, last)
    return found


def within(entries: list[Entry], first: int, last: int) -> list[Entry]:
    """Those of the records of one bucket that are from ``first`` to ``last``, both inclusive."""
    earliest, latest = entries[0][0], entries[-1][0]
    if earliest > last or latest < first:
        return []
    start = 0 if earliest >= first else bisect_left(entries, first, key=_TIME)
    end = len(entries) if latest <= last else bisect_right(entries, last, key=_TIME)
    return entries[start:end]
