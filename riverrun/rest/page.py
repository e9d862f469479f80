"""The web page's files, beside the operations of the interface.

Anybody may read them: they hold nothing of the jobs. What the page shows it asks for itself, with the
reader's token where one is needed.
"""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from riverrun import ui
from riverrun.rest.app import answer_of
from riverrun.rest.problems import HttpProblem

_FIRST: Final = "index.html"
_PREFIX: Final = "/ui/"
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
"""What is served, and what browsers are told that it is."""
_NAME: Final = re.compile(r"([A-Za-z0-9_-]{1,60}/){0,4}[A-Za-z0-9_-]{1,60}\.[a-z]{1,5}")
_SHOWN: Final = 100


class WithPage:
    """Answers for the page's files; everything else goes to the application."""

    def __init__(self, app: ASGIApp, folder: Path = ui.FOLDER) -> None:
        self._app = app
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = _named(scope)
        if name is None:
            await self._app(scope, receive, send)
            return
        response = await run_in_threadpool(self._file, name, Headers(scope=scope))
        await response(scope, receive, send)

    def _file(self, name: str, headers: Headers) -> Response:
        path = self._folder / name
        if not _NAME.fullmatch(name) or path.suffix not in _TYPES or not path.is_file():
            words = f"{name[:_SHOWN]}: not a file of the page"
            return answer_of(HttpProblem(HTTPStatus.NOT_FOUND, words))
        content = path.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        ours = {**_HEADERS, "ETag": tag}
        if headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=ours)
        return Response(content, headers=ours, media_type=_TYPES[path.suffix])


def _named(scope: Scope) -> str | None:
    """The file that a request asks for; ``None``: it asks for something else."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return None
    path: str = scope["path"]
    if path == "/":
        return _FIRST
    return path.removeprefix(_PREFIX) if path.startswith(_PREFIX) else None
