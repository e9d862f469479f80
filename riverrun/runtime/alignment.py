"""A source's side of watermark alignment: what it reports, and how far it may go."""

from __future__ import annotations

from riverrun.api.watermark_strategy import WatermarkAlignment
from riverrun.protocol.control import WatermarkReported
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP


class SourceAlignment:
    """Reports a watermark that changed, but not too often; remembers what is allowed.

    >>> alignment = SourceAlignment(WatermarkAlignment("group", max_drift_ms=10))
    >>> alignment.note(5, idle=False)
    >>> alignment.due_at()
    0.0
    >>> alignment.run_due(100.0)
    >>> alignment.take()
    WatermarkReported(watermark=5)
    >>> alignment.note(6, idle=False)
    >>> alignment.due_at()
    1100.0
    """

    def __init__(self, alignment: WatermarkAlignment) -> None:
        self._drift = alignment.max_drift_ms
        self._interval = alignment.update_interval_ms
        self._next = 0.0
        self._now: int | None = None
        self._reported: int | None = None
        self._outgoing: WatermarkReported | None = None
        self.allowed = MAX_WATERMARK
        """A split beyond this has to wait."""

    def note(self, watermark: int, *, idle: bool) -> None:
        """The source's watermark and status now."""
        self._now = None if idle or watermark == MIN_TIMESTAMP else watermark

    def due_at(self) -> float | None:
        """When there is something to report; ``None``: not before it changes."""
        return None if self._now == self._reported else self._next

    def run_due(self, now: float) -> None:
        """Report, if it is time to."""
        due = self.due_at()
        if due is not None and due <= now:
            self._next = now + self._interval
            self._report(self._now)

    def leave(self) -> None:
        """The source has ended: it keeps nobody from going on."""
        self._now = None
        if self._reported is not None:
            self._report(None)

    def take(self) -> WatermarkReported | None:
        """What is to be sent to the JobMaster now."""
        outgoing, self._outgoing = self._outgoing, None
        return outgoing

    def drift(self) -> int:
        """How far the source is ahead of the slowest of its group; 0: not known."""
        if self.allowed == MAX_WATERMARK or self._now is None:
            return 0
        return self._now - (self.allowed - self._drift)

    def _report(self, watermark: int | None) -> None:
        self._reported = watermark
        self._outgoing = WatermarkReported(watermark)
