"""The web page's files, beside the operations of the interface.

Anybody may read them: they hold nothing of the jobs. What the page shows it asks for itself, with the
reader's token where one is needed.
"""

from __future__ import annotations

import hashlib
import mimetypes
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
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class WithPage:
    """Answers for the page's files; everything else goes to the application."""

    def __init__(self, app: ASGIApp, folder: Path = ui.FOLDER) -> None:
        self._app = app
        self._folder = folder.resolve()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = _named(scope)
        if name is None:
            await self._app(scope, receive, send)
            return
        response = await run_in_threadpool(self._file, name, Headers(scope=scope))
        await response(scope, receive, send)

    def _file(self, name: str, headers: Headers) -> Response:
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder) or path.suffix == ".py" or not path.is_file():
            return answer_of(HttpProblem(HTTPStatus.NOT_FOUND, f"{name}: not a file of the page"))
        content = path.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        ours = {**_HEADERS, "ETag": tag}
        if headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=ours)
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
        return Response(content, headers=ours, media_type=kind)


def _named(scope: Scope) -> str | None:
    """The file that a request asks for; ``None``: it asks for something else."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return None
    path: str = scope["path"]
    if path == "/":
        return _FIRST
    return path.removeprefix(_PREFIX) if path.startswith(_PREFIX) else None
