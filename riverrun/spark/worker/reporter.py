"""Reports a task's metrics to the JobMaster, also while the task thread is blocked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from riverrun.core.errors import ExternalError
from riverrun.protocol.control import Metrics
from riverrun.spark.worker.ledger import TimeLedger

Snapshot = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class InputUsage:
    """How full the mailbox is: frames that wait, of so many that may."""

    waiting: Callable[[], int]
    room: int

    def metrics(self) -> dict[str, float]:
        """The figures, by Flink's names."""
        waiting = self.waiting()
        return {
            "buffers.inputQueueLength": float(waiting),
            "buffers.inPoolUsage": min(1.0, waiting / self.room),
        }


class MetricsReporter:
    """A thread that sends a snapshot every interval, and a last one when it is closed."""

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        ledger: TimeLedger,
        send: Callable[[Metrics], None],
        interval_s: float,
        usage: InputUsage,
    ) -> None:
        self._snapshot, self._ledger, self._send = snapshot, ledger, send
        self._usage = usage
        self._interval_s = interval_s
        self._before: Snapshot = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="riverrun-metrics", daemon=True)

    def start(self) -> None:
        """Begin to report."""
        self._thread.start()

    def close(self) -> None:
        """Send the last values and end the thread."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._closed.wait(self._interval_s):
                self._report()
            self._report()
        except ExternalError:
            return  # the JobMaster is gone; the control connection ends the task

    def _report(self) -> None:
        values = self._snapshot()
        self._add_rates(values)
        values.setdefault("", {}).update(self._ledger.metrics() | self._usage.metrics())
        self._send(Metrics(values))

    def _add_rates(self, values: Snapshot) -> None:
        """For each count its change per second since the last report."""
        for scope, metrics in values.items():
            before = self._before.get(scope, {})
            rates = {
                f"{name}PerSecond": (value - before.get(name, 0.0)) / self._interval_s
                for name, value in metrics.items()
                if name.startswith("num") and not name.endswith("PerSecond")
            }
            self._before[scope] = dict(metrics)
            metrics.update(rates)
