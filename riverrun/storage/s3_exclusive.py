"""Files of S3 that are created only if there is none: a PUT with ``If-None-Match: *``.

Arrow's file system cannot say that, so this one request is made here. Everything else goes through Arrow.
"""

from __future__ import annotations

import http.client
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, urlsplit

from pyarrow import fs as arrow_fs

from riverrun.core.errors import ConfigError
from riverrun.core.options import (
    S3_ACCESS_KEY,
    S3_ENDPOINT,
    S3_PATH_STYLE,
    S3_REGION,
    S3_REQUEST_TIMEOUT,
    S3_SECRET_KEY,
)
from riverrun.storage.object_store import ObjectStorage
from riverrun.storage.os_errors import exists_already
from riverrun.storage.s3 import s3_file_system
from riverrun.storage.s3_signing import S3Keys, SignedFor
from riverrun.storage.storage import Storage, StorageError

_TAKEN: Final = frozenset({HTTPStatus.PRECONDITION_FAILED, HTTPStatus.CONFLICT})
_SHOWN: Final = 300


def open_s3(scheme: str, location: str, config: Mapping[str, str]) -> Storage:
    """The bucket of ``location``; ConfigError when the keys are neither configured nor in the environment."""
    bucket = urlsplit(location).netloc
    creation = S3Creation(
        s3_address(bucket, config), s3_keys(location, config, "a lease"), s3_region(config)
    )
    return S3ExclusiveStorage(f"{scheme}://", lambda: s3_file_system(bucket, config), creation)


@dataclass(frozen=True, slots=True)
class S3Address:
    """Where a bucket's files are: ``path_of`` goes from "bucket/key" to the path of the request."""

    secure: bool
    host: str
    in_host: bool
    """Whether the bucket is part of the host's name, and not of the path."""
    timeout_s: float = 10.0

    def path_of(self, path: str) -> str:
        """The path of the request for the file at "bucket/key"."""
        named = path.partition("/")[2] if self.in_host else path
        return "/" + quote(named, safe="/-_.~")


class S3Creation:
    """Creates files, one request each."""

    def __init__(
        self,
        address: S3Address,
        keys: S3Keys,
        region: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._address = address
        self._keys = keys
        self._region = region
        self._now = now

    def create(self, path: str, data: bytes) -> bool:
        """Make the file at "bucket/key" unless there is one; whether it was made. OSError otherwise."""
        target = self._address.path_of(path)
        kind = http.client.HTTPSConnection if self._address.secure else http.client.HTTPConnection
        connection = kind(self._address.host, timeout=self._address.timeout_s)
        try:
            connection.request("PUT", target, data, self.headers(target, data))
            response = connection.getresponse()
            said = response.read()
        except http.client.HTTPException as error:
            raise OSError(f"NETWORK_CONNECTION: {type(error).__name__}: {error}") from error
        finally:
            connection.close()
        if response.status in _TAKEN:
            return False
        if response.status != HTTPStatus.OK:
            shown = said.decode(errors="replace")[:_SHOWN]
            raise OSError(f"{response.status} {response.reason}: {shown}")
        return True

    def headers(self, target: str, data: bytes) -> dict[str, str]:
        """What goes with the request, its signature among it."""
        signed = SignedFor(self._address.host, self._keys, self._region)
        return signed.headers(self._now(), "PUT", target, "", data, {"if-none-match": "*"})


class S3ExclusiveStorage(ObjectStorage):
    """A bucket; new files are created on condition."""

    def __init__(
        self, prefix: str, connect: Callable[[], arrow_fs.FileSystem], creation: S3Creation
    ) -> None:
        super().__init__(prefix, connect)
        self._creation = creation
        self._proven = False

    def _write_new(self, location: str, path: str, data: bytes | memoryview) -> None:
        if not self._proven:
            self._prove(location, path)
            self._proven = True
        if not self._creation.create(path, bytes(data)):
            raise exists_already("writing", location)

    def _prove(self, location: str, path: str) -> None:
        """StorageError when the store takes no notice of the condition: older ones simply overwrite."""
        probe = f"{path.rpartition('/')[0]}/.riverrun-unfinished-probe-{uuid.uuid4().hex}"
        first, second = (self._creation.create(probe, b"") for _ in range(2))
        self._withdraw(probe)
        if not first or second:
            raise StorageError(
                f"writing {location!r}: the store does not keep the condition 'If-None-Match: *' of a PUT, "
                f"so two JobManagers could both lead; use a newer version of it, or another "
                f"'high-availability.type'"
            )


def s3_keys(location: str, config: Mapping[str, str], who: str) -> S3Keys:
    """The keys themselves, from the configuration or the environment; ``who`` needs them, for messages.

    Raises:
        ConfigError: there are none.
    """
    access, secret = S3_ACCESS_KEY.get(config), S3_SECRET_KEY.get(config)
    if access is not None and secret is not None:
        return S3Keys(access, secret)
    access, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if access and secret:
        return S3Keys(access, secret, os.environ.get("AWS_SESSION_TOKEN") or None)
    raise ConfigError(
        f"location {location!r}: {who} there needs the keys themselves; set {S3_ACCESS_KEY.key!r} and "
        f"{S3_SECRET_KEY.key!r}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
    )


def s3_address(bucket: str, config: Mapping[str, str]) -> S3Address:
    """Where the bucket's files are."""
    timeout = S3_REQUEST_TIMEOUT.get(config).to_seconds()
    endpoint = S3_ENDPOINT.get(config)
    if endpoint is None:
        # The certificate is for one level of names: a bucket with dots has to be in the path.
        in_host, host = "." not in bucket, f"s3.{s3_region(config)}.amazonaws.com"
        return S3Address(
            secure=True,
            host=f"{bucket}.{host}" if in_host else host,
            in_host=in_host,
            timeout_s=timeout,
        )
    parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
    in_host = S3_PATH_STYLE.get(config) is False
    return S3Address(
        secure=parts.scheme == "https",
        host=f"{bucket}.{parts.netloc}" if in_host else parts.netloc,
        in_host=in_host,
        timeout_s=timeout,
    )


def s3_region(config: Mapping[str, str]) -> str:
    """The region that requests are signed for."""
    return (
        S3_REGION.get(config)
        or os.environ.get("AWS_REGION")
        or os.environ.get("AWS_DEFAULT_REGION")
        or "us-east-1"
    )
