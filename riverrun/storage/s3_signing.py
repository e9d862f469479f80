"""Requests to S3 that are made here and not by Arrow, signed with AWS's Signature Version 4."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["S3Keys", "SignedFor"]


@dataclass(frozen=True, slots=True)
class S3Keys:
    """Who asks."""

    access: str
    secret: str = field(repr=False)
    session: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SignedFor:
    """Signs requests to one host."""

    host: str
    keys: S3Keys
    region: str

    def headers(
        self,
        now: datetime,
        method: str,
        path: str,
        query: str,
        body: bytes,
        more: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """What goes with a request, its signature among it.

        Args:
            now: when the request is made, in UTC.
            method: of the request.
            path: of the request, quoted.
            query: of the request, quoted, its parts in order.
            body: of the request.
            more: further headers, with names in lower case.
        """
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        signed = {
            "host": self.host,
            "x-amz-content-sha256": digest,
            "x-amz-date": stamp,
            **(more or {}),
        }
        if self.keys.session is not None:
            signed["x-amz-security-token"] = self.keys.session
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
        request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{digest}"
        scope = f"{stamp[:8]}/{self.region}/s3/aws4_request"
        summary = hashlib.sha256(request.encode()).hexdigest()
        signature = self._sign(scope, f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{summary}")
        return {
            **signed,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={self.keys.access}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}",
        }

    def _sign(self, scope: str, text: str) -> str:
        key = f"AWS4{self.keys.secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256").hex()
