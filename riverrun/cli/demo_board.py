"""What the demo knows: fed by the job's thread, read by the screen."""

from __future__ import annotations

import time
from collections import deque
from typing import Final, TypeAlias

_WINDOW: Final = 20_000

Place: TypeAlias = tuple[int, int, int]
"""Where a total was made: attempt of the job, subtask, process id."""

Update: TypeAlias = tuple[str, int, int, int, Place]
"""Customer, total in cents, when its newest transaction was made, when the total was, where."""


class Scoreboard:
    """What arrived so far."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.updates = 0
        self.totals: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.places: dict[Place, int] = {}
        """Where totals came from, with the time of the first (nanoseconds since the epoch)."""
        self._latencies: deque[float] = deque(maxlen=_WINDOW)
        self._marks: deque[tuple[float, int]] = deque(maxlen=12)
        self.first_at: float | None = None

    def take(self, update: Update) -> None:
        """One updated total has arrived."""
        customer, cents, made_ns, ready_ns, place = update
        self.totals[customer] = cents
        self.counts[customer] = self.counts.get(customer, 0) + 1
        self.updates += 1
        self._latencies.append((ready_ns - made_ns) / 1e6)
        if place not in self.places:
            self.places[place] = ready_ns
        if self.first_at is None:
            self.first_at = time.monotonic()

    def rate(self) -> float:
        """Updates per second over the last few seconds."""
        self._marks.append((time.monotonic(), self.updates))
        (then, before), (now, after) = self._marks[0], self._marks[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def latency(self, quantile: float) -> float:
        """Milliseconds from a transaction being made to its total being ready at the sink."""
        ordered = sorted(self._latencies.copy())
        return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))] if ordered else 0.0
