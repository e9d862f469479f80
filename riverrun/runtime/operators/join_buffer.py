"""One side of an interval join: the records of each key by event time, in state."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from riverrun.api.state import MapState, MapStateDescriptor
from riverrun.serde.types import Types
from riverrun.state.backend import NO_KEY, KeyedStateBackend

Entry: TypeAlias = tuple[int, Any]
"""A time and a record."""

_TIME: Final = itemgetter(0)
_BUCKETS: Final = 4
"""How many buckets the interval spans: few to look into, small enough to be written one by one."""


class JoinBuffer:
    """Records of the current key, found by ranges of time without looking at the others.

    A bucket is a stretch of time; it holds its records sorted by time, those of one time as they came.
    """

    def __init__(self, backend: KeyedStateBackend, name: str, interval_ms: int) -> None:
        """Take up the buffer ``name``; it will be searched for stretches of ``interval_ms``."""
        described = MapStateDescriptor(name, Types.LONG())
        self._backend = backend
        self._name = name
        self._buckets = cast("MapState[int, list[Entry]]", backend.state(described))
        self._width = max(1, interval_ms // _BUCKETS)

    def add(self, time: int, value: Any) -> None:
        """Keep a record."""
        bucket = time // self._width
        entries = self._buckets.get(bucket)
        if entries is None:
            entries = [(time, value)]
        elif entries[-1][0] <= time:
            entries.append((time, value))
        else:
            insort_right(entries, (time, value), key=_TIME)
        self._buckets.put(bucket, entries)

    def between(self, first: int, last: int) -> list[Entry]:
        """The records from ``first`` to ``last``, both inclusive, sorted by time."""
        width, get = self._width, self._buckets.get
        found: list[Entry] = []
        for bucket in range(first // width, last // width + 1):
            entries = get(bucket)
            if entries:
                start = 0 if entries[0][0] >= first else bisect_left(entries, first, key=_TIME)
                if entries[-1][0] <= last:
                    found += entries[start:] if start else entries
                else:
                    found += entries[start : bisect_right(entries, last, key=_TIME)]
        return found

    def drop(self, time: int) -> None:
        """Forget the records of this time, and those before it in its bucket."""
        bucket = time // self._width
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
        """Move all records to where they belong by this buffer's interval; gives each key and time."""
        backend, buckets = self._backend, self._buckets
        for key in list(backend.keys(self._name)):
            backend.key = key
            entries = [entry for _, bucket in list(buckets.items()) for entry in bucket]
            buckets.clear()
            for time, value in sorted(entries, key=_TIME):
                self.add(time, value)
                yield key, time
        backend.key = NO_KEY
