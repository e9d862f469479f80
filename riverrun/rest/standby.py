"""What a JobManager that stands by answers: that it is there, and where the leader is."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from riverrun.rest.app import answer_of
from riverrun.rest.bodies.cluster import Health
from riverrun.rest.problems import HttpProblem

LEADER_HEADER = "X-Riverrun-Leader"


def standby_app(leader: Callable[[], str | None]) -> ASGIApp:
    """An application that does nothing else.

    Args:
        leader: where the leader's interface is, as far as is known.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        response = _health() if scope["path"] == "/health" else _elsewhere(leader())
        await response(scope, receive, send)

    return app


def _health() -> Response:
    return Response(msgspec.json.encode(Health("standby")), media_type="application/json")


def _elsewhere(leader: str | None) -> Response:
    where = f"the leader is at {leader}" if leader else "no leader is known; ask again in a moment"
    words = f"this JobManager stands by and answers nothing; {where}"
    response = answer_of(HttpProblem(HTTPStatus.SERVICE_UNAVAILABLE, words))
    if leader:
        response.headers[LEADER_HEADER] = leader
    return response
