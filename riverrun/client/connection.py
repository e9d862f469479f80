"""Requests to a JobManager's REST interface, and what went wrong with them."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from riverrun.core import cluster_options as options
from riverrun.core.errors import ConfigError, ExternalError, ProgramError
from riverrun.rest.problems import ErrorBody

T = TypeVar("T")

_TIMEOUT_S: Final = 60.0
_RETRIES: Final = 2
"""How often a request that may be repeated is sent again over a new connection."""


class JobManagerGone(ExternalError):  # noqa: N818
    """The JobManager does not answer."""


class RequestRefused(ProgramError):  # noqa: N818
    """The JobManager answered that it will not do it, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a JobManager is, and how one proves who one is."""

    host: str
    port: int
    tls: bool = False
    token: str | None = field(default=None, repr=False)
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None
    """PEM file with which the JobManager's certificate is checked; the system's if there is none."""

    @staticmethod
    def of(address: str, config: Mapping[str, str]) -> Endpoint:
        """The JobManager at ``address``: `host`, `host:port` or a URL; the rest is in ``config``.

        >>> Endpoint.of("jobs:9000", {}).port, Endpoint.of("https://jobs", {}).tls
        (9000, True)

        Raises:
            ConfigError: the address cannot be understood.
        """
        parts = urlsplit(address if "://" in address else f"//{address}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if not parts.hostname or port == -1 or parts.scheme not in ("", "http", "https"):
            raise ConfigError(
                f"JobManager {address!r}: expected host:port, or a URL such as http://localhost:8081"
            )
        tls = parts.scheme == "https" or options.REST_CERTIFICATE.is_set(config)
        return Endpoint(
            parts.hostname,
            int(options.REST_PORT.get(config).partition("-")[0]) if port is None else port,
            tls=tls and parts.scheme != "http",
            token=options.REST_TOKEN.get(config),
            certificate=options.REST_CLIENT_CERTIFICATE.get(config),
            key=options.REST_CLIENT_KEY.get(config),
            authority=options.REST_AUTHORITY.get(config),
        )

    @property
    def url(self) -> str:
        """As people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"


class Connection:
    """Sends requests; each thread has a connection of its own, which is kept open."""

    def __init__(
        self, endpoint: Endpoint, find_leader: Callable[[], Endpoint | None] = lambda: None
    ) -> None:
        """Nothing is sent yet.

        Args:
            endpoint: whom to ask.
            find_leader: gives whom to ask when ``endpoint`` does not answer, if there is another.
        """
        self.endpoint = endpoint
        self._find_leader = find_leader
        self._own = threading.local()
        self._lock = threading.Lock()
        self._kept: set[http.client.HTTPConnection] = set()
        self._tls = _tls(endpoint) if endpoint.tls else None

    def get(self, path: str, answer: type[T], **query: Any) -> T:
        """GET, and the answer's body as ``answer``."""
        return decoded(path, self.send("GET", _with(path, query)), answer)

    def call(self, method: str, path: str, answer: type[T], body: Any = None, **query: Any) -> T:
        """Any other method, with a JSON body."""
        sent = None if body is None else msgspec.json.encode(body)
        return decoded(path, self.send(method, _with(path, query), sent), answer)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = _TIMEOUT_S,
    ) -> bytes:
        """The bytes of the answer.

        Raises:
            RequestRefused: the JobManager said no.
            JobManagerGone: nobody answers.
        """
        tries = _RETRIES if method in ("GET", "HEAD") else 0
        while True:
            try:
                return self._once(method, path, body, dict(headers or {}), timeout)
            except (OSError, http.client.HTTPException) as e:
                was_kept = self._drop()
                if self._ask_another():
                    continue
                # A connection that was kept open may have been closed since the last request.
                if tries == 0 and not (was_kept and isinstance(e, http.client.RemoteDisconnected)):
                    raise JobManagerGone(
                        f"JobManager {self.endpoint.url}: does not answer ({e or type(e).__name__}); is it "
                        f"running? start one with river cluster start, or name another with -m host:port"
                    ) from e
                tries = max(0, tries - 1)

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            kept, self._kept = self._kept, set()
        for each in kept:
            each.close()

    def close_own(self) -> None:
        """Close this thread's connection: it will not ask any more."""
        self._drop()

    def _ask_another(self) -> bool:
        """Turn to the JobManager that leads now, if it is another one."""
        leader = self._find_leader()
        if leader is None or leader == self.endpoint:
            return False
        self.endpoint = leader
        self._tls = _tls(leader) if leader.tls else None
        return True

    def _once(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None,
        headers: dict[str, str],
        timeout: float,
    ) -> bytes:
        connection = self._connection(timeout)
        if self.endpoint.token is not None:
            headers["Authorization"] = f"Bearer {self.endpoint.token}"
        connection.request(method, f"/v1{path}", body=body, headers=headers)
        response = connection.getresponse()
        data = response.read()
        self._own.is_kept = True
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise RequestRefused(response.status, _words(response, data))
        return data

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        host, port = self.endpoint.host, self.endpoint.port
        if kept is not None and (kept.host, kept.port) != (host, port):
            self._drop()
            kept = None
        if kept is None:
            if self._tls is not None:
                kept = http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls)
            else:
                kept = http.client.HTTPConnection(host, port, timeout=timeout)
            self._own.connection, self._own.is_kept = kept, False
            with self._lock:
                self._kept.add(kept)
        if kept.sock is not None:
            kept.sock.settimeout(timeout)
        return kept

    def _drop(self) -> bool:
        """Close the connection; whether it had served before."""
        kept: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        was_kept = bool(getattr(self._own, "is_kept", False))
        if kept is not None:
            kept.close()
            self._own.connection = None
            with self._lock:
                self._kept.discard(kept)
        return was_kept


def segment(text: str) -> str:
    """``text`` as a part of a path."""
    return quote(text, safe="")


def _with(path: str, query: Mapping[str, Any]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def decoded(path: str, data: bytes, answer: type[T]) -> T:
    """The answer to a request; ExternalError when it is something else."""
    try:
        return msgspec.json.decode(data, type=answer)
    except msgspec.MsgspecError as e:
        raise ExternalError(
            f"JobManager: its answer to {path} is not understood ({e}); use the same version of riverrun"
        ) from e


def _words(response: http.client.HTTPResponse, data: bytes) -> str:
    try:
        return "; ".join(msgspec.json.decode(data, type=ErrorBody).errors)
    except msgspec.MsgspecError:
        return f"{response.status} {response.reason}"


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=endpoint.authority)
        if endpoint.certificate is not None:
            context.load_cert_chain(endpoint.certificate, endpoint.key)
    except OSError as e:
        raise ConfigError(
            f"JobManager {endpoint.url}: certificates cannot be loaded ({e}); see "
            f"{options.REST_AUTHORITY.key!r} and {options.REST_CLIENT_CERTIFICATE.key!r}"
        ) from e
    return context
