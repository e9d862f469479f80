"""The table of all routes."""

from __future__ import annotations

from typing import Final

from riverrun.rest.description import described
from riverrun.rest.handlers import (
    checkpoints,
    cluster,
    diagnosis,
    flow,
    history,
    jobs,
    logs,
    metrics,
    programs,
    prometheus,
    rescaling,
    savepoints,
    states,
    submission,
    task_managers,
    timelines,
    vertices,
)
from riverrun.rest.routing import Route
from riverrun.rest.unsupported import unsupported_routes

OFFERED: Final[tuple[Route, ...]] = (
    *cluster.ROUTES,
    *diagnosis.ROUTES,
    *logs.ROUTES,
    *metrics.ROUTES,
    *prometheus.ROUTES,
    *timelines.ROUTES,
    *jobs.ROUTES,
    *flow.ROUTES,
    *history.ROUTES,
    *checkpoints.ROUTES,
    *savepoints.ROUTES,
    *states.ROUTES,
    *rescaling.ROUTES,
    *submission.ROUTES,
    *programs.ROUTES,
    *task_managers.ROUTES,
    *vertices.ROUTES,
)
"""What the interface does. Fixed paths stand before those with names in the same place."""
ROUTES: Final[tuple[Route, ...]] = described((*OFFERED, *unsupported_routes()))
