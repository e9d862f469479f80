"""What was looked up, for a while: the rows of a key, and that a key has none."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.core.clock import Clock

__all__ = ["LookupCache"]


@dataclass(slots=True)
class _Kept:
    rows: Sequence[Any]
    since_ms: float


class LookupCache:
    """Keeps the keys that were asked for last.

    Args:
        max_rows: how many rows are kept; a key without rows counts as one. 0: nothing is kept.
        ttl_ms: how long a key is believed; ``None``: for ever.
        keep_missing: whether a key without rows is kept too.
        clock: what ``ttl_ms`` is measured with.

    >>> from riverrun.core.clock import ManualClock
    >>> cache = LookupCache(2, 100, keep_missing=True, clock=ManualClock())
    >>> for key in "abc":
    ...     cache.put(key, [key.upper()])
    >>> cache.get("a"), cache.get("c"), len(cache)
    (None, ['C'], 2)
    """

    def __init__(
        self, max_rows: int, ttl_ms: int | None, *, keep_missing: bool, clock: Clock
    ) -> None:
        self._max_rows = max_rows
        self._ttl_ms = ttl_ms
        self._keep_missing = keep_missing
        self._clock = clock
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._rows = 0

    def get(self, key: Hashable) -> Sequence[Any] | None:
        """The rows of ``key``; ``None`` when they are not known, or not any more."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if self._ttl_ms is not None and self._clock.monotonic() - kept.since_ms >= self._ttl_ms:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return kept.rows

    def put(self, key: Hashable, rows: Sequence[Any]) -> None:
        """Keep the rows of ``key``, in the place of others if there is no room."""
        if key in self._kept:
            self._drop(key)
        if not self._max_rows or (not rows and not self._keep_missing):
            return
        self._kept[key] = _Kept(rows, self._clock.monotonic())
        self._rows += max(1, len(rows))
        while self._rows > self._max_rows:
            self._drop(next(iter(self._kept)))

    def __len__(self) -> int:
        return len(self._kept)

    def _drop(self, key: Hashable) -> None:
        self._rows -= max(1, len(self._kept.pop(key).rows))
