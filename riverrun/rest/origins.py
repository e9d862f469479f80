"""Which web pages may call the interface: its own, and those that the configuration names.

A browser on the same machine reaches the interface for any page that its user happens to visit. Such
a page must not run programs or cancel jobs, and must not read answers by pointing its own host name here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from riverrun.core import cluster_options as options
from riverrun.core.loopback import is_loopback
from riverrun.rest.app import answer_of
from riverrun.rest.problems import HttpProblem

_ANY: Final = "*"
_METHODS: Final = "GET, POST, PUT, PATCH, DELETE"


@dataclass(frozen=True, slots=True)
class Origins:
    """Where pages come from that may call, beside the interface's own."""

    allowed: frozenset[str] = frozenset()
    """Such as ``https://jobs.example``; ``*``: all."""

    @staticmethod
    def from_config(config: Mapping[str, str]) -> Origins:
        """What the configuration says."""
        text = options.ALLOWED_ORIGINS.get(config) or ""
        return Origins(
            frozenset(part.strip().rstrip("/") for part in text.split(",") if part.strip())
        )

    def lets_in(self, origin: str, host: str) -> bool:
        """Whether a page from ``origin`` may call the interface that it knows as ``host``."""
        return (host != "" and origin.partition("://")[2] == host) or self.names(origin)

    def names(self, origin: str) -> bool:
        """Whether the configuration names ``origin``."""
        return _ANY in self.allowed or origin in self.allowed

    def knows(self, host: str) -> bool:
        """Whether an interface that only this machine reaches may be called ``host``."""
        named = {origin.partition("://")[2] for origin in self.allowed}
        return _ANY in self.allowed or host in named or is_loopback(_without_port(host))


class OwnPages:
    """Turns away requests of other pages."""

    def __init__(self, app: ASGIApp, origins: Origins, *, local: bool) -> None:
        """``local``: only this machine reaches it, so that its host has a name of this machine."""
        self._app = app
        self._origins = origins
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin, host = headers.get("origin"), headers.get("host", "")
        refusal = self._refusal(origin, host)
        if refusal is not None:
            await answer_of(HttpProblem(HTTPStatus.FORBIDDEN, refusal))(scope, receive, send)
        elif origin is not None and self._origins.names(origin):
            await self._answer_other_page(scope, receive, send, origin)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, origin: str | None, host: str) -> str | None:
        if self._local and host and not self._origins.knows(host):
            return (
                f"called as {host!r}, which is not a name of this machine; call it as 'localhost', or "
                f"name the address that pages see in {options.ALLOWED_ORIGINS.key!r}"
            )
        if origin is not None and not self._origins.lets_in(origin, host):
            return (
                f"called by a page from {origin!r}, which is not this interface's own; "
                f"to allow it, name it in {options.ALLOWED_ORIGINS.key!r}"
            )
        return None

    async def _answer_other_page(
        self, scope: Scope, receive: Receive, send: Send, origin: str
    ) -> None:
        """With the headers that let the browser give the answer to the page."""
        headers = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"vary", b"Origin"),
        ]

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        if scope["method"] == "OPTIONS":
            headers += [
                (b"access-control-allow-methods", _METHODS.encode()),
                (b"access-control-allow-headers", b"Authorization, Content-Type"),
            ]
            await tell(
                {"type": "http.response.start", "status": HTTPStatus.NO_CONTENT, "headers": []}
            )
            await tell({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, tell)


def _without_port(host: str) -> str:
    """The name in a Host header.

    >>> _without_port("localhost:8081"), _without_port("[::1]:8081"), _without_port("jobs.example")
    ('localhost', '::1', 'jobs.example')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
