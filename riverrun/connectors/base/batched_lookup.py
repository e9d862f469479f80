"""Lookups of single keys that are asked for together, beside the stream, and remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar

from riverrun.connectors.base.lookup_cache import LookupCache
from riverrun.metrics.groups import MetricGroup

__all__ = ["BatchedLookup"]

K = TypeVar("K", bound=Hashable)


class BatchedLookup(Generic[K]):
    """Answers from a cache; keys that are not in it are asked for with all that come in the same moment.

    All methods belong to one event loop.

    Args:
        fetch: the rows of each key of a few; runs in threads and may block.
        cache: what was found before.
        name: of the threads.
        threads: how many calls of ``fetch`` are under way at once.
        most: how many keys one call is given.
        metrics: where hits and misses are counted.
    """

    def __init__(
        self,
        fetch: Callable[[Sequence[K]], Sequence[Sequence[Any]]],
        cache: LookupCache,
        *,
        name: str,
        threads: int,
        most: int,
        metrics: MetricGroup,
    ) -> None:
        self._fetch = fetch
        self._cache = cache
        self._most = most
        self._pool = ThreadPoolExecutor(threads, name)
        self._asked: dict[K, asyncio.Future[Sequence[Any]]] = {}
        self._next: list[K] = []
        self._hits = metrics.counter("lookupCacheHits")
        self._misses = metrics.counter("lookupCacheMisses")
        metrics.gauge("lookupCacheSize", lambda: float(len(cache)))

    async def rows(self, key: K) -> Sequence[Any]:
        """The rows of ``key``; raises what ``fetch`` raised for it."""
        rows = self._cache.get(key)
        if rows is not None:
            self._hits.inc()
            return rows
        self._misses.inc()
        # Whoever gives up waiting must not take the answer from the others.
        return await asyncio.shield(self._answer(key))

    def close(self) -> None:
        """Wait for calls that are under way, and begin no others."""
        self._pool.shutdown(cancel_futures=True)

    def _answer(self, key: K) -> asyncio.Future[Sequence[Any]]:
        waiting = self._asked.get(key)
        if waiting is None:
            loop = asyncio.get_running_loop()
            waiting = self._asked[key] = loop.create_future()
            if not self._next:
                loop.call_soon(self._ask, loop)
            self._next.append(key)
        return waiting

    def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        keys, self._next = self._next, []
        for start in range(0, len(keys), self._most):
            some = keys[start : start + self._most]
            answer = loop.run_in_executor(self._pool, self._fetch, some)
            answer.add_done_callback(partial(self._deliver, some))

    def _deliver(self, keys: Sequence[K], done: asyncio.Future[Sequence[Sequence[Any]]]) -> None:
        if done.cancelled():
            return
        error = done.exception()
        for place, key in enumerate(keys):
            waiting = self._asked.pop(key)
            if error is not None:
                waiting.set_exception(error)
                waiting.exception()  # seen, also if nobody waits any more
                continue
            rows = done.result()[place]
            self._cache.put(key, rows)
            waiting.set_result(rows)
