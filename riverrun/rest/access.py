"""Who may use the interface: anybody on this machine, or whoever has the token or a client certificate.

An interface that other machines can reach lets anybody run code there. It is refused unless callers
have to prove who they are.
"""

from __future__ import annotations

import hmac
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from riverrun.core import cluster_options as options
from riverrun.core.errors import ConfigError
from riverrun.core.loopback import is_loopback
from riverrun.rest.app import answer_of
from riverrun.rest.problems import HttpProblem

_BEARER: Final = "bearer "
_OPEN: Final = frozenset({"/health"})
"""Paths that say nothing and ask for nothing."""


@dataclass(frozen=True, slots=True)
class Access:
    """How callers prove who they are, and how the connection is protected."""

    token: str | None = field(default=None, repr=False)
    certificate: str | None = None
    key: str | None = None
    client_authority: str | None = None
    """Certificates of callers must be signed by this one."""

    @staticmethod
    def from_config(config: Mapping[str, str]) -> Access:
        """What the configuration says."""
        return Access(
            token=options.REST_TOKEN.get(config),
            certificate=options.REST_CERTIFICATE.get(config),
            key=options.REST_KEY.get(config),
            client_authority=options.REST_CLIENT_AUTHORITY.get(config),
        )

    @property
    def proves_callers(self) -> bool:
        """Whether a caller without a secret is turned away."""
        return self.token is not None or self.client_authority is not None

    def check(self, host: str) -> None:
        """Refuse to serve on ``host`` when anybody could call.

        Raises:
            ConfigError: other machines reach the host, and nobody has to prove anything; or only a part
                of what TLS needs is given.
        """
        if self.client_authority is not None and self.certificate is None:
            raise ConfigError(
                f"option {options.REST_CLIENT_AUTHORITY.key!r}: needs TLS; "
                f"set {options.REST_CERTIFICATE.key!r} and {options.REST_KEY.key!r} too"
            )
        if not is_loopback(host) and not self.proves_callers:
            raise ConfigError(
                f"option {options.REST_BIND_ADDRESS.key!r}: is {host!r}, which other machines can reach, "
                f"and anybody could run code here; set {options.REST_TOKEN.key!r}, or "
                f"{options.REST_CLIENT_AUTHORITY.key!r} with TLS, or bind to '127.0.0.1'"
            )

    def tls(self) -> ssl.SSLContext | None:
        """What protects the connection; ``None``: nothing."""
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
            if self.client_authority is not None:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(self.client_authority)
        except OSError as e:
            raise ConfigError(
                f"option {options.REST_CERTIFICATE.key!r}: is {self.certificate!r}, which cannot be "
                f"loaded ({e}); expected PEM files that this process can read"
            ) from e
        return context


class TokenRequired:
    """Turns away requests that do not carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _OPEN or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        words = "who calls is not known; send the header 'Authorization: Bearer <token>'"
        response = answer_of(HttpProblem(HTTPStatus.UNAUTHORIZED, words))
        response.headers["WWW-Authenticate"] = "Bearer"
        await response(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name == b"authorization":
                given = value.decode("latin-1")
                if given[: len(_BEARER)].lower() == _BEARER:
                    proof = given[len(_BEARER) :].strip().encode()
                    return hmac.compare_digest(proof, self._token)
        return False
