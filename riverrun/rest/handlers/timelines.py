"""How a job went over time."""

from __future__ import annotations

import time
from typing import Annotated, Final

import msgspec

from riverrun.cluster.job_report import NOT_YET, JobReport
from riverrun.rest.bodies.timelines import TimeLinesBody
from riverrun.rest.context import RestContext
from riverrun.rest.problems import bad_request
from riverrun.rest.routing import Call, OfJob, Route, VertexIdText

_POINTS: Final = 300
_MOST_POINTS: Final = 2000
_LONGEST_S: Final = 10 * 366 * 24 * 3600


class TimeSpan(msgspec.Struct, frozen=True):
    """Which part of the run, of which vertex, and how finely."""

    window: Annotated[int, msgspec.Meta(ge=1, le=_LONGEST_S)] | None = None
    """Seconds until now, or until the job's end; without it, the whole run."""
    points: Annotated[int, msgspec.Meta(ge=1, le=_MOST_POINTS)] = _POINTS
    """How many values of each series at most."""
    vertex: VertexIdText | None = None
    """Whose series; without it, those of the job as a whole."""


def time_lines(rest: RestContext, call: Call[OfJob, TimeSpan, None]) -> TimeLinesBody:
    """Throughput, latency, watermark lag, time spent, state, checkpoints and restarts over time."""
    job, asked = rest.dispatcher.job(call.path.job), call.query
    _check_vertex(job, asked.vertex)
    now = time.time_ns() // 1_000_000
    end = now if job.end == NOT_YET else job.end + 1
    begin = job.start if asked.window is None else end - asked.window * 1000
    found = rest.time_lines.of(job.id).read(asked.vertex, begin=begin, end=end, points=asked.points)
    return TimeLinesBody(
        now=now,
        begin=job.start,
        end=job.end,
        resolution=found.step_ms,
        times=list(found.times),
        series=found.series,
    )


def _check_vertex(job: JobReport, vertex: str | None) -> None:
    if vertex is not None and vertex not in (each.id for each in job.vertices):
        raise bad_request(
            f"query: vertex is {vertex!r}; expected the id of a vertex of job {job.id!r}, "
            f"such as GET /jobs/{job.id} lists"
        )


ROUTES: Final = (
    Route(
        "GET",
        "/jobs/{jobid}/timelines",
        time_lines,
        gives=TimeLinesBody,
        of=OfJob,
        query=TimeSpan,
    ),
)
