"""The time that a job's deadlines and timestamps are in."""

from __future__ import annotations

from riverrun.core.clock import Clock
from riverrun.core.ids import Millis


class JobTime:
    """Milliseconds since the epoch that never go back.

    Deadlines need a time that never goes back, timestamps one that people know: this is both.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.epoch = clock.now() - clock.monotonic()
        """What to add to the clock's monotonic time."""

    def now(self) -> float:
        """The time now."""
        return self.clock.monotonic() + self.epoch

    def millis(self) -> Millis:
        """The time now, as a timestamp."""
        return Millis(int(self.now()))
