"""Requests to S3 that Arrow's file system cannot make: multipart uploads that outlive a process.

A request is signed with AWS's Signature Version 4, tried again when the store is busy or away, and ends in
bounded time.
"""

from __future__ import annotations

import http.client
import os
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, urlsplit

from riverrun.core.options import S3_ATTEMPTS
from riverrun.storage.s3_exclusive import S3Address, s3_address, s3_keys, s3_region
from riverrun.storage.s3_signing import S3Keys, SignedFor
from riverrun.storage.storage import StorageError

__all__ = ["Answer", "S3Refused", "S3Requests"]

_UNRESERVED: Final = "-_.~"
_SHOWN: Final = 300
_ADVICE: Final = {
    "NoSuchBucket": "there is no such bucket: create it, or name another one",
    "AccessDenied": "access was denied: see s3.access-key, s3.secret-key and the bucket's policy",
    "InvalidAccessKeyId": "the access key is unknown there: see s3.access-key and s3.endpoint",
    "SignatureDoesNotMatch": "the secret key was refused: see s3.secret-key",
    "PermanentRedirect": "the bucket is in another region: see s3.region and s3.endpoint",
    "AuthorizationHeaderMalformed": "the bucket is in another region: see s3.region",
    "SlowDown": "the store asks for fewer requests: roll files less often",
}


class S3Refused(StorageError):  # noqa: N818
    """The store answered with an error; ``code`` is its name there, such as ``NoSuchUpload``."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.message, self.code = message, code

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Answer:
    """What the store said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def xml(self) -> ET.Element:
        """The body, with the names of its elements as they are without a name space."""
        root = ET.fromstring(self.body.strip())  # noqa: S314  (from the store that the job was told to trust)
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        return root


class S3Requests:
    """Signed requests to the server of one bucket; one connection a thread, kept open."""

    def __init__(
        self,
        address: S3Address,
        keys: S3Keys,
        region: str,
        attempts: int = 3,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._address = address
        self._keys = keys
        self._region = region
        self._attempts = attempts
        self._now = now
        self._local = threading.local()

    @staticmethod
    def to(location: str, config: Mapping[str, str]) -> S3Requests:
        """Requests to the bucket of ``location``.

        Raises:
            ConfigError: there are no keys in the configuration and none in the environment.
        """
        bucket = urlsplit(location).netloc
        return S3Requests(
            s3_address(bucket, config),
            s3_keys(location, config, "a file sink"),
            s3_region(config),
            S3_ATTEMPTS.get(config),
        )

    def send(
        self,
        method: str,
        location: str,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        operation: str,
    ) -> Answer:
        """Make a request about ``location`` and give the answer.

        Raises:
            S3Refused: the answer is an error.
            StorageError: there was no answer.
        """
        path = self._address.path_of(location.partition("://")[2])
        for left in reversed(range(self._attempts)):
            try:
                answer = self._exchange(method, path, query or {}, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if not left:
                    raise StorageError(
                        f"{operation} {location!r}: the store did not answer: is it up, and reachable from "
                        f"this machine? see s3.endpoint; {type(error).__name__}: {error}"
                    ) from error
            else:
                code = _error_code(answer)
                if code is None:
                    return answer
                if not left or not _passes(answer, code):
                    raise _refused(operation, location, answer, code)
            time.sleep(0.1 * 2 ** (self._attempts - 1 - left))
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close this thread's connection; its next request opens another one."""
        process, connection = getattr(self._local, "of_process", (0, None))
        if connection is not None and process == os.getpid():
            connection.close()
        self._local.of_process = (0, None)

    def _exchange(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> Answer:
        connection = self._connected()
        asked = canonical_query(query)
        headers = self.headers(method, path, asked, body)
        connection.request(method, f"{path}?{asked}" if asked else path, body, headers)
        response = connection.getresponse()
        said = response.read()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, said)

    def _connected(self) -> http.client.HTTPConnection:
        process, connection = getattr(self._local, "of_process", (0, None))
        if connection is None or process != os.getpid():
            secure = self._address.secure
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(self._address.host, timeout=self._address.timeout_s)
            self._local.of_process = (os.getpid(), connection)
        return connection

    def headers(self, method: str, path: str, query: str, body: bytes) -> dict[str, str]:
        """What goes with the request, its signature among it."""
        signed = SignedFor(self._address.host, self._keys, self._region)
        return signed.headers(self._now(), method, path, query, body)


def canonical_query(query: Mapping[str, str]) -> str:
    """The query as it is signed and sent.

    >>> canonical_query({"uploads": "", "prefix": "a b/c"})
    'prefix=a%20b%2Fc&uploads='
    """
    coded = sorted(
        (quote(name, safe=_UNRESERVED), quote(value, safe=_UNRESERVED))
        for name, value in query.items()
    )
    return "&".join(f"{name}={value}" for name, value in coded)


def _error_code(answer: Answer) -> str | None:
    """The name of the error that the answer is; some come with the status of success."""
    # A store that takes long to complete an upload sends blanks first, any number of them.
    if answer.status < HTTPStatus.MULTIPLE_CHOICES and b"<Error>" not in answer.body:
        return None
    try:
        found = answer.xml().findtext("Code")
    except ET.ParseError:
        found = None
    if found:
        return found
    return {404: "NotFound", 403: "AccessDenied"}.get(answer.status, f"Status{answer.status}")


def _passes(answer: Answer, code: str) -> bool:
    """Whether the same request may go well later."""
    return (
        answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or answer.status == HTTPStatus.TOO_MANY_REQUESTS
        or code in {"InternalError", "SlowDown", "RequestTimeout", "ServiceUnavailable"}
    )


def _refused(operation: str, location: str, answer: Answer, code: str) -> S3Refused:
    advice = _ADVICE.get(code, "see whether the store is in order")
    return S3Refused(f"{operation} {location!r}: {advice}; it said {code}: {_said(answer)}", code)


def _said(answer: Answer) -> str:
    """What the store has to say; other parts of its answer may name keys."""
    try:
        said = answer.xml().findtext("Message") or ""
    except ET.ParseError:
        said = answer.body.decode(errors="replace")
    return said[:_SHOWN]
