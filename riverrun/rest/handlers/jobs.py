"""`/jobs` and `/jobs/{jobid}`: lists, details, plan, cancel."""

from __future__ import annotations

import time
from typing import Final, Literal, TypeAlias

import msgspec

from riverrun.rest.bodies.jobs import (
    JobDetail,
    JobIdsWithStatus,
    JobIdWithStatus,
    JobPlan,
    JobsOverview,
    JobStatusInfo,
)
from riverrun.rest.context import RestContext
from riverrun.rest.problems import bad_request
from riverrun.rest.rendering import job_detail, job_in_list, plan_of
from riverrun.rest.routing import Call, Nothing, OfJob, Route

Plain: TypeAlias = Call[Nothing, Nothing, None]
AboutJob: TypeAlias = Call[OfJob, Nothing, None]


class TerminationMode(msgspec.Struct, frozen=True):
    """How a job is to be ended."""

    mode: Literal["cancel", "CANCEL", "stop", "STOP"] = "cancel"


def job_ids(rest: RestContext, call: Plain) -> JobIdsWithStatus:
    """All jobs and where they stand."""
    del call
    return JobIdsWithStatus([JobIdWithStatus(j.id, j.status) for j in rest.dispatcher.jobs()])


def overview(rest: RestContext, call: Plain) -> JobsOverview:
    """All jobs, running and finished."""
    del call
    now = int(time.time() * 1000)
    return JobsOverview([job_in_list(job, now) for job in rest.dispatcher.jobs()])


def detail(rest: RestContext, call: AboutJob) -> JobDetail:
    """A job with its vertices and its plan."""
    return job_detail(rest.dispatcher.job(call.path.job))


def status(rest: RestContext, call: AboutJob) -> JobStatusInfo:
    """Where a job stands."""
    return JobStatusInfo(rest.dispatcher.job(call.path.job).status)


def plan(rest: RestContext, call: AboutJob) -> JobPlan:
    """The job graph."""
    return JobPlan(plan_of(rest.dispatcher.job(call.path.job)))


def cancel(rest: RestContext, call: Call[OfJob, TerminationMode, None]) -> None:
    """Ask a job to stop."""
    if call.query.mode.lower() != "cancel":
        raise bad_request(
            f"mode: is {call.query.mode!r}, expected 'cancel'; to stop with a savepoint "
            f"POST to /jobs/{call.path.jobid}/stop"
        )
    rest.dispatcher.cancel(call.path.job)


ROUTES: Final = (
    Route("GET", "/jobs", job_ids, gives=JobIdsWithStatus),
    Route("GET", "/jobs/overview", overview, gives=JobsOverview),
    Route("GET", "/jobs/{jobid}", detail, gives=JobDetail, of=OfJob, of_report=True),
    Route("PATCH", "/jobs/{jobid}", cancel, of=OfJob, query=TerminationMode, status=202),
    Route("GET", "/jobs/{jobid}/status", status, gives=JobStatusInfo, of=OfJob),
    Route("GET", "/jobs/{jobid}/plan", plan, gives=JobPlan, of=OfJob, of_report=True),
)
