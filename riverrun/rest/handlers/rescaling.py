"""Changing the parallelism of a running job, and what came of it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from riverrun.cluster.job_report import NOT_YET, JobReport, RescaleReport
from riverrun.cluster.resources.requirements import Bounds
from riverrun.rest.bodies.history import (
    LatestRescales,
    ParallelismBounds,
    RescaleCounts,
    RescaleEntry,
    RescalesOverview,
    VertexRequirements,
    VertexRescale,
)
from riverrun.rest.bodies.operations import OperationResult, RescaleRequest, TriggerResponse
from riverrun.rest.context import RestContext
from riverrun.rest.handlers.savepoints import operation_result
from riverrun.rest.problems import bad_request, not_found
from riverrun.rest.routing import Call, Nothing, OfJob, OfTrigger, Route

AboutJob: TypeAlias = Call[OfJob, Nothing, None]
Requirements: TypeAlias = dict[str, VertexRequirements]
_RESCALE: Final = "rescaling"


class Wanted(msgspec.Struct, frozen=True):
    """The parallelism that every vertex shall have whose own the program does not fix."""

    parallelism: Annotated[int, msgspec.Meta(ge=1)] | None = None


class OfRescale(OfJob, frozen=True):
    """The path names a change of parallelism."""

    rescaleuuid: str


def rescale(rest: RestContext, call: Call[OfJob, Wanted, RescaleRequest]) -> TriggerResponse:
    """Let a running job go on with another parallelism: all of it, or some vertices."""
    job, all_of_it, some = call.path.job, call.query.parallelism, call.body.vertices
    if (all_of_it is None) == (not some):
        raise bad_request(
            "rescaling: expected the parameter 'parallelism', or a body with 'vertices' "
            "(id, uid or name -> parallelism), and not both"
        )

    def start() -> Future[None]:
        return rest.dispatcher.rescale(job, some if all_of_it is None else all_of_it)

    return TriggerResponse(rest.operations.begin(f"{_RESCALE} of {job}", start))


def rescale_status(rest: RestContext, call: Call[OfTrigger, Nothing, None]) -> OperationResult:
    """How a change of parallelism goes."""
    outcome = rest.operations.outcome(f"{_RESCALE} of {call.path.job}", call.path.triggerid)
    return operation_result(outcome)


def requirements(rest: RestContext, call: AboutJob) -> Requirements:
    """Between which parallelisms each vertex may run."""
    return {
        vertex: VertexRequirements(
            parallelism=ParallelismBounds(lower=bounds.lower, upper=bounds.upper)
        )
        for vertex, bounds in rest.dispatcher.requirements(call.path.job).items()
    }


def require(rest: RestContext, call: Call[OfJob, Nothing, Requirements]) -> None:
    """Set between which parallelisms each vertex may run; the job follows."""
    bounds = {
        vertex: Bounds(wish.parallelism.lower, wish.parallelism.upper)
        for vertex, wish in call.body.items()
    }
    rest.dispatcher.require(call.path.job, bounds)


def history(rest: RestContext, call: AboutJob) -> list[RescaleEntry]:
    """Changes of parallelism, newest first."""
    job = rest.dispatcher.job(call.path.job)
    return [_entry(job, each) for each in job.rescales[::-1]]


def overview(rest: RestContext, call: AboutJob) -> RescalesOverview:
    """Changes of parallelism at a glance."""
    entries = history(rest, call)
    states = [entry.state for entry in entries]
    return RescalesOverview(
        latest=LatestRescales(
            completed=next((each for each in entries if each.state == "COMPLETED"), None),
            failed=next((each for each in entries if each.state == "FAILED"), None),
        ),
        counts=RescaleCounts(
            in_progress=states.count(None),
            completed=states.count("COMPLETED"),
            failed=states.count("FAILED"),
        ),
    )


def details(rest: RestContext, call: Call[OfRescale, Nothing, None]) -> RescaleEntry:
    """One change of parallelism."""
    job = rest.dispatcher.job(call.path.job)
    for each in job.rescales:
        if each.id == call.path.rescaleuuid:
            return _entry(job, each)
    raise not_found(f"job {job.id!r}: has no change of parallelism {call.path.rescaleuuid!r}")


def _entry(job: JobReport, found: RescaleReport) -> RescaleEntry:
    names = {vertex.id: vertex.name for vertex in job.vertices}
    state = "FAILED" if found.failure is not None else "COMPLETED"
    return RescaleEntry(
        id=found.id,
        started=found.began,
        ended=None if found.ended == NOT_YET else found.ended,
        state=None if found.ended == NOT_YET else state,
        cause=found.cause.value,
        failure=found.failure,
        vertices={
            vertex: VertexRescale(
                vertex=vertex,
                name=names.get(vertex, vertex),
                before=found.before.get(vertex, parallelism),
                after=parallelism,
                desired=parallelism,
            )
            for vertex, parallelism in found.after.items()
        },
    )


_REQUIREMENTS: Final = "/jobs/{jobid}/resource-requirements"
_HISTORY: Any = list[RescaleEntry]
ROUTES: Final = (
    Route(
        "PATCH",
        "/jobs/{jobid}/rescaling",
        rescale,
        gives=TriggerResponse,
        of=OfJob,
        query=Wanted,
        takes=RescaleRequest,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/rescaling/{triggerid}",
        rescale_status,
        gives=OperationResult,
        of=OfTrigger,
    ),
    Route("GET", _REQUIREMENTS, requirements, gives=Requirements, of=OfJob),
    Route("PUT", _REQUIREMENTS, require, of=OfJob, takes=Requirements),
    Route("GET", "/jobs/{jobid}/rescales/history", history, gives=_HISTORY, of=OfJob),
    Route("GET", "/jobs/{jobid}/rescales/overview", overview, gives=RescalesOverview, of=OfJob),
    Route(
        "GET",
        "/jobs/{jobid}/rescales/details/{rescaleuuid}",
        details,
        gives=RescaleEntry,
        of=OfRescale,
    ),
)
