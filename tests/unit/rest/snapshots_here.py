"""Snapshots read in the process of the test, with all that the process beside a JobManager would answer."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from riverrun.jobmanager.snapshot_browser import SnapshotBrowser
from riverrun.jobmanager.snapshot_process import SnapshotProcess
from riverrun.jobmanager.snapshot_wire import Question
from riverrun.jobmanager.snapshot_worker import answered


class SnapshotsHere(SnapshotProcess):
    """Starts no process."""

    def __init__(self, config: Mapping[str, str] | None = None, patience_s: float = 20.0) -> None:
        super().__init__(config or {})
        self._browser = SnapshotBrowser(config or {}, patience_s)

    def _answer_to(self, question: bytes) -> bytes:
        asked = msgspec.json.decode(question, type=Question)
        return msgspec.json.encode(answered(self._browser, asked))
