"""Timers in memory: a bucket for each time, and the times in the order in which they come up.

A bucket is the pair of key and namespace itself where it holds one timer, which is most often the case
and saves the memory of a dict, and a dict of such pairs where it holds more. Times of the same
eight seconds share a page; there is a heap of the pages, and only the page that has come up is sorted.
A time whose bucket was emptied stays listed until it comes up, or until such times are the most.

A snapshot takes the dict of buckets and shares the buckets; before a shared one changes it is copied.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from operator import neg
from threading import Lock
from typing import Any, Final, TypeAlias

from riverrun.state.schema import StateSchema
from riverrun.state.timers import DueTimers, TimerQueue, checked_time

_Timer: TypeAlias = tuple[Any, Any]
"""Key and namespace."""
_Bucket: TypeAlias = _Timer | dict[_Timer, None]
_Change: TypeAlias = tuple[int, _Timer]

_SPARE: Final = 1024
"""Times without timers that may always be listed."""
_PAGE_BITS: Final = 13


@dataclass(slots=True)
class FrozenTimers:
    """What one snapshot takes of one queue; addresses are pairs of key and (time, namespace)."""

    queue: HashMapTimerQueue
    buckets: dict[int, _Bucket]
    """All timers; empty where ``some`` says which were added."""
    some: Sequence[_Change] = ()
    removed: Sequence[Any] = ()

    @property
    def schema(self) -> StateSchema:
        """Of the timers."""
        return self.queue.schema

    def stretches(self, size: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Addresses and stored values, at most ``size`` at a time."""
        addresses = ((key, (time, namespace)) for time, (key, namespace) in self._timers())
        while taken := list(islice(addresses, size)):
            yield taken, [True] * len(taken)

    def thaw(self) -> None:
        """The snapshot needs this no more; any thread."""
        self.queue.thaw(self)

    def _timers(self) -> Iterator[_Change]:
        yield from self.some
        for time, bucket in self.buckets.items():
            if isinstance(bucket, tuple):
                yield time, bucket
            else:
                for timer in bucket:
                    yield time, timer


class HashMapTimerQueue(TimerQueue):
    """Timers of one name; adding, removing and taking are operations on dicts."""

    __slots__ = (
        "_buckets",
        "_changed",
        "_coming",
        "_count",
        "_frozen",
        "_listed",
        "_lock",
        "_page",
        "_page_heap",
        "_pages",
        "schema",
    )

    def __init__(self, schema: StateSchema, *, tracked: bool) -> None:
        self.schema = schema
        self._buckets: dict[int, _Bucket] = {}
        self._pages: dict[int, list[int]] = {}
        self._page_heap: list[int] = []
        self._page: int | None = None
        """The page that has come up; all others are later."""
        self._coming: list[int] = []
        """Its times, the next one last."""
        self._listed = 0
        """Times in all pages."""
        self._count = 0
        self._changed: set[_Change] | None = set() if tracked else None
        self._frozen: tuple[dict[int, _Bucket], ...] = ()
        self._lock = Lock()

    def add(self, time: int, key: Any, namespace: Any) -> None:
        timer = (key, namespace)
        bucket = self._buckets.get(time)
        if bucket is None:
            if type(time) is not int or not -(1 << 63) <= time < 1 << 63:
                return self.add(checked_time(time), key, namespace)
            self._buckets[time] = timer
            self._count += 1
            page = time >> _PAGE_BITS
            if page in self._pages:  # that is, it has not come up: where most new times belong
                self._pages[page].append(time)
                self._listed += 1
            else:
                self._list(page, time)
        elif isinstance(bucket, tuple):
            if bucket != timer:
                self._buckets[time] = {bucket: None, timer: None}
                self._count += 1
        else:
            if self._frozen:
                bucket = self._own(time, bucket)
            before = len(bucket)
            bucket[timer] = None
            self._count += len(bucket) - before
        if self._changed is not None:
            self._changed.add((time, timer))
        return None

    def remove(self, time: int, key: Any, namespace: Any) -> None:
        timer = (key, namespace)
        bucket = self._buckets.get(time)
        if bucket is None:
            return
        if isinstance(bucket, tuple):
            if bucket != timer:
                return
            del self._buckets[time]
        else:
            if timer not in bucket:
                return
            if len(bucket) == 1:
                del self._buckets[time]
            else:
                del self._own(time, bucket)[timer]
        self._count -= 1
        if self._changed is not None:
            self._changed.add((time, timer))
        if self._listed > 2 * len(self._buckets) + _SPARE:
            self._list_all()

    def next_time(self) -> int | None:
        buckets = self._buckets
        while self._coming or self._turn_page():
            coming = self._coming
            if coming[-1] in buckets:
                return coming[-1]
            coming.pop()
            self._listed -= 1
        return None

    def take(self, until: int) -> DueTimers | None:
        buckets = self._buckets
        while self._coming or self._turn_page():
            time = self._coming[-1]
            if time > until:
                return None
            self._coming.pop()
            self._listed -= 1
            bucket = buckets.pop(time, None)
            if bucket is not None:
                taken = [bucket] if isinstance(bucket, tuple) else list(bucket)
                self._count -= len(taken)
                if self._changed is not None:
                    self._changed.update([(time, timer) for timer in taken])
                return time, taken
        return None

    def __len__(self) -> int:
        return self._count

    def freeze_all(self) -> FrozenTimers:
        """Every timer as it is now."""
        frozen = FrozenTimers(self, self._buckets.copy())
        with self._lock:
            self._frozen = (*self._frozen, frozen.buckets)
        return frozen

    def freeze_some(self, changes: Collection[Any]) -> FrozenTimers:
        """Those of ``changes`` that are set now, and those that are not."""
        some, removed = [], []
        for time, timer in changes:
            if self._holds(time, timer):
                some.append((time, timer))
            else:
                removed.append((timer[0], (time, timer[1])))
        return FrozenTimers(self, {}, some, removed)

    def thaw(self, frozen: FrozenTimers) -> None:
        """The snapshot needs ``frozen`` no more; any thread."""
        with self._lock:
            self._frozen = tuple(held for held in self._frozen if held is not frozen.buckets)

    def take_changed(self) -> set[Any]:
        """The timers set, removed or taken since the last call."""
        found, self._changed = self._changed, set()
        return found or set()

    def load(self, addresses: Iterable[Any], *, removed: bool) -> None:
        """Set or remove restored timers, which count as known to the last snapshot."""
        changed, self._changed = self._changed, None
        put = self.remove if removed else self.add
        for key, (time, namespace) in addresses:
            put(time, key, namespace)
        self._changed = changed

    def shed(self, most: int) -> tuple[int, list[_Change]]:
        """Remove the latest timers, whole times of them, until at most ``most`` are left.

        Returns:
            A time that none of those left is after, and those removed, all of later times.
        """
        kept, shed = 0, list[_Change]()
        times = sorted(self._buckets)
        horizon = times[0] - 1
        for time in times:
            bucket = self._buckets[time]
            timers = [bucket] if isinstance(bucket, tuple) else list(bucket)
            if not shed and kept + len(timers) <= most:
                kept += len(timers)
                horizon = time
                continue
            del self._buckets[time]
            shed += [(time, timer) for timer in timers]
        self._count = kept
        self._list_all()
        return horizon, shed

    def clear(self) -> None:
        """Forget everything."""
        self._buckets.clear()
        self._list_all()
        self._count = 0

    def _list(self, page: int, time: int) -> None:
        """Put the time of a new bucket where it will come up."""
        self._listed += 1
        if self._page is not None and page <= self._page:
            if page == self._page:
                insort(self._coming, time, key=neg)
                return
            self._close_page()
        times = self._pages.get(page)
        if times is None:
            self._pages[page] = [time]
            heappush(self._page_heap, page)
        else:
            times.append(time)

    def _turn_page(self) -> bool:
        """Let the next page come up; whether there is one."""
        if not self._page_heap:
            self._page = None
            return False
        self._page = heappop(self._page_heap)
        self._coming = self._pages.pop(self._page)
        self._coming.sort(reverse=True)
        return True

    def _close_page(self) -> None:
        """The page that has come up waits again, because of an earlier one."""
        if self._page is not None and self._coming:
            self._pages[self._page] = self._coming
            heappush(self._page_heap, self._page)
        self._page, self._coming = None, []

    def _list_all(self) -> None:
        """List the times of all buckets, and no others."""
        self._pages, self._page_heap = {}, []
        self._page, self._coming, self._listed = None, [], 0
        for time in self._buckets:
            self._list(time >> _PAGE_BITS, time)

    def _holds(self, time: int, timer: _Timer) -> bool:
        bucket = self._buckets.get(time)
        return (
            bucket == timer if isinstance(bucket, tuple) else bucket is not None and timer in bucket
        )

    def _own(self, time: int, bucket: dict[_Timer, None]) -> dict[_Timer, None]:
        """The bucket of ``time``, shared with no snapshot."""
        if any(held.get(time) is bucket for held in self._frozen):
            bucket = self._buckets[time] = bucket.copy()
        return bucket
