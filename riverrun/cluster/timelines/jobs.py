"""The time lines of all jobs that a JobManager knows."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from riverrun.cluster.job_report import JobReport
from riverrun.cluster.timelines.measures import JOB_SERIES, VERTEX_SERIES, JobMeasures
from riverrun.metrics.timelines import Fold, TimeLine

_ENDED_BYTES: Final = 64 << 20
"""How much memory the time lines of ended jobs may take."""


@dataclass(frozen=True, slots=True)
class TimeLines:
    """Some series of a job on one grid of time."""

    step_ms: int
    times: tuple[int, ...]
    """When the time that each value stands for begins."""
    series: dict[str, list[float | None]]


class JobTimeLines:
    """Those of one job; safe for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._measures = JobMeasures()
        self._vertices: tuple[str, ...] = ()
        self._line = _line_of(0)

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return self._line.nbytes

    def add(self, report: JobReport) -> None:
        """Keep what ``report`` says of its moment."""
        vertices = tuple(vertex.id for vertex in report.vertices)
        with self._lock:
            if vertices != self._vertices:
                # A job that has not started yet knows none, and there is nothing to keep of it.
                self._vertices, self._line = vertices, _line_of(len(vertices))
            self._line.add(report.made, self._measures.of(report))

    def read(self, vertex: str | None, *, begin: int, end: int, points: int) -> TimeLines:
        """The series of the job, or of one vertex, in at most ``points`` values each."""
        names = JOB_SERIES if vertex is None else VERTEX_SERIES
        with self._lock:
            columns = self._columns(vertex)
            samples = self._line.read(columns, begin=begin, end=end, points=points)
        shown = samples.rows.T.tolist() if columns else [[] for _ in names]
        return TimeLines(
            samples.step_ms,
            samples.times if columns else (),
            {
                name: [_shown(value) for value in values]
                for name, values in zip(names, shown, strict=True)
            },
        )

    def _columns(self, vertex: str | None) -> range:
        if vertex is None:
            return range(len(JOB_SERIES))
        if vertex not in self._vertices:
            return range(0)
        first = len(JOB_SERIES) + self._vertices.index(vertex) * len(VERTEX_SERIES)
        return range(first, first + len(VERTEX_SERIES))


class JobsTimeLines:
    """Those of all jobs. Sampled by one thread, read by any."""

    def __init__(self, ended_bytes: int = _ENDED_BYTES) -> None:
        self._ended_bytes = ended_bytes
        self._jobs: dict[str, JobTimeLines] = {}
        self._running: frozenset[str] = frozenset()

    def of(self, job: str) -> JobTimeLines:
        """Those of a job; without values when nothing is kept of it."""
        return self._jobs.get(job) or JobTimeLines()

    def sample(self, reports: Sequence[JobReport], is_known: Callable[[str], bool]) -> None:
        """Keep what the reports of all running jobs say; forget jobs that nobody knows any more.

        ``is_known``: whether there is such a job, running or ended.
        """
        for report in reports:
            self._jobs.setdefault(report.id, JobTimeLines()).add(report)
        running = frozenset(report.id for report in reports)
        ended, self._running = self._running - running, running
        if ended:
            self._forget(is_known, ended)

    def _forget(self, is_known: Callable[[str], bool], ended: Iterable[str]) -> None:
        """Drop jobs that are not known, and the time lines of the earliest ends when they are too large."""
        jobs = {job: lines for job, lines in self._jobs.items() if is_known(job)}
        for job in ended:
            if job in jobs:
                jobs[job] = jobs.pop(job)
        over = [job for job in jobs if job not in self._running]
        size = sum(jobs[job].nbytes for job in over)
        for job in over:
            if size <= self._ended_bytes:
                break
            size -= jobs.pop(job).nbytes
        self._jobs = jobs


def _line_of(vertices: int) -> TimeLine:
    folds: list[Fold] = [*JOB_SERIES.values()]
    return TimeLine(folds + [*VERTEX_SERIES.values()] * vertices)


def _shown(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 3)
