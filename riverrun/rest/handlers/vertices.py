"""`/jobs/{jobid}/vertices`: subtasks, times, executors, back-pressure, accumulators."""

from __future__ import annotations

from typing import Final, TypeAlias

from riverrun.cluster.job_report import JobReport, VertexReport
from riverrun.rest.bodies.vertices import (
    AttemptAccumulators,
    BackPressure,
    SubtaskAccumulators,
    SubtaskAttempt,
    SubtasksAccumulators,
    SubtaskTimes,
    VertexAccumulators,
    VertexDetail,
    VertexTaskManagers,
    VertexTimes,
)
from riverrun.rest.context import RestContext
from riverrun.rest.rendering import duration, ended_at, started_at
from riverrun.rest.routing import Call, Index, Nothing, OfSubtask, OfVertex, Route
from riverrun.rest.vertex_rendering import (
    accumulators_of,
    aggregated,
    attempt_of,
    back_pressure,
    endpoint_of,
    level_of,
    on_task_managers,
    subtask_attempt,
    subtask_of,
    vertex_of,
)

AboutVertex: TypeAlias = Call[OfVertex, Nothing, None]
AboutSubtask: TypeAlias = Call[OfSubtask, Nothing, None]


class OfAttempt(OfSubtask, frozen=True):
    """The path names an attempt of a subtask."""

    attempt: Index


AboutAttempt: TypeAlias = Call[OfAttempt, Nothing, None]


def detail(rest: RestContext, call: AboutVertex) -> VertexDetail:
    """A vertex, subtask by subtask."""
    job, vertex = _named(rest, call.path)
    return VertexDetail(
        id=vertex.id,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        now=job.made,
        subtasks=[subtask_attempt(each, each.current, job.made) for each in vertex.subtasks],
        aggregated=aggregated(vertex.subtasks, job.made),
    )


def times(rest: RestContext, call: AboutVertex) -> VertexTimes:
    """When the subtasks of a vertex came to each of their states."""
    job, vertex = _named(rest, call.path)
    subtasks = [
        SubtaskTimes(
            subtask=each.index,
            endpoint=endpoint_of(each.current),
            duration=duration(started_at(each.current), ended_at(each.current), job.made),
            timestamps=each.current.timestamps,
        )
        for each in vertex.subtasks
    ]
    return VertexTimes(id=vertex.id, name=vertex.name, now=job.made, subtasks=subtasks)


def task_managers(rest: RestContext, call: AboutVertex) -> VertexTaskManagers:
    """A vertex, executor by executor."""
    job, vertex = _named(rest, call.path)
    managers = on_task_managers(vertex, job.made)
    return VertexTaskManagers(id=vertex.id, name=vertex.name, now=job.made, taskmanagers=managers)


def pressure(rest: RestContext, call: AboutVertex) -> BackPressure:
    """How the subtasks of a vertex spend their time: busy, idle, or waiting for those downstream."""
    job, vertex = _named(rest, call.path)
    subtasks = [back_pressure(subtask) for subtask in vertex.subtasks]
    worst = max((each.ratio for each in subtasks), default=0.0)
    return BackPressure(level=level_of(worst), end_timestamp=job.made, subtasks=subtasks)


def subtask(rest: RestContext, call: AboutSubtask) -> SubtaskAttempt:
    """The current attempt of a subtask."""
    job, vertex = _named(rest, call.path)
    found = subtask_of(vertex, call.path.subtaskindex)
    return subtask_attempt(found, found.current, job.made)


def attempt(rest: RestContext, call: AboutAttempt) -> SubtaskAttempt:
    """One attempt of a subtask, while it is remembered."""
    job, vertex = _named(rest, call.path)
    found = subtask_of(vertex, call.path.subtaskindex)
    return subtask_attempt(found, attempt_of(found, call.path.attempt), job.made)


def accumulators(rest: RestContext, call: AboutVertex) -> VertexAccumulators:
    """Accumulators of a vertex, over all its subtasks."""
    _, vertex = _named(rest, call.path)
    found = [each for subtask in vertex.subtasks for each in accumulators_of(subtask.accumulators)]
    return VertexAccumulators(id=vertex.id, accumulators=found)


def subtasks_accumulators(rest: RestContext, call: AboutVertex) -> SubtasksAccumulators:
    """Accumulators of a vertex, subtask by subtask."""
    _, vertex = _named(rest, call.path)
    subtasks = [
        SubtaskAccumulators(
            subtask=each.index,
            attempt=each.current.attempt,
            endpoint=endpoint_of(each.current),
            accumulators=accumulators_of(each.accumulators),
        )
        for each in vertex.subtasks
    ]
    return SubtasksAccumulators(id=vertex.id, parallelism=vertex.parallelism, subtasks=subtasks)


def attempt_accumulators(rest: RestContext, call: AboutAttempt) -> AttemptAccumulators:
    """Accumulators of one attempt of a subtask; those of earlier attempts are not kept."""
    _, vertex = _named(rest, call.path)
    found = subtask_of(vertex, call.path.subtaskindex)
    named = attempt_of(found, call.path.attempt)
    kept = found.accumulators if named is found.current else {}
    return AttemptAccumulators(
        id=vertex.id,
        subtask=found.index,
        attempt=named.attempt,
        accumulators=accumulators_of(kept),
    )


def _named(rest: RestContext, path: OfVertex) -> tuple[JobReport, VertexReport]:
    job = rest.dispatcher.job(path.job)
    return job, vertex_of(job, path.vertexid)


_VERTEX: Final = "/jobs/{jobid}/vertices/{vertexid}"
_SUBTASK: Final = f"{_VERTEX}/subtasks/{{subtaskindex}}"
_ATTEMPT: Final = f"{_SUBTASK}/attempts/{{attempt}}"
ROUTES: Final = (
    Route("GET", _VERTEX, detail, gives=VertexDetail, of=OfVertex, of_report=True),
    Route("GET", f"{_VERTEX}/subtasktimes", times, gives=VertexTimes, of=OfVertex, of_report=True),
    Route(
        "GET",
        f"{_VERTEX}/taskmanagers",
        task_managers,
        gives=VertexTaskManagers,
        of=OfVertex,
        of_report=True,
    ),
    Route(
        "GET", f"{_VERTEX}/backpressure", pressure, gives=BackPressure, of=OfVertex, of_report=True
    ),
    Route("GET", f"{_VERTEX}/accumulators", accumulators, gives=VertexAccumulators, of=OfVertex),
    Route(
        "GET",
        f"{_VERTEX}/subtasks/accumulators",
        subtasks_accumulators,
        gives=SubtasksAccumulators,
        of=OfVertex,
    ),
    Route("GET", _SUBTASK, subtask, gives=SubtaskAttempt, of=OfSubtask, of_report=True),
    Route("GET", _ATTEMPT, attempt, gives=SubtaskAttempt, of=OfAttempt),
    Route(
        "GET",
        f"{_ATTEMPT}/accumulators",
        attempt_accumulators,
        gives=AttemptAccumulators,
        of=OfAttempt,
    ),
)
