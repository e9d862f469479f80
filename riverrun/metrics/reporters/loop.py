"""A thread that brings the metrics to reporters, each at its own interval."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence

from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import RiverrunError
from riverrun.metrics.reporters.configured import ConfiguredReporter
from riverrun.metrics.scope import MetricScope

log = logging.getLogger(__name__)


class ReporterLoop:
    """Reports until it is closed; what a reporter cannot do is logged, once until it can again.

    Args:
        reporters: closed with the loop.
        scopes: the values at the moment.
        clock: for the intervals.
    """

    def __init__(
        self,
        reporters: Sequence[ConfiguredReporter],
        scopes: Callable[[], Sequence[MetricScope]],
        clock: Clock | None = None,
    ) -> None:
        self._reporters = reporters
        self._scopes = scopes
        self._clock = clock or SystemClock()
        now = self._clock.monotonic()
        self._due = {
            each.settings.name: now + each.settings.interval_ms
            for each in reporters
            if not each.is_asked
        }
        self._failing: set[str] = set()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to report, if anybody wants reports."""
        if self._due:
            self._thread = threading.Thread(
                target=self._run, name="riverrun-reporters", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Report a last time and close the reporters; a second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self.report(self._due)
        except Exception:
            log.exception("metrics could not be collected")
        for each in self._reporters:
            each.reporter.close()

    def report_due(self) -> float:
        """Report to those whose time has come; in how many seconds the next one's time comes."""
        now = self._clock.monotonic()
        self.report([name for name, due in self._due.items() if due <= now])
        for each in self._reporters:
            name = each.settings.name
            if self._due.get(name, now + 1) <= now:
                self._due[name] = now + each.settings.interval_ms
        return max(0.0, min(self._due.values()) - now) / 1000

    def report(self, names: Collection[str]) -> None:
        """Report to the reporters of these names now."""
        chosen = [each for each in self._reporters if each.settings.name in names]
        if not chosen:
            return
        scopes, at = self._scopes(), self._clock.now()
        for each in chosen:
            name = each.settings.name
            try:
                each.reporter.report(each.settings.wanted(scopes), at)
                self._failing.discard(name)
            except RiverrunError as e:
                if name not in self._failing:
                    log.warning("metrics are not reported reporter=%s reason=%s", name, e)
                self._failing.add(name)

    def _run(self) -> None:
        wait_s = 0.0
        while not self._closed.wait(wait_s):
            try:
                wait_s = self.report_due()
            except Exception:
                log.exception("metrics could not be collected")
                wait_s = 1.0
