"""The table of all routes."""

from __future__ import annotations

from typing import Final

from riverrun.rest.handlers import cluster, jobs
from riverrun.rest.routing import Route
from riverrun.rest.unsupported import unsupported_routes

OFFERED: Final[tuple[Route, ...]] = (*cluster.ROUTES, *jobs.ROUTES)
"""What the interface does. Fixed paths stand before those with names in the same place."""
ROUTES: Final[tuple[Route, ...]] = (*OFFERED, *unsupported_routes())
