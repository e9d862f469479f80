"""Timers in memory: pages of half a minute, in each page a bucket for each time.

A bucket is the pair of key and namespace itself where it holds one timer, which is most often the case
and saves the memory of a dict, and a dict of such pairs where it holds more. There is a heap of the pages,
and only the times of the page that has come up are sorted. What was emptied stays in the heap or among
these times until it comes up, or until such are the most.

A snapshot takes the dict of pages and shares the pages; before a shared one changes it is copied.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import islice
from operator import neg
from threading import Lock
from typing import Any, ClassVar, Final, TypeAlias

from riverrun.state.schema import StateSchema
from riverrun.state.timers import DueTimers, TimerQueue, checked_time

_Timer: TypeAlias = tuple[Any, Any]
"""Key and namespace."""
_Bucket: TypeAlias = _Timer | dict[_Timer, None]
_Page: TypeAlias = dict[int, _Bucket]
"""Buckets by time."""
_Change: TypeAlias = tuple[int, _Timer]

_PAGE_BITS: Final = 15
"""Of a time in milliseconds: a page is about half a minute."""
_SPARE: Final = 1024
"""Pages or times without timers that may always be in the heap or in line."""


@dataclass(frozen=True, slots=True)
class FrozenTimers:
    """What one snapshot takes of one queue; addresses are pairs of key and (time, namespace)."""

    queue: HashMapTimerQueue
    pages: dict[int, _Page]
    """The timers of that moment."""
    changes: Collection[_Change] | None = None
    """The timers that are looked for among them; None for all there are."""
    known: ClassVar[None] = None
    """Timers come and go: those of one snapshot are not those of the next."""

    @property
    def schema(self) -> StateSchema:
        """Of the timers."""
        return self.queue.schema

    @property
    def removed(self) -> list[Any]:
        """The addresses of those looked for that are not there."""
        return [
            (timer[0], (time, timer[1]))
            for time, timer in self.changes or ()
            if not self._holds(time, timer)
        ]

    def stretches(self, size: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Addresses and stored values, at most ``size`` at a time."""
        addresses = ((key, (time, namespace)) for time, (key, namespace) in self._timers())
        while taken := list(islice(addresses, size)):
            yield taken, [True] * len(taken)

    def thaw(self) -> None:
        """The snapshot needs this no more; any thread."""
        self.queue.thaw(self)

    def _timers(self) -> Iterator[_Change]:
        if self.changes is not None:
            yield from (change for change in self.changes if self._holds(*change))
            return
        for page in self.pages.values():
            for time, bucket in page.items():
                for timer in _timers_of(bucket):
                    yield time, timer

    def _holds(self, time: int, timer: _Timer) -> bool:
        page = self.pages.get(time >> _PAGE_BITS)
        bucket = None if page is None else page.get(time)
        if isinstance(bucket, tuple):
            return bucket == timer
        return bucket is not None and timer in bucket


class HashMapTimerQueue(TimerQueue):
    """Timers of one name; adding, removing and taking are operations on dicts."""

    __slots__ = (
        "_changed",
        "_coming",
        "_count",
        "_frozen",
        "_heap",
        "_lock",
        "_page",
        "_pages",
        "_up",
        "schema",
    )

    def __init__(self, schema: StateSchema, *, tracked: bool) -> None:
        self.schema = schema
        self._pages: dict[int, _Page] = {}
        self._heap: list[int] = []
        """The numbers of all pages but the one that has come up."""
        self._up: int | None = None
        """The number of the page that has come up; all others are later."""
        self._page: _Page = {}
        """That page itself."""
        self._coming: list[int] = []
        """Its times, the next one last."""
        self._count = 0
        self._changed: set[_Change] | None = set() if tracked else None
        self._frozen: tuple[dict[int, _Page], ...] = ()
        self._lock = Lock()

    def add(self, time: int, key: Any, namespace: Any) -> None:
        timer = (key, namespace)
        try:
            bucket = self._pages[time >> _PAGE_BITS][time]
        except (KeyError, TypeError):
            return self._add_first(time, timer)
        if isinstance(bucket, tuple):
            if bucket == timer:
                return None
            self._own_page(time)[time] = {bucket: None, timer: None}
        elif timer in bucket:
            return None
        elif self._frozen:
            self._own_page(time)[time][timer] = None  # type: ignore[index]  # what is many stays a dict
        else:
            bucket[timer] = None
        self._count += 1
        if self._changed is not None:
            self._changed.add((time, timer))
        return None

    def add_all(self, time: int, keys: Iterable[Any], namespace: Any) -> None:
        timers = [(key, namespace) for key in keys]
        if not timers:
            return
        # The first one makes sure that there is a page, that it is this queue's own and that the time fits.
        self.add(time, *timers[0])
        if len(timers) == 1:
            return
        page = self._pages[time >> _PAGE_BITS]
        bucket = page[time]
        if isinstance(bucket, tuple):
            bucket = page[time] = {bucket: None}
        before = len(bucket)
        bucket.update(dict.fromkeys(timers))
        self._count += len(bucket) - before
        if self._changed is not None:
            self._changed.update([(time, timer) for timer in timers])

    def remove(self, time: int, key: Any, namespace: Any) -> None:
        number = checked_time(time) >> _PAGE_BITS if type(time) is not int else time >> _PAGE_BITS
        page = self._pages.get(number)
        bucket = None if page is None else page.get(time)
        if page is None or bucket is None:
            return
        timer = (key, namespace)
        if not (bucket == timer if isinstance(bucket, tuple) else timer in bucket):
            return
        if self._frozen:
            page = self._own(number, page)
            bucket = page[time]
        if isinstance(bucket, tuple) or len(bucket) == 1:
            self._forget(number, page, time)
        else:
            del bucket[timer]
        self._count -= 1
        if self._changed is not None:
            self._changed.add((time, timer))

    def next_time(self) -> int | None:
        while self._coming or self._turn_page():
            if self._coming[-1] in self._page:
                return self._coming[-1]
            self._coming.pop()
        return None

    def take(self, until: int) -> DueTimers | None:
        while self._coming or self._turn_page():
            time = self._coming[-1]
            if time > until:
                return None
            self._coming.pop()
            page = self._page
            if self._frozen:
                page = self._own(time >> _PAGE_BITS, page)
            bucket = page.pop(time, None)
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
        return self._shared(FrozenTimers(self, self._pages.copy()))

    def freeze_some(self, changes: Collection[Any]) -> FrozenTimers:
        """Those of ``changes`` that are set now, and those that are not."""
        return self._shared(FrozenTimers(self, self._pages.copy(), changes))

    def thaw(self, frozen: FrozenTimers) -> None:
        """The snapshot needs ``frozen`` no more; any thread."""
        with self._lock:
            self._frozen = tuple(held for held in self._frozen if held is not frozen.pages)

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
        times = sorted(time for page in self._pages.values() for time in page)
        kept, horizon, shed = 0, times[0] - 1, list[_Change]()
        for time in times:
            number = time >> _PAGE_BITS
            bucket = self._pages[number][time]
            timers = list(_timers_of(bucket))
            if not shed and kept + len(timers) <= most:
                kept, horizon = kept + len(timers), time
                continue
            page = self._own(number, self._pages[number])
            self._forget(number, page, time)
            shed += [(time, timer) for timer in timers]
        self._count = kept
        return horizon, shed

    def clear(self) -> None:
        """Forget everything."""
        self._pages, self._heap, self._count = {}, [], 0
        self._up, self._page, self._coming = None, {}, []

    def _add_first(self, time: int, timer: _Timer) -> None:
        """Set the only timer of a time; one that is no whole number of 64 bits may be of another."""
        if type(time) is not int or not -(1 << 63) <= time < 1 << 63:
            whole = checked_time(time)
            if whole in self._pages.get(whole >> _PAGE_BITS, ()):
                return self.add(whole, *timer)
            time = whole
        number = time >> _PAGE_BITS
        page = self._pages.get(number)
        page = self._new_page(number) if page is None else self._own_page(time)
        page[time] = timer
        self._count += 1
        if number == self._up:
            insort(self._coming, time, key=neg)
        if self._changed is not None:
            self._changed.add((time, timer))
        return None

    def _own_page(self, time: int) -> _Page:
        """The page of a time, which is there, shared with no snapshot."""
        number = time >> _PAGE_BITS
        page = self._pages[number]
        return self._own(number, page) if self._frozen else page

    def _new_page(self, number: int) -> _Page:
        """An empty page that is not there yet."""
        if self._up is not None and number <= self._up:
            # The page that has come up waits again, because of an earlier one.
            heappush(self._heap, self._up)
            self._up, self._page, self._coming = None, {}, []
        heappush(self._heap, number)
        page = self._pages[number] = {}
        return page

    def _turn_page(self) -> bool:
        """Let the next page come up, the one before is used up; whether there is one."""
        if self._up is not None:
            self._pages.pop(self._up, None)
            self._up, self._page = None, {}
        while self._heap:
            number = heappop(self._heap)
            page = self._pages.get(number)
            if page:
                self._up, self._page = number, page
                self._coming = sorted(page, reverse=True)
                return True
            self._pages.pop(number, None)
        return False

    def _forget(self, number: int, page: _Page, time: int) -> None:
        """Drop a bucket, and what there is too much of without it."""
        del page[time]
        if number == self._up:
            if len(self._coming) > 2 * len(page) + _SPARE:
                self._coming = sorted(page, reverse=True)
        elif not page:
            del self._pages[number]
            if len(self._heap) > 2 * len(self._pages) + _SPARE:
                self._heap = [number for number in self._pages if number != self._up]
                heapify(self._heap)

    def _shared(self, frozen: FrozenTimers) -> FrozenTimers:
        with self._lock:
            self._frozen = (*self._frozen, frozen.pages)
        return frozen

    def _own(self, number: int, page: _Page) -> _Page:
        """The page, shared with no snapshot."""
        if any(held.get(number) is page for held in self._frozen):
            page = self._pages[number] = {
                time: bucket if isinstance(bucket, tuple) else bucket.copy()
                for time, bucket in page.items()
            }
            if number == self._up:
                self._page = page
        return page


def _timers_of(bucket: _Bucket) -> Iterable[_Timer]:
    return (bucket,) if isinstance(bucket, tuple) else bucket
