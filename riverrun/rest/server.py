"""The REST interface on a port: a thread beside the JobManager's own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from riverrun.core import cluster_options as options
from riverrun.core.errors import ConfigError, ExternalError
from riverrun.core.loopback import is_loopback
from riverrun.rest.access import Access, TokenRequired
from riverrun.rest.connections import BoundedHttp
from riverrun.rest.origins import Origins, OwnPages
from riverrun.rest.page import WithPage

log = logging.getLogger(__name__)

_PATIENCE_S: Final = 5
"""How long requests that are being answered may take when the server ends."""
_KEEP_ALIVE_S: Final = 30
_BACKLOG: Final = 1024
_MOST_CONNECTIONS: Final = 4096


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where to serve."""

    host: str = "127.0.0.1"
    ports: range | tuple[int, ...] = (0,)
    """The first of them that is free is taken; 0: any."""
    access: Access = field(default_factory=Access)
    origins: Origins = field(default_factory=Origins)

    @staticmethod
    def from_config(config: Mapping[str, str]) -> ServerSettings:
        """What the configuration says.

        Raises:
            ConfigError: ports that are none, or an address that is open to anybody.
        """
        settings = ServerSettings(
            host=options.REST_BIND_ADDRESS.get(config),
            ports=ports_in(options.REST_BIND_PORT.get(config) or options.REST_PORT.get(config)),
            access=Access.from_config(config),
            origins=Origins.from_config(config),
        )
        settings.access.check(settings.host)
        return settings


def ports_in(text: str) -> tuple[int, ...]:
    """The ports in a list of ports and ranges, in order.

    >>> ports_in("8081"), ports_in("50100-50102,0")
    ((8081,), (50100, 50101, 50102, 0))
    """
    ports: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            ports += range(int(first), int(last if dash else first) + 1)
        except ValueError:
            ports.append(-1)
    if not ports or not all(0 <= port < 65536 for port in ports):  # noqa: PLR2004
        raise ConfigError(
            f"option {options.REST_BIND_PORT.key!r}: is {text!r}; expected a port, a range such as "
            f"'50100-50200', or a list of them"
        )
    return tuple(ports)


class RestServer:
    """Serves an application until it is closed."""

    def __init__(self, app: ASGIApp, settings: ServerSettings | None = None) -> None:
        settings = settings or ServerSettings()
        settings.access.check(settings.host)
        self._settings = settings
        self._socket: socket.socket | None = None
        self._tls = settings.access.tls()
        config = uvicorn.Config(
            _guarded(app, settings),
            log_config=None,
            access_log=False,
            lifespan="off",
            http=BoundedHttp,
            ws="none",
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_PATIENCE_S,
            limit_concurrency=_MOST_CONNECTIONS,
            backlog=_BACKLOG,
            server_header=False,
            proxy_headers=False,
        )
        config.load()
        config.ssl = self._tls
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="riverrun-rest", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it serves on, once it is started."""
        if self._socket is None:
            raise ExternalError("REST interface: it is not started, or closed")
        host, port = self._socket.getsockname()[:2]
        return host, port

    @property
    def url(self) -> str:
        """Where to call."""
        host, port = self.address
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def start(self) -> None:
        """Begin to serve and return; requests are answered from then on.

        Raises:
            ExternalError: no port is free.
        """
        self._socket = _bound(self._settings)
        self._thread.start()
        log.info("rest interface serves url=%s", self.url)

    def close(self) -> None:
        """End it, after the answers that are under way; a second call does nothing."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE_S + 1)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _run(self) -> None:
        if self._socket is not None:
            asyncio.run(self._server.serve(sockets=[self._socket]))


def _guarded(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    """The application behind everything that turns callers away, and the page beside it."""
    access = settings.access
    if access.token is not None:
        app = TokenRequired(app, access.token)
    local = is_loopback(settings.host) and not access.proves_callers
    return OwnPages(WithPage(app), settings.origins, local=local)


def _bound(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    refusal: OSError | None = None
    for port in settings.ports:
        # Named, because asyncio switches Nagle's algorithm off only where it sees TCP: with it, an
        # answer in two pieces waits 40 ms for the client's acknowledgement.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((settings.host, port))
            bound.listen(_BACKLOG)
        except OSError as e:
            bound.close()
            refusal = e
        else:
            return bound
    raise ExternalError(
        f"REST interface: cannot serve on {settings.host!r}, ports {list(settings.ports)} ({refusal}); "
        f"set {options.REST_BIND_PORT.key!r} to one that is free, or to 0 for any"
    ) from refusal
