"""Answers that follow from a job's report alone: written once for each report, however many ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from riverrun.cluster.job_report import JobReport

_JOBS: Final = 32
_ANSWERS: Final = 256
"""Of one report."""


class KeptAnswers:
    """The answers from the latest report of each job; for one thread.

    >>> kept = KeptAnswers()
    >>> report = JobReport(id="7", name="a", status="RUNNING", timestamps={}, start=0, made=1)
    >>> kept.keep(report, "/jobs/7", b"{}")
    >>> kept.find(report, "/jobs/7"), kept.find(report, "/jobs/7/plan")
    (b'{}', None)
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[JobReport, dict[Hashable, bytes]]] = OrderedDict()

    def find(self, report: JobReport, question: Hashable) -> bytes | None:
        """The answer that was given to the same question from the very same report."""
        found = self._kept.get(report.id)
        if found is None or found[0] is not report:
            return None
        return found[1].get(question)

    def keep(self, report: JobReport, question: Hashable, answer: bytes) -> None:
        """Remember an answer until there is a newer report of the job."""
        found = self._kept.get(report.id)
        if found is None or found[0] is not report:
            found = self._kept[report.id] = (report, {})
            self._kept.move_to_end(report.id)
            if len(self._kept) > _JOBS:
                self._kept.popitem(last=False)
        if len(found[1]) < _ANSWERS:
            found[1][question] = answer
