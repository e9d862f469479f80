"""The thread that looks at all running jobs once a second.

It is not that of the metrics reporters: one that waits for its server would leave gaps in every line.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from riverrun.cluster.job_report import JobReport
from riverrun.cluster.timelines.jobs import JobsTimeLines
from riverrun.core.clock import Clock, SystemClock

log = logging.getLogger(__name__)

_EVERY_MS: Final = 1000


class TimeLineSampler:
    """Samples from ``start`` until ``close``.

    Args:
        lines: where samples go.
        reports: those of the jobs that run now.
        is_known: whether there is such a job, running or ended.
        clock: for the pace.
    """

    def __init__(
        self,
        lines: JobsTimeLines,
        reports: Callable[[], Sequence[JobReport]],
        is_known: Callable[[str], bool],
        clock: Clock | None = None,
    ) -> None:
        self._lines = lines
        self._reports = reports
        self._is_known = is_known
        self._clock = clock or SystemClock()
        self._closed = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="riverrun-timelines", daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def close(self) -> None:
        """End it; a second call does nothing."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def sample(self) -> None:
        """Take one sample of every running job; what cannot be read is logged, once until it can again."""
        try:
            self._lines.sample(self._reports(), self._is_known)
            self._failing = False
        except Exception:
            if not self._failing:
                log.exception("time lines have gaps: jobs could not be sampled")
            self._failing = True

    def _run(self) -> None:
        while not self._closed.wait(pause_ms(self._clock.now()) / 1000):
            self.sample()


def pause_ms(now: int) -> int:
    """How long until the next sample is due: in the middle of a second, so that each second gets one.

    >>> [pause_ms(now) for now in (7_000, 7_400, 7_500, 7_900)]
    [500, 100, 1000, 600]
    """
    return _EVERY_MS - (now + _EVERY_MS // 2) % _EVERY_MS
