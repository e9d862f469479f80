"""`/overview`, `/config`, `/cluster` and the JobManager's own settings."""

from __future__ import annotations

import time
from collections import Counter
from http import HTTPStatus
from typing import Any, Final

from riverrun.core.lifecycle import JobStatus
from riverrun.rest.bodies.cluster import (
    ClusterOverview,
    ConfigurationEntry,
    DashboardConfiguration,
    Features,
    Health,
)
from riverrun.rest.context import RestContext
from riverrun.rest.problems import HttpProblem
from riverrun.rest.routing import Call, Nothing, Route

_ENDED: Final = {JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED}

Plain = Call[Nothing, Nothing, None]


def overview(rest: RestContext, call: Plain) -> ClusterOverview:
    """Slots and jobs at a glance."""
    del call
    facts, managers = rest.dispatcher.facts(), rest.dispatcher.task_managers()
    states = Counter(JobStatus(job.status) for job in rest.dispatcher.jobs())
    return ClusterOverview(
        taskmanagers=len(managers),
        slots_total=sum(each.slots for each in managers),
        slots_available=sum(each.slots_free for each in managers),
        jobs_running=sum(count for status, count in states.items() if status not in _ENDED),
        jobs_finished=states[JobStatus.FINISHED],
        jobs_cancelled=states[JobStatus.CANCELED],
        jobs_failed=states[JobStatus.FAILED],
        flink_version=facts.version,
        flink_commit=facts.commit,
    )


def dashboard(rest: RestContext, call: Plain) -> DashboardConfiguration:
    """What a page needs to know before it shows anything."""
    del call
    facts, here = rest.dispatcher.facts(), time.localtime()
    return DashboardConfiguration(
        refresh_interval=rest.page.refresh_ms,
        timezone_name=here.tm_zone,
        timezone_offset=here.tm_gmtoff * 1000,
        flink_version=facts.version,
        flink_revision=facts.commit,
        features=Features(
            web_submit=rest.programs is not None,
            web_cancel=rest.page.cancel,
            web_rescale=rest.page.rescale,
            web_shutdown=rest.shut_down is not None,
        ),
    )


def health(rest: RestContext, call: Plain) -> Health:
    """Whether the JobManager answers; needs no token and says nothing else."""
    del rest, call
    return Health()


def configuration(rest: RestContext, call: Plain) -> list[ConfigurationEntry]:
    """The JobManager's settings, with secrets masked."""
    del call
    config = rest.dispatcher.facts().config
    return [ConfigurationEntry(key, value) for key, value in sorted(config.items())]


def shut_down(rest: RestContext, call: Plain) -> None:
    """Cancel all jobs and end the JobManager; the answer comes before the end."""
    del call
    if rest.shut_down is None:
        raise HttpProblem(
            HTTPStatus.FORBIDDEN,
            "this JobManager belongs to one program and ends with it; cancel its job instead",
        )
    rest.shut_down()


_ENTRIES: Any = list[ConfigurationEntry]
ROUTES: Final = (
    Route("GET", "/overview", overview, gives=ClusterOverview),
    Route("GET", "/health", health, gives=Health),
    Route("GET", "/config", dashboard, gives=DashboardConfiguration),
    Route("DELETE", "/cluster", shut_down),
    Route("GET", "/jobmanager/config", configuration, gives=_ENTRIES),
)
