"""What Redis knows about each record, asked without holding up the stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.connectors.base.batched_lookup import BatchedLookup
from riverrun.connectors.base.lookup_cache import LookupCache
from riverrun.connectors.redis.connection import RedisClient, RedisServer
from riverrun.core.clock import SystemClock
from riverrun.core.time import DurationLike, to_millis

__all__ = ["RedisLookupFunction"]

_COMMANDS: Final = ("GET", "HGETALL")
_BATCH: Final = 500


def pair(value: Any, found: Any) -> list[Any]:
    """The record and what was found."""
    return [(value, found)]


class RedisLookupFunction(AsyncFunction[Any, Any]):
    """Looks up what a key holds that comes from the record; for ``AsyncDataStream``.

    Keys that are not in the cache are asked for together: one round trip for all that wait at the moment.

    Args:
        url: where the server is, such as ``redis://host:6379/0``.
        key: the key for a record.
        join: what comes out for a record and what was found (bytes, a dict of bytes for HGETALL, or
            None): a list of records; without it pairs.
        command: GET, or HGETALL for hashes.
        cache_size: how many keys each subtask remembers; 0: none.
        cache_ttl: how long they are believed; None: for ever.
        cache_missing: whether it is remembered that a key holds nothing.
        settings: more arguments of the client of the package ``redis``.
        max_retries: how often in a row to try again when the server is not there; negative: for ever.

    Metrics: ``lookupCacheHits``, ``lookupCacheMisses``, ``lookupCacheSize``.
    """

    def __init__(  # noqa: PLR0913  (each of them names itself)
        self,
        url: str,
        key: Callable[[Any], str | bytes],
        join: Callable[[Any, Any], list[Any]] = pair,
        *,
        command: str = "GET",
        cache_size: int = 10_000,
        cache_ttl: DurationLike | None = None,
        cache_missing: bool = True,
        settings: Mapping[str, Any] | None = None,
        max_retries: int = 3,
    ) -> None:
        if command not in _COMMANDS:
            raise ValueError(
                f"redis lookup: the command is {command!r}; expected one of {list(_COMMANDS)!r}"
            )
        self._server = RedisServer(url, "redis lookup", dict(settings or {}), max_retries)
        self._key = key
        self._join = join
        self._command = command
        self._cache_size = cache_size
        self._cache_ttl_ms = None if cache_ttl is None else to_millis(cache_ttl)
        self._cache_missing = cache_missing
        self._client: RedisClient | None = None
        self._lookup: BatchedLookup[str | bytes] | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self._client = self._server.connect()
        cache = LookupCache(
            self._cache_size,
            self._cache_ttl_ms,
            keep_missing=self._cache_missing,
            clock=SystemClock(),
        )
        self._lookup = BatchedLookup(
            self._fetch,
            cache,
            name="riverrun-redis-lookup",
            threads=1,  # the round trips of one connection come one after the other anyway
            most=_BATCH,
            metrics=runtime_context.get_metrics_group(),
        )

    def close(self) -> None:
        if self._lookup is not None:
            self._lookup.close()
        if self._client is not None:
            self._client.close()

    async def async_invoke(self, value: Any) -> list[Any]:
        assert self._lookup is not None  # noqa: S101  (opened before it is asked)
        found = await self._lookup.rows(self._key(value))
        return self._join(value, found[0] if found else None)

    # in the lookup's thread

    def _fetch(self, keys: Sequence[str | bytes]) -> list[list[Any]]:
        def ask(redis: Any) -> list[Any]:
            if self._command == "GET":
                return list(redis.mget(keys))
            with redis.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.hgetall(key)
                return [found or None for found in pipeline.execute()]

        assert self._client is not None  # noqa: S101  (opened before it is asked)
        return [[] if found is None else [found] for found in self._client.run(ask) or []]
