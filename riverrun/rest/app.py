"""The REST interface as an ASGI application."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ExceptionHandler

from riverrun.rest.context import RestContext
from riverrun.rest.problems import ErrorBody, HttpProblem, problem_of
from riverrun.rest.routing import (
    BodyKind,
    Call,
    Raw,
    Receiver,
    Route,
    checked_body,
    checked_path,
    checked_query,
)
from riverrun.rest.uploads import uploaded

log = logging.getLogger(__name__)

PREFIXES: Final = ("", "/v1")
"""Every path is served with and without the version, as Flink does."""
MAX_BODY: Final = 1024 * 1024
"""Bytes of a request's body that is not an upload."""
_JSON: Final = "application/json; charset=UTF-8"


def rest_app(context: RestContext, routes: Iterable[Route]) -> Starlette:
    """The application that serves ``routes``."""
    served = [
        StarletteRoute(f"{prefix}{route.path}", _Endpoint(context, route), methods=[route.method])
        for route in routes
        for prefix in PREFIXES
    ]
    handlers: dict[Any, ExceptionHandler] = {HTTPException: _refused, Exception: _broken}
    return Starlette(routes=served, exception_handlers=handlers)


@dataclass(frozen=True, slots=True, eq=False)
class _Endpoint:
    """Checks a request, calls the handler, writes its answer."""

    context: RestContext
    route: Route

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Exception as e:  # noqa: BLE001  (the server's edge: every error becomes an answer)
            response = answer_of(e)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        route = self.route
        path = checked_path(route, request.path_params)
        query = checked_query(route, request.query_params.multi_items())
        match route.body:
            case BodyKind.STREAM:
                await self._receive(request, Call(path, query, None))
                answer = None
            case BodyKind.FILE:
                async with uploaded(request, self.context.upload_limit) as file:
                    answer = await self._handled(Call(path, query, file))
            case BodyKind.BYTES:
                body = await body_of(request, self.context.upload_limit)
                answer = await self._handled(Call(path, query, body))
            case BodyKind.JSON:
                text = await body_of(request) if route.takes is not None else b""
                answer = await self._handled(Call(path, query, checked_body(route, text)))
        if isinstance(answer, Raw):
            headers = dict(answer.headers)
            return Response(answer.content, route.status, headers, answer.media_type)
        content = b"{}" if answer is None else msgspec.json.encode(answer)
        return Response(content, route.status, media_type=_JSON)

    async def _handled(self, call: Call[Any, Any, Any]) -> Any:
        if self.route.slow:
            return await run_in_threadpool(self.route.handler, self.context, call)
        return self.route.handler(self.context, call)

    async def _receive(self, request: Request, call: Call[Any, Any, Any]) -> None:
        receiver: Receiver = await self._handled(call)
        try:
            async for piece in request.stream():
                await run_in_threadpool(receiver.write, piece)
            await run_in_threadpool(receiver.keep)
        except BaseException:
            receiver.discard()
            raise


async def body_of(request: Request, limit: int = MAX_BODY) -> bytes:
    """The request's body; HttpProblem 413 as soon as it is larger than ``limit``."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise HttpProblem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"body of {request.method} {request.url.path}: more than {limit} bytes",
            )
        pieces.append(piece)
    return b"".join(pieces)


def answer_of(error: Exception) -> Response:
    """The answer to a request that ended in ``error``."""
    problem = problem_of(error)
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR and problem is not error:
        log.error("request failed", exc_info=error)
    return Response(
        msgspec.json.encode(ErrorBody((problem.message,))), problem.status, media_type=_JSON
    )


async def _refused(request: Request, error: Exception) -> Response:
    """No such path, or not with this method."""
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    words = HTTPStatus(status).phrase.lower()
    return answer_of(HttpProblem(status, f"{request.method} {request.url.path}: {words}"))


async def _broken(request: Request, error: Exception) -> Response:
    del request
    return answer_of(error)
