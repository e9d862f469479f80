"""How many records a task takes in hand at once.

Between two runs a task looks at its timers, its flush deadlines and its orders. A run must therefore be
large when records are cheap (the cost per run vanishes) and small when a record takes long (a sink that
writes one record a second must not sit on four thousand of them). What a run sends is all in memory at
once, so large records make short runs too.
"""

from __future__ import annotations

from typing import Final

_TARGET_MS: Final = 5.0
_MOST_SENT: Final = 16 << 20
"""Bytes that one run sends, at most, unless one record does. Runs double, so it is half of that or more."""
LARGEST: Final = 2048
"""Records of the longest run."""
MANY: Final = 64
"""Records of a run that is worth preparing for."""


class Pacer:
    """Grows the run while it takes less than the target time, and shrinks it when it took more.

    >>> pacer = Pacer()
    >>> pacer.limit
    1
    >>> for _ in range(20): pacer.observe(pacer.limit, 0.1)
    >>> pacer.limit
    2048
    >>> pacer.observe(2048, 1000.0); pacer.limit
    10
    >>> pacer.observe(10, 1.0, sent=40 << 20); pacer.limit
    4
    """

    __slots__ = ("_largest", "latest", "limit")

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self.limit = 1
        self.latest = 0
        """Records of the latest run."""

    def observe(self, count: int, took_ms: float, sent: int = 0) -> None:
        """Learn from a run of ``count`` records that took ``took_ms`` and sent so many bytes."""
        if count == 0:
            return
        self.latest = count
        if took_ms > _TARGET_MS:
            self.limit = max(1, int(count * _TARGET_MS / took_ms))
        elif sent > _MOST_SENT:
            self.limit = max(1, count * _MOST_SENT // sent)
        elif count >= self.limit and 2 * sent <= _MOST_SENT:
            self.limit = min(self._largest, self.limit * 2)
