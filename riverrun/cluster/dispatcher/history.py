"""Jobs that have ended: their last reports, kept in memory and, where a folder is named, in a store.

A report is one JSON file, named by the job's id, so that a person can read it too. What cannot be read
is passed over with a word in the log: one damaged file does not hide the others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

import msgspec

from riverrun.cluster.job_report import JobReport
from riverrun.core.ids import JobId
from riverrun.storage.storage import Storage, StorageError

log = logging.getLogger(__name__)

_SUFFIX: Final = ".json"
_DECODER: Final = msgspec.json.Decoder(JobReport)


class JobHistory:
    """The newest ``capacity`` ended jobs, none older than ``kept_ms``. Safe for any thread.

    Args:
        now: milliseconds since the epoch.
        capacity: how many.
        kept_ms: for how long after the end.
        storage: where they are kept beyond this process; ``None``: nowhere.
        folder: in which folder of ``storage``.
    """

    def __init__(
        self,
        now: Callable[[], int],
        *,
        capacity: int = 1000,
        kept_ms: int = 7 * 24 * 3600 * 1000,
        storage: Storage | None = None,
        folder: str = "",
    ) -> None:
        self._now = now
        self._capacity = capacity
        self._kept_ms = kept_ms
        self._storage = storage
        self._folder = folder
        self._lock = threading.Lock()
        self._reports: dict[str, JobReport] = {}

    def load(self) -> None:
        """Take over what is in the store; only that of jobs that this process does not know."""
        if self._storage is None:
            return
        for location in self._storage.list(self._folder):
            if location.endswith(_SUFFIX):
                report = self._read(self._storage, location)
                if report is not None:
                    with self._lock:
                        self._reports.setdefault(report.id, report)
        self._forget()

    def add(self, report: JobReport) -> None:
        """Keep the last report of a job. A store that does not take it is a word in the log."""
        with self._lock:
            self._reports.pop(report.id, None)
            self._reports[report.id] = report
        if self._storage is not None:
            try:
                self._storage.write(self._location(report.id), msgspec.json.encode(report))
            except StorageError as e:
                log.warning("report of an ended job is not kept job=%s reason=%s", report.id, e)
        self._forget()

    def get(self, job: JobId) -> JobReport | None:
        """The last report of the job, if it is kept."""
        with self._lock:
            return self._reports.get(str(job))

    def all(self) -> tuple[JobReport, ...]:
        """All of them, the latest end first."""
        with self._lock:
            reports = list(self._reports.values())
        return tuple(sorted(reports, key=lambda report: report.end, reverse=True))

    def _read(self, storage: Storage, location: str) -> JobReport | None:
        try:
            return _DECODER.decode(storage.read(location))
        except (StorageError, msgspec.MsgspecError, UnicodeDecodeError) as e:
            log.warning("report of an ended job cannot be read file=%s reason=%s", location, e)
            return None

    def _forget(self) -> None:
        newest_first = self.all()
        oldest = self._now() - self._kept_ms
        dropped = [
            report.id
            for place, report in enumerate(newest_first)
            if place >= self._capacity or report.end < oldest
        ]
        if not dropped:
            return
        with self._lock:
            for job in dropped:
                self._reports.pop(job, None)
        if self._storage is not None:
            try:
                self._storage.delete(self._location(job) for job in dropped)
            except StorageError as e:
                log.warning("old reports stay reason=%s", e)

    def _location(self, job: str) -> str:
        return f"{self._folder}/{job}{_SUFFIX}"
