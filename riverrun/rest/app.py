"""The REST interface as an ASGI application."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from riverrun.rest.context import RestContext
from riverrun.rest.kept_answers import KeptAnswers
from riverrun.rest.paths import PathTable
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

MAX_BODY: Final = 1024 * 1024
"""Bytes of a request's body that is not an upload."""
_PATIENCE_S: Final = 60.0
"""How long a client may let the next piece of its body wait."""
_JSON: Final = "application/json; charset=UTF-8"
_ENCODER: Final = msgspec.json.Encoder()


def rest_app(
    context: RestContext, routes: Iterable[Route], patience_s: float = _PATIENCE_S
) -> RestApp:
    """The application that serves ``routes``."""
    kept = KeptAnswers()
    return RestApp(
        PathTable(
            (route.method, route.path, _Endpoint(context, route, patience_s, kept))
            for route in routes
        )
    )


class RestApp:
    """Finds the operation of a request; every error becomes an answer in Flink's shape."""

    def __init__(self, table: PathTable[_Endpoint]) -> None:
        self._table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        try:
            response = await self._answer(scope, receive)
        except ClientDisconnect:
            return
        except Exception as e:  # noqa: BLE001  (the server's edge)
            response = answer_of(e)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        method, path = scope["method"], scope["path"]
        found = self._table.find(path)
        if found is None:
            raise HttpProblem(HTTPStatus.NOT_FOUND, f"{method} {path}: not found")
        # An answer to HEAD is that to GET; the server leaves its body out.
        served = "GET" if method == "HEAD" else method
        if served not in found.operations:
            return _not_with(method, path, found.operations)
        endpoint, _ = found.operations[served]
        return await endpoint.answer(Request(scope, receive), found.names(served))


@dataclass(frozen=True, slots=True, eq=False)
class _Endpoint:
    """Checks a request, calls the handler, writes its answer."""

    context: RestContext
    route: Route
    patience_s: float
    kept: KeptAnswers

    async def answer(self, request: Request, names: dict[str, str]) -> Response:
        route = self.route
        path = checked_path(route, names)
        query = checked_query(route, request.query_params.multi_items())
        if route.of_report:
            return Response(self._from_report(path, query), route.status, media_type=_JSON)
        match route.body:
            case BodyKind.STREAM:
                await self._receive(request, Call(path, query, None))
                answer = None
            case BodyKind.FILE:
                async with uploaded(request, self.context.upload_limit) as file:
                    answer = await self._handled(Call(path, query, file))
            case BodyKind.BYTES:
                body = await self._body(request, self.context.upload_limit)
                answer = await self._handled(Call(path, query, body))
            case BodyKind.JSON:
                text = await self._body(request, MAX_BODY) if route.takes is not None else b""
                answer = await self._handled(Call(path, query, checked_body(route, text)))
        if isinstance(answer, Raw):
            headers = dict(answer.headers)
            return Response(answer.content, route.status, headers, answer.media_type)
        content = b"{}" if answer is None else _ENCODER.encode(answer)
        return Response(content, route.status, media_type=_JSON)

    def _from_report(self, path: Any, query: Any) -> bytes:
        report = self.context.dispatcher.job(path.job)
        question = (self.route.path, path, query)
        answer = self.kept.find(report, question)
        if answer is None:
            answer = _ENCODER.encode(self.route.handler(self.context, Call(path, query, None)))
            self.kept.keep(report, question, answer)
        return answer

    async def _handled(self, call: Call[Any, Any, Any]) -> Any:
        if self.route.slow:
            return await run_in_threadpool(self.route.handler, self.context, call)
        answer = self.route.handler(self.context, call)
        return await answer if inspect.isawaitable(answer) else answer

    async def _receive(self, request: Request, call: Call[Any, Any, Any]) -> None:
        _refuse_early(request, self.context.upload_limit)
        receiver: Receiver = await self._handled(call)
        try:
            async for piece in self._pieces(request):
                await run_in_threadpool(receiver.write, piece)
            await run_in_threadpool(receiver.keep)
        except BaseException:
            receiver.discard()
            raise

    async def _body(self, request: Request, limit: int) -> bytes:
        """The whole body; HttpProblem 413 as soon as it is, or says that it is, larger."""
        _refuse_early(request, limit)
        pieces, size = [], 0
        async for piece in self._pieces(request):
            size += len(piece)
            if size > limit:
                raise _too_large(request, limit)
            pieces.append(piece)
        return b"".join(pieces)

    async def _pieces(self, request: Request) -> AsyncIterator[bytes]:
        stream = request.stream()
        while True:
            try:
                async with asyncio.timeout(self.patience_s):
                    piece = await anext(stream, None)
            except TimeoutError as e:
                raise HttpProblem(
                    HTTPStatus.REQUEST_TIMEOUT,
                    f"body of {request.method} {request.url.path}: nothing came for "
                    f"{self.patience_s:.0f} s",
                ) from e
            if piece is None:
                return
            yield piece


def answer_of(error: Exception) -> Response:
    """The answer to a request that ended in ``error``."""
    problem = problem_of(error)
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR and problem is not error:
        log.error("request failed", exc_info=error)
    return Response(
        _ENCODER.encode(ErrorBody((problem.message,))), problem.status, media_type=_JSON
    )


def _not_with(method: str, path: str, allowed: Iterable[str]) -> Response:
    methods = sorted({*allowed, *(("HEAD",) if "GET" in allowed else ())})
    words = f"{method} {path}: not with this method, expected {' or '.join(methods)}"
    response = answer_of(HttpProblem(HTTPStatus.METHOD_NOT_ALLOWED, words))
    response.headers["Allow"] = ", ".join(methods)
    return response


def _refuse_early(request: Request, limit: int) -> None:
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise _too_large(request, limit)


def _too_large(request: Request, limit: int) -> HttpProblem:
    return HttpProblem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"body of {request.method} {request.url.path}: more than {limit} bytes",
    )


async def _live(receive: Receive, send: Send) -> None:
    """There is nothing to start and nothing to end: the JobManager does both."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return
