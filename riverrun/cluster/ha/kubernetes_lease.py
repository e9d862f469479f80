"""The lease as a Lease of Kubernetes (coordination.k8s.io/v1), over plain HTTP.

``kubectl get lease`` shows the leader. The API server refuses a write whose ``resourceVersion`` is not
that of the Lease there, and that is all that is needed of it.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from riverrun.cluster.ha.lease import UNREADABLE, Found, Lease, LeaseConflict, LeaseUnreachable
from riverrun.core.errors import ConfigError

_API: Final = "coordination.k8s.io/v1"
_ADDRESS: Final = "riverrun/leader-address"
_DETAILS: Final = "riverrun/lease"
_ADVICE: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "the service account's token was refused",
    HTTPStatus.FORBIDDEN: "the pod's service account needs the verbs get, create and update for leases "
    "of the group coordination.k8s.io",
    HTTPStatus.NOT_FOUND: "there is no such namespace, or this is not a Kubernetes API server",
}


@dataclass(frozen=True, slots=True)
class KubernetesAccess:
    """How the API server is reached, and as whom."""

    server: str
    """``https://host:port``, or ``http://`` for a proxy on this machine."""
    namespace: str
    token_file: Path | None = None
    """Read at every request, because tokens are replaced while a pod runs."""
    authority_file: Path | None = None
    timeout_s: float = 5.0


def pod_access(
    server: str | None, namespace: str | None, account: Path, timeout_s: float
) -> KubernetesAccess:
    """What a pod knows of its own cluster; ``server`` and ``namespace`` come before it.

    Raises:
        ConfigError: this is not a pod, and nobody says where the API server is.
    """
    if server is None:
        host, port = (
            os.environ.get("KUBERNETES_SERVICE_HOST"),
            os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
        )
        if host is None:
            raise ConfigError(
                "option 'high-availability.type' is 'kubernetes' and this process is not in a pod "
                "(KUBERNETES_SERVICE_HOST is not set); run it in one, or set "
                "'riverrun.high-availability.kubernetes.api-server'"
            )
        server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    own = account / "namespace"
    if namespace is None:
        namespace = own.read_text().strip() if own.is_file() else "default"
    token, authority = account / "token", account / "ca.crt"
    return KubernetesAccess(
        server,
        namespace,
        token if token.is_file() else None,
        authority if authority.is_file() else None,
        timeout_s,
    )


class KubernetesLease:
    """A lease in the Lease called ``name``."""

    def __init__(self, access: KubernetesAccess, name: str, *, duration_ms: int) -> None:
        self._access = access
        self._name = name
        self._duration_ms = duration_ms
        self._folder = f"/apis/{_API}/namespaces/{quote(access.namespace, safe='')}/leases"

    def read(self) -> Found:
        status, body = self._ask("GET", f"{self._folder}/{quote(self._name, safe='')}")
        if status == HTTPStatus.NOT_FOUND and body.get("reason") == "NotFound":
            return Found(None, None)
        self._expect(status, body, HTTPStatus.OK)
        return Found(self._lease(body), _version(body))

    def write(self, lease: Lease, replaced: str | None) -> str:
        body = self._body(lease)
        if replaced is None:
            status, answer = self._ask("POST", self._folder, body)
        else:
            uid, _, version = replaced.partition(":")
            body["metadata"] |= {"uid": uid, "resourceVersion": version}
            status, answer = self._ask("PUT", f"{self._folder}/{quote(self._name, safe='')}", body)
        gone = status == HTTPStatus.NOT_FOUND and replaced is not None
        if status == HTTPStatus.CONFLICT or gone:
            raise LeaseConflict(
                f"Lease {self._name!r} in namespace {self._access.namespace!r}: it has been replaced by "
                f"another JobManager since it was read"
            )
        self._expect(status, answer, HTTPStatus.OK, HTTPStatus.CREATED)
        return _version(answer)

    def close(self) -> None:
        """Nothing is open."""

    def _body(self, lease: Lease) -> dict[str, Any]:
        written = datetime.fromtimestamp(lease.written / 1000, UTC)
        return {
            "apiVersion": _API,
            "kind": "Lease",
            "metadata": {
                "name": self._name,
                "namespace": self._access.namespace,
                "annotations": {
                    _ADDRESS: lease.address,
                    _DETAILS: json.dumps({"beat": lease.beat, "duration_ms": lease.duration_ms}),
                },
            },
            "spec": {
                "holderIdentity": "" if lease.released else lease.holder,
                "leaseDurationSeconds": max(1, -(-lease.duration_ms // 1000)),
                "leaseTransitions": lease.epoch,
                "renewTime": written.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }

    def _lease(self, body: Mapping[str, Any]) -> Lease:
        try:
            spec = body.get("spec") or {}
            notes = body["metadata"].get("annotations") or {}
            details = json.loads(notes.get(_DETAILS, "{}"))
            seconds_ms = int(spec.get("leaseDurationSeconds") or 0) * 1000
            holder = spec.get("holderIdentity") or ""
            return Lease(
                epoch=int(spec.get("leaseTransitions") or 0),
                holder=holder,
                address=notes.get(_ADDRESS, ""),
                beat=int(details.get("beat", 0)),
                duration_ms=int(details.get("duration_ms", seconds_ms or self._duration_ms)),
                released=not holder,
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return Lease(epoch=0, holder=UNREADABLE, duration_ms=self._duration_ms)

    def _ask(
        self, verb: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        connection = self._connection()
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        try:
            if self._access.token_file is not None:
                headers["Authorization"] = f"Bearer {self._access.token_file.read_text().strip()}"
            connection.request(verb, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            content = json.loads(response.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise LeaseUnreachable(
                f"{verb} of Lease {self._name!r}: the API server {self._access.server!r} did not answer "
                f"as expected ({type(error).__name__}: {error}); is it reachable from this pod?"
            ) from error
        finally:
            connection.close()
        return response.status, content if isinstance(content, dict) else {}

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self._access.server)
        host, timeout = parts.hostname or "", self._access.timeout_s
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, parts.port, timeout=timeout)
        try:
            context = ssl.create_default_context(cafile=self._access.authority_file)
        except OSError as error:
            raise LeaseUnreachable(
                f"Lease {self._name!r}: the certificate authority in {str(self._access.authority_file)!r} "
                f"cannot be read ({error}); is the service account mounted?"
            ) from error
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context)

    def _expect(self, status: int, body: Mapping[str, Any], *expected: HTTPStatus) -> None:
        if status not in expected:
            advice = _ADVICE.get(status, "see the log of the API server")
            raise LeaseUnreachable(
                f"Lease {self._name!r} in namespace {self._access.namespace!r}: the API server answered "
                f"{status} ({body.get('message', '')}); {advice}"
            )


def _version(body: Mapping[str, Any]) -> str:
    meta = body.get("metadata") or {}
    return f"{meta.get('uid', '')}:{meta.get('resourceVersion', '')}"
