"""What Flink's interface has and this one does not: answered 501, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NoReturn

from riverrun.rest.context import RestContext
from riverrun.rest.problems import HttpProblem
from riverrun.rest.routing import Call, Route

_DATASETS: Final = "intermediate results are not kept between jobs: there are no cluster data sets"
_APPLICATIONS: Final = (
    "a JobManager runs jobs, which are not grouped into applications; ask /jobs/overview"
)
_HEARTBEAT: Final = (
    "a client shows that it is there by asking for its job's values; see client.heartbeat.timeout"
)
_RESCALE_CONFIG: Final = "settings of rescaling are among the job's own; ask /jobs/{jobid}/config"
_RESCALE_SUMMARY: Final = "durations are not summed up; ask /jobs/{jobid}/rescales/history"

REASONS: Final[Mapping[tuple[str, str], str]] = {
    ("GET", "/applications/overview"): _APPLICATIONS,
    ("GET", "/applications/{applicationid}"): _APPLICATIONS,
    ("POST", "/applications/{applicationid}/cancel"): _APPLICATIONS,
    ("GET", "/applications/{applicationid}/exceptions"): _APPLICATIONS,
    ("GET", "/applications/{applicationid}/jobmanager/config"): _APPLICATIONS,
    ("GET", "/datasets"): _DATASETS,
    ("GET", "/datasets/delete/{triggerid}"): _DATASETS,
    ("DELETE", "/datasets/{datasetid}"): _DATASETS,
    ("POST", "/jars/{jarid}/run-application"): _APPLICATIONS,
    ("PATCH", "/jobs/{jobid}/clientHeartbeat"): _HEARTBEAT,
    ("GET", "/jobs/{jobid}/rescales/config"): _RESCALE_CONFIG,
    ("GET", "/jobs/{jobid}/rescales/summary"): _RESCALE_SUMMARY,
}
"""Method and path -> why not."""


def unsupported_routes() -> tuple[Route, ...]:
    """A route for each of them."""
    return tuple(
        Route(method, path, _Refusal(reason), status=HTTPStatus.NOT_IMPLEMENTED)
        for (method, path), reason in REASONS.items()
    )


class _Refusal:
    """Not offered here."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __call__(self, rest: RestContext, call: Call[Any, Any, Any]) -> NoReturn:
        del rest, call
        raise HttpProblem(HTTPStatus.NOT_IMPLEMENTED, f"not offered: {self._reason}")
