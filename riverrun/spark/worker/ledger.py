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

    @property
    def total_name(self) -> str:
        """The metric that counts all of it.

        >>> Spending.BACK_PRESSURED.total_name
        'accumulatedBackPressuredTimeMs'
        """
        kind = self.value.removesuffix("PerSecond")
        return f"accumulated{kind[0].upper()}{kind[1:]}"


class TimeLedger:
    """Adds up time per kind; may be read from another thread.

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

    def enter(self, kind: Spending) -> None:
        """From now on time counts as ``kind``."""
        now = self._clock.monotonic()
        was, since = self._now_in
        self._spent[was] += now - since
        self._now_in = (kind, now)

    def per_second(self) -> dict[Spending, float]:
        """Milliseconds of each kind per second since the last call; they sum up to 1000."""
        spent = self._until_now()
        delta = {each: max(0.0, spent[each] - self._reported[each]) for each in Spending}
        self._reported = spent
        total = sum(delta.values())
        if total <= 0:
            return {each: 1000.0 if each is Spending.IDLE else 0.0 for each in Spending}
        return {each: 1000.0 * ms / total for each, ms in delta.items()}

    def metrics(self) -> dict[str, float]:
        """The figures of a report: times per second since the last one, and in all.

        >>> from riverrun.core.clock import ManualClock
        >>> clock = ManualClock(); ledger = TimeLedger(clock); clock.advance(40)
        >>> ledger.metrics()["accumulatedBusyTimeMs"], ledger.metrics()["isBackPressured"]
        (40.0, 0.0)
        """
        figures = {kind.value: ms for kind, ms in self.per_second().items()}
        figures |= {kind.total_name: ms for kind, ms in self._reported.items()}
        figures["isBackPressured"] = float(self._now_in[0] is Spending.BACK_PRESSURED)
        return figures

    def _until_now(self) -> dict[Spending, float]:
        """Milliseconds of each kind since the beginning."""
        kind, since = self._now_in
        spent = dict(self._spent)
        spent[kind] += self._clock.monotonic() - since
        return spent
