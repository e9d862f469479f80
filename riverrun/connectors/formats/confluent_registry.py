"""A client of Confluent's schema registry: what has the id N, and which id has this schema."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from riverrun.connectors.base.shown_address import shown_address
from riverrun.core.errors import ConfigError, ExternalError

__all__ = ["ConfluentRegistry", "RegistryError"]

_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_ADVICE: Final = {
    401: "the registry refused the credentials: see basic.auth.user.info",
    403: "these credentials may not do that: see the registry's access rules",
    404: "the registry has no such schema or subject: is it the registry that the writer used?",
    409: "the schema is not compatible with the subject's earlier ones: see the subject's compatibility level",
    422: "the registry refused the schema",
}


class RegistryError(ExternalError):
    """The registry did not answer, or refused; ``status`` is its HTTP status, 0 when it did not answer."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        super().__init__(url, status, reason)
        self.url, self.status, self.reason = url, status, reason

    def __str__(self) -> str:
        return f"schema registry {self.url!r}: {self.reason}"


class ConfluentRegistry:
    """Schemas by id and ids by schema, each asked for once; picklable, connects when asked.

    Args:
        url: where the registry is, such as ``http://registry:8081``.
        config: ``basic.auth.user.info`` (``user:password``), ``bearer.auth.token``, ``ssl.ca.location``,
            ``request.timeout.ms``. Secrets never show in messages.
    """

    def __init__(self, url: str, config: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_port(parts):
            raise ConfigError(
                f"schema registry: the url is {shown_address(url)!r}; expected one such as "
                f"'http://registry:8081'"
            )
        self._config = dict(config or {})
        unknown = sorted(set(self._config) - _KEYS)
        if unknown:
            raise ConfigError(
                f"schema registry: unknown settings {unknown}; expected some of {sorted(_KEYS)}"
            )
        if parts.username is not None:
            self._config.setdefault(
                "basic.auth.user.info", f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            )
        servers = parts.netloc.rpartition("@")[2]
        self.url = f"{parts.scheme}://{servers}{parts.path.rstrip('/')}"
        self._schemas: dict[int, dict[str, Any]] = {}
        self._ids: dict[tuple[str, str], int] = {}

    def __repr__(self) -> str:
        return f"ConfluentRegistry({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_schemas": {}, "_ids": {}}

    def schema(self, schema_id: int) -> str:
        """The text of the schema with this id; RegistryError if there is none."""
        return str(self.entry(schema_id)["schema"])

    def entry(self, schema_id: int) -> dict[str, Any]:
        """All that the registry says about an id: ``schema``, ``schemaType`` (Avro if absent)."""
        found = self._schemas.get(schema_id)
        if found is None:
            found = self._schemas[schema_id] = self._ask("GET", f"/schemas/ids/{schema_id}")
        return found

    def register(self, subject: str, schema: str, schema_type: str = "AVRO") -> int:
        """The id of the schema, under ``subject``; it is made if there is none."""
        key = (subject, schema)
        found = self._ids.get(key)
        if found is None:
            body = {"schema": schema}
            if schema_type != "AVRO":
                body["schemaType"] = schema_type
            answer = self._ask("POST", f"/subjects/{quote(subject, safe='')}/versions", body)
            found = self._ids[key] = int(answer["id"])
        return found

    def latest(self, subject: str) -> tuple[int, str]:
        """Id and text of the newest schema of a subject."""
        answer = self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/latest")
        return int(answer["id"]), str(answer["schema"])

    def check(self) -> None:
        """Ask for something small: RegistryError if there is no registry or it refuses us."""
        self._ask("GET", "/subjects")

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        parts = urlsplit(self.url)
        connection = self._connection(parts.scheme, str(parts.hostname), parts.port)
        try:
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, f"{parts.path}{path}", content, self._headers())
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise RegistryError(
                self.url,
                0,
                f"{method} {path}: it did not answer ({error}); is it up, and reachable?",
            ) from error
        finally:
            connection.close()
        return self._understood(f"{method} {path}", status, text)

    def _understood(self, asked: str, status: int, text: bytes) -> Any:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if status < http.client.BAD_REQUEST and answer is not None:
            return answer
        said = answer.get("message") if isinstance(answer, dict) else None
        advice = _ADVICE.get(status, "is it a schema registry?")
        reason = f"{asked}: it answered {status} {said or http.client.responses.get(status, '')}; {advice}"
        raise RegistryError(self.url, status, reason)

    def _connection(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        timeout = float(self._config.get("request.timeout.ms", _TIMEOUT_MS)) / 1000
        if scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        trust = ssl.create_default_context(cafile=self._config.get("ssl.ca.location"))
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=trust)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": _TYPE, "Content-Type": _TYPE, "Connection": "close"}
        user = self._config.get("basic.auth.user.info")
        token = self._config.get("bearer.auth.token")
        if user is not None:
            headers["Authorization"] = f"Basic {b64encode(os.fsencode(user)).decode()}"
        elif token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return headers


def _has_port(parts: SplitResult) -> bool:
    """Whether the port is a number, or left out."""
    try:
        parts.port  # noqa: B018  (it raises)
    except ValueError:
        return False
    return True


_TIMEOUT_MS: Final = "10000"
_KEYS: Final = frozenset(
    {
        "basic.auth.user.info",
        "basic.auth.credentials.source",
        "bearer.auth.token",
        "ssl.ca.location",
        "request.timeout.ms",
    }
)
