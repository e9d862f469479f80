"""How many records a task takes in hand at once.

Between two runs a task looks at its timers, its flush deadlines and its orders. A run must therefore be
large when records are cheap (the cost per run vanishes) and small when a record takes long (a sink that
writes one record a second must not sit on four thousand of them). What a run sends is all in memory at
once, so large records make short runs too, and shorter ones if its consumers take long for them: a barrier
waits behind all of them.
"""

from __future__ import annotations

from typing import Final

_TARGET_MS: Final = 15.0
"""What a run should take at most. With more busy tasks than cores that is time in which others have the CPU, too; a
source that makes its records by arrays pays for runs that are short for that."""
_MOST_SENT: Final = 16 << 20
"""Bytes that one run sends, at most, unless one record does. Runs double, so it is half of that or more."""
_HANDED_OVER_MS: Final = 250.0
"""How long consumers may take for a run of large records."""
_LARGE_RUN: Final = 1 << 20
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
    >>> pacer.observe(2048, 3000.0); pacer.limit
    10
    >>> pacer.observe(10, 1.0, sent=40 << 20); pacer.limit
    4
    >>> pacer.observe(4, 1.0, sent=16 << 20); pacer.stood_still(1000.0); pacer.limit
    1
    """

    __slots__ = ("_largest", "_sent", "latest", "limit")

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self.limit = 1
        self._sent = 0
        self.latest = 0
        """Records of the latest run."""

    def observe(self, count: int, took_ms: float, sent: int = 0) -> None:
        """Learn from a run of ``count`` records that took ``took_ms`` and sent so many bytes."""
        if count == 0:
            return
        self.latest, self._sent = count, sent
        if took_ms > _TARGET_MS:
            self.limit = max(1, int(count * _TARGET_MS / took_ms))
        elif sent > _MOST_SENT:
            self.limit = max(1, count * _MOST_SENT // sent)
        elif count >= self.limit and 2 * sent <= _MOST_SENT:
            self.limit = min(self._largest, self.limit * 2)

    def stood_still(self, ms: float) -> None:
        """Consumers took so long to take what the latest run sent."""
        if ms > _HANDED_OVER_MS and self._sent >= _LARGE_RUN:
            self.limit = max(1, min(self.limit, int(self.latest * _HANDED_OVER_MS / ms)))
