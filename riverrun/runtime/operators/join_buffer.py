"""One side of an interval join: the records of each key by event time, in state."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from riverrun.api.state import MapState, MapStateDescriptor
from riverrun.runtime.operators.join_entries import (
    TIME,
    Entry,
    Held,
    as_list,
    found_between,
    insert,
    merged,
)
from riverrun.runtime.operators.join_runs import drop_bucket, finder, put_bucket
from riverrun.serde.types import Types
from riverrun.state.backend import NO_KEY, KeyedStateBackend
from riverrun.state.held_maps import HeldMaps

_BUCKETS: Final = 4
"""How many buckets the interval spans: few to look into, small enough to be written one by one."""


class JoinBuffer:
    """Records of each key, found by ranges of time without looking at the others.

    A bucket is a stretch of time; it holds its records sorted by time, those of one time as they came. Whatever
    takes keys leaves no key current.

    Attributes:
        width: Of a bucket, in milliseconds.
        swift: Whether the backend gives out the buckets of all keys, so that it takes little to work on many.
    """

    def __init__(self, backend: KeyedStateBackend, name: str, interval_ms: int) -> None:
        """Take up the buffer ``name``; it will be searched for stretches of ``interval_ms``."""
        described = MapStateDescriptor(name, Types.LONG())
        self._backend = backend
        self._name = name
        state = backend.state(described)
        self._buckets = cast("MapState[int, list[Entry]]", state)
        self._maps = state if isinstance(state, HeldMaps) else None
        self.swift = self._maps is not None
        self.width = max(1, interval_ms // _BUCKETS)

    def put(self, bucket: int, records: Mapping[Any, Held]) -> list[Any]:
        """Put records, by key, to the others of their bucket; gives the keys that had none in it."""
        if self._maps is not None:
            return put_bucket(self._maps, bucket, records)
        fresh = []
        for key, held in records.items():
            self._backend.key = key
            before = self._buckets.get(bucket)
            if before is None:
                fresh.append(key)
            self._buckets.put(bucket, merged(before or [], as_list(held)))
        self._backend.key = NO_KEY
        return fresh

    def finder(self) -> Callable[[Any, int, int], list[Entry]]:
        """What gives the records of a key from a first time to a last one, sorted by time, until the run is over.

        It may leave the key current.
        """
        return self._between if self._maps is None else finder(self._maps, self.width)

    def known(self, keys: Sequence[Any]) -> list[bool]:
        """Which of ``keys`` may have records."""
        if self._maps is None:
            return [True] * len(keys)
        _, held = self._maps.maps()
        return list(map(held.__contains__, keys))

    def drop(self, time: int, keys: Collection[Any]) -> None:
        """Forget the records that ``keys`` have of this time, and those before it in its bucket."""
        bucket = time // self.width
        if self._maps is not None and time == bucket * self.width + self.width - 1:
            drop_bucket(self._maps, bucket, keys)
            return
        for key in keys:
            self._backend.key = key
            self._drop(bucket, time)
        self._backend.key = NO_KEY

    def clear(self, keys: Collection[Any]) -> None:
        """Forget all records that ``keys`` have."""
        for key in keys:
            self._backend.key = key
            self._buckets.clear()
        self._backend.key = NO_KEY

    def newest(self) -> int | None:
        """The last bucket that has a record; None where there is none, or where it would take long to find."""
        if self._maps is None:
            return None
        _, held = self._maps.maps()
        return max((bucket for buckets in held.values() for bucket in buckets), default=None)

    def rearrange(self) -> Iterator[tuple[Any, int]]:
        """Move all records to where they belong by this buffer's interval.

        Gives the key and the number of each bucket that there is then.
        """
        backend, buckets = self._backend, self._buckets
        for key in list(backend.keys(self._name)):
            backend.key = key
            entries = [entry for _, bucket in list(buckets.items()) for entry in bucket]
            buckets.clear()
            for time, value in sorted(entries, key=TIME):
                if self._add(time, value):
                    yield key, time // self.width
        backend.key = NO_KEY

    def _add(self, time: int, value: Any) -> bool:
        """Keep a record of the current key; gives whether it is the first of its bucket."""
        bucket = time // self.width
        entries = self._buckets.get(bucket)
        if entries is None:
            self._buckets.put(bucket, [(time, value)])
            return True
        insert(entries, (time, value))
        self._buckets.put(bucket, entries)
        return False

    def _between(self, key: Any, first: int, last: int) -> list[Entry]:
        self._backend.key = key
        return found_between(self._buckets.get, self.width, first, last)

    def _drop(self, bucket: int, time: int) -> None:
        """The same of the current key."""
        entries = self._buckets.get(bucket)
        if not entries:
            return
        if entries[-1][0] <= time:
            self._buckets.remove(bucket)
            return
        end = bisect_right(entries, time, key=TIME)
        if end:
            del entries[:end]
            self._buckets.put(bucket, entries)
