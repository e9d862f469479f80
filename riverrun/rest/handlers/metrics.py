"""Metrics of jobs, vertices, subtasks and operators, one by one or summed up; watermarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final

import msgspec

from riverrun.cluster.job_report import SubtaskReport
from riverrun.core.ids import JobId
from riverrun.rest.bodies.metrics import AggregatedMetrics, Metric, Metrics
from riverrun.rest.context import RestContext
from riverrun.rest.metric_scopes import job_metrics
from riverrun.rest.metric_values import aggregated, names_in, number, of_each, picked
from riverrun.rest.problems import bad_request
from riverrun.rest.routing import Call, Nothing, OfJob, OfSubtask, OfVertex, Route
from riverrun.rest.vertex_rendering import subtask_of, vertex_of

_WATERMARK: Final = "currentInputWatermark"
_SPAN: Final = "[0-9]{1,9}(-[0-9]{1,9})?"
_RANGE: Final = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_JOB_ID: Final = re.compile(r"[0-9a-f]{32}")


class Wanted(msgspec.Struct, frozen=True):
    """Names of metrics; none: list the names that there are."""

    get: str | None = None


class Aggregation(Wanted, frozen=True):
    """Names of metrics, and how to sum them up."""

    agg: str | None = None


class OverSubtasks(Aggregation, frozen=True):
    """Over which subtasks, such as ``1,3,5-9``."""

    subtasks: Annotated[str, msgspec.Meta(pattern=f"^({_SPAN}(,{_SPAN})*)?$")] = ""


class OverJobs(Aggregation, frozen=True):
    """Over which jobs, by their ids."""

    jobs: str | None = None


def of_job(rest: RestContext, call: Call[OfJob, Wanted, None]) -> Metrics:
    """Metrics of a job."""
    return Metrics(
        picked(job_metrics(rest.dispatcher.job(call.path.job)), names_in(call.query.get))
    )


def over_jobs(rest: RestContext, call: Call[Nothing, OverJobs, None]) -> AggregatedMetrics:
    """Metrics summed up over jobs."""
    ids = names_in(call.query.jobs)
    for text in ids:
        if not _JOB_ID.fullmatch(text):
            raise bad_request(f"jobs: {text!r} is no job id")
    ids = ids or [job.id for job in rest.dispatcher.jobs()]
    scopes = [job_metrics(rest.dispatcher.job(JobId(text))) for text in ids]
    return AggregatedMetrics(aggregated(scopes, names_in(call.query.get), names_in(call.query.agg)))


def of_vertex(rest: RestContext, call: Call[OfVertex, Wanted, None]) -> Metrics:
    """Metrics of all subtasks of a vertex, named ``<subtask>.<metric>``; ``*.<metric>`` gets it of each."""
    vertex = vertex_of(rest.dispatcher.job(call.path.job), call.path.vertexid)
    values = {
        f"{subtask.index}.{name}": value
        for subtask in vertex.subtasks
        for name, value in subtask_metrics(subtask).items()
    }
    wanted = of_each(names_in(call.query.get), len(vertex.subtasks))
    return Metrics(picked(values, wanted))


def over_subtasks(rest: RestContext, call: Call[OfVertex, OverSubtasks, None]) -> AggregatedMetrics:
    """Metrics of a vertex, summed up over its subtasks."""
    vertex = vertex_of(rest.dispatcher.job(call.path.job), call.path.vertexid)
    wanted = set(_indices(call.query.subtasks, len(vertex.subtasks)))
    scopes = [
        subtask_metrics(subtask)
        for subtask in vertex.subtasks
        if not call.query.subtasks or subtask.index in wanted
    ]
    return AggregatedMetrics(aggregated(scopes, names_in(call.query.get), names_in(call.query.agg)))


def of_subtask(rest: RestContext, call: Call[OfSubtask, Wanted, None]) -> Metrics:
    """Metrics of a subtask and of the operators in it, those as ``<operator>.<metric>``."""
    vertex = vertex_of(rest.dispatcher.job(call.path.job), call.path.vertexid)
    subtask = subtask_of(vertex, call.path.subtaskindex)
    return Metrics(picked(subtask_metrics(subtask), names_in(call.query.get)))


def watermarks(rest: RestContext, call: Call[OfVertex, Nothing, None]) -> Metrics:
    """How far event time is in each subtask of a vertex."""
    vertex = vertex_of(rest.dispatcher.job(call.path.job), call.path.vertexid)
    return Metrics(
        [
            Metric(f"{subtask.index}.{_WATERMARK}", number(subtask.metrics[_WATERMARK]))
            for subtask in vertex.subtasks
            if _WATERMARK in subtask.metrics
        ]
    )


def subtask_metrics(subtask: SubtaskReport) -> dict[str, float]:
    """The metrics of a subtask and of its operators."""
    return subtask.metrics | {
        f"{operator}.{name}": value
        for operator, values in subtask.operator_metrics.items()
        for name, value in values.items()
    }


def _indices(ranges: str, end: int) -> Iterator[int]:
    for first, last in _RANGE.findall(ranges):
        yield from range(int(first), min(int(last or first), end) + 1)


_VERTEX: Final = "/jobs/{jobid}/vertices/{vertexid}"
ROUTES: Final = (
    Route("GET", "/jobs/metrics", over_jobs, gives=AggregatedMetrics, query=OverJobs),
    Route(
        "GET",
        "/jobs/{jobid}/metrics",
        of_job,
        gives=Metrics,
        of=OfJob,
        query=Wanted,
        of_report=True,
    ),
    Route(
        "GET",
        f"{_VERTEX}/metrics",
        of_vertex,
        gives=Metrics,
        of=OfVertex,
        query=Wanted,
        of_report=True,
    ),
    Route(
        "GET",
        f"{_VERTEX}/subtasks/metrics",
        over_subtasks,
        gives=AggregatedMetrics,
        of=OfVertex,
        query=OverSubtasks,
        of_report=True,
    ),
    Route(
        "GET",
        f"{_VERTEX}/subtasks/{{subtaskindex}}/metrics",
        of_subtask,
        gives=Metrics,
        of=OfSubtask,
        query=Wanted,
        of_report=True,
    ),
    Route("GET", f"{_VERTEX}/watermarks", watermarks, gives=Metrics, of=OfVertex, of_report=True),
)
