"""`/metrics`: the page that Prometheus reads; and the metrics of the JobManager itself."""

from __future__ import annotations

from typing import Final

from riverrun.metrics.reporters.prometheus import MEDIA_TYPE, exposition
from riverrun.rest.bodies.metrics import Metrics
from riverrun.rest.context import RestContext
from riverrun.rest.handlers.metrics import Wanted
from riverrun.rest.metric_scopes import cluster_scopes, job_manager_metrics, running_jobs
from riverrun.rest.metric_values import names_in, picked
from riverrun.rest.routing import Call, Nothing, OfVertex, Raw, Route
from riverrun.rest.vertex_rendering import vertex_of


def page(rest: RestContext, call: Call[Nothing, Nothing, None]) -> Raw:
    """All metrics of the cluster and of its running jobs in Prometheus' text format."""
    del call
    return Raw(exposition(cluster_scopes(rest.dispatcher)), MEDIA_TYPE)


def of_job_manager(rest: RestContext, call: Call[Nothing, Wanted, None]) -> Metrics:
    """Metrics of the JobManager."""
    running = len(running_jobs(rest.dispatcher))
    values = job_manager_metrics(rest.dispatcher.task_managers(), running)
    return Metrics(picked(values, names_in(call.query.get)))


def of_coordinators(rest: RestContext, call: Call[OfVertex, Wanted, None]) -> Metrics:
    """Metrics of the JobManager about the operators of a vertex: there are none."""
    vertex_of(rest.dispatcher.job(call.path.job), call.path.vertexid)
    return Metrics([])


_COORDINATORS: Final = "/jobs/{jobid}/vertices/{vertexid}/jm-operator-metrics"
ROUTES: Final = (
    Route("GET", "/metrics", page, gives=Raw),
    Route("GET", "/jobmanager/metrics", of_job_manager, gives=Metrics, query=Wanted),
    Route("GET", _COORDINATORS, of_coordinators, gives=Metrics, of=OfVertex, query=Wanted),
)
