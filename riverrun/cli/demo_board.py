"""What the demo knows: fed by the job's thread, read by the screen."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from riverrun.cli.demo_transactions import Place, Result, Sum


@dataclass(slots=True)
class Tally:
    """Sums by customer of one window, in time or late."""

    sums: dict[str, Sum] = field(default_factory=dict)

    def add(self, customer: str, more: Sum) -> None:
        """Take a result in; a window may have several for a customer."""
        transactions, cents = self.sums.get(customer, (0, 0))
        self.sums[customer] = transactions + more[0], cents + more[1]

    def total(self) -> Sum:
        """Of all customers."""
        sums = list(self.sums.copy().values())
        return sum(each[0] for each in sums), sum(each[1] for each in sums)


class Scoreboard:
    """What arrived so far: results of windows, and transactions that were late."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.counted = 0
        """Transactions in results."""
        self.late_count = 0
        self.windows: dict[int, Tally] = {}
        self.late: dict[int, Tally] = {}
        self.places: dict[Place, int] = {}
        """Where results came from, with the time of the first (nanoseconds since the epoch)."""
        self._marks: deque[tuple[float, int]] = deque(maxlen=12)
        self.first_at: float | None = None

    @property
    def seen(self) -> int:
        """Transactions that arrived, in time or late."""
        return self.counted + self.late_count

    def take(self, result: Result) -> None:
        """A window's sum for one customer has arrived."""
        self._add(self.windows, result)
        self.counted += result[2][0]

    def take_late(self, result: Result) -> None:
        """A transaction that was late has arrived."""
        self._add(self.late, result)
        self.late_count += result[2][0]

    def rate(self) -> float:
        """Transactions per second over the last few seconds."""
        self._marks.append((time.monotonic(), self.seen))
        (then, before), (now, after) = self._marks[0], self._marks[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def sums(self) -> dict[tuple[int, str], Sum]:
        """All that arrived, in time or late, by start of window and customer."""
        together: dict[int, Tally] = {}
        for tallies in (self.windows, self.late):
            for start, tally in tallies.items():
                for customer, each in tally.sums.items():
                    together.setdefault(start, Tally()).add(customer, each)
        return {
            (start, customer): each
            for start, tally in together.items()
            for customer, each in tally.sums.items()
        }

    def _add(self, tallies: dict[int, Tally], result: Result) -> None:
        start, customer, more, ready_ns, place = result
        tallies.setdefault(start, Tally()).add(customer, more)
        if place not in self.places:
            self.places[place] = ready_ns
        if self.first_at is None:
            self.first_at = time.monotonic()
