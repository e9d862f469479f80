"""How long to wait before something outside is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Longer after each failure in a row, up to a limit; a little differently each time.

    >>> Backoff(first_s=1, most_s=5, jitter=0).delay(2)
    4.0
    >>> Backoff(first_s=1, most_s=5, jitter=0).delay(9)
    5.0
    """

    first_s: float = 0.2
    most_s: float = 10.0
    factor: float = 2.0
    jitter: float = 0.2
    """Which part of a delay is left to chance, so that subtasks do not come back all at once."""

    def delay(self, failures: int) -> float:
        """Seconds to wait after ``failures`` failures before the one that just happened."""
        # More doublings than this are beyond any limit, and beyond a float at some time.
        delay = min(self.first_s * self.factor ** min(failures, 64), self.most_s)
        return float(delay * (1 - self.jitter * random.random()))  # noqa: S311  (not a secret)
