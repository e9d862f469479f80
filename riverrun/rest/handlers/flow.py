"""`/jobs/{jobid}/flow`: what a drawing of a job shows at each vertex, in one answer."""

from __future__ import annotations

from typing import Final

from riverrun.rest.bodies.flow import JobFlow
from riverrun.rest.context import RestContext
from riverrun.rest.flow_rendering import vertex_flow
from riverrun.rest.routing import Call, Nothing, OfJob, Route


def flow(rest: RestContext, call: Call[OfJob, Nothing, None]) -> JobFlow:
    """How records flow through a job now: rates, shares of time and watermark of each vertex."""
    job = rest.dispatcher.job(call.path.job)
    fed = {edge.target for edge in job.edges}
    vertices = [vertex_flow(vertex, is_source=vertex.id not in fed) for vertex in job.vertices]
    return JobFlow(now=job.made, vertices=vertices)


ROUTES: Final = (Route("GET", "/jobs/{jobid}/flow", flow, gives=JobFlow, of=OfJob, of_report=True),)
