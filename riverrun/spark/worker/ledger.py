"""Where a subtask's time goes: busy, idle, back-pressured.

Time blocked while handing frames to Spark (or results to the client) is back-pressured, time waiting
for input is idle, the rest is busy. The three add up to all of it.
"""

from __future__ import annotations

from enum import Enum

from riverrun.core.clock import Clock


class Spending(Enum):
    """What the task thread is doing."""

    BUSY = "busyTimeMsPerSecond"
    IDLE = "idleTimeMsPerSecond"
    BACK_PRESSURED = "backPressuredTimeMsPerSecond"


class TimeLedger:
    """Adds up time per kind; ``per_second`` may be called from another thread.

    >>> from riverrun.core.clock import ManualClock
    >>> clock = ManualClock(); ledger = TimeLedger(clock)
    >>> clock.advance(250); ledger.enter(Spending.IDLE); clock.advance(750)
    >>> {kind.name: round(ms) for kind, ms in ledger.per_second().items()}
    {'BUSY': 250, 'IDLE': 750, 'BACK_PRESSURED': 0}
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spent = dict.fromkeys(Spending, 0.0)
        self._now_in = (Spending.BUSY, clock.monotonic())
        self._reported = dict.fromkeys(Spending, 0.0)
        self._reported_at = clock.monotonic()

    def enter(self, kind: Spending) -> None:
        """From now on time counts as ``kind``."""
        now = self._clock.monotonic()
        was, since = self._now_in
        self._spent[was] += now - since
        self._now_in = (kind, now)

    def per_second(self) -> dict[Spending, float]:
        """Milliseconds of each kind per second since the last call; they sum up to 1000."""
        now = self._clock.monotonic()
        kind, since = self._now_in
        spent = dict(self._spent)
        spent[kind] += now - since
        delta = {each: max(0.0, spent[each] - self._reported[each]) for each in Spending}
        self._reported, self._reported_at = spent, now
        total = sum(delta.values())
        if total <= 0:
            return {each: 1000.0 if each is Spending.IDLE else 0.0 for each in Spending}
        return {each: 1000.0 * ms / total for each, ms in delta.items()}
