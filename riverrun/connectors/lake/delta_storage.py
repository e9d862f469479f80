"""How the data files of a Delta table are reached: as the job's other files are, where that serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pyarrow import fs as arrow_fs

from riverrun.connectors.base.extras import require
from riverrun.core import options
from riverrun.storage.s3 import s3_file_system

__all__ = ["delta_options", "file_system"]

_S3: Final = {
    "AWS_ENDPOINT_URL": options.S3_ENDPOINT.key,
    "AWS_ACCESS_KEY_ID": options.S3_ACCESS_KEY.key,
    "AWS_SECRET_ACCESS_KEY": options.S3_SECRET_KEY.key,
    "AWS_REGION": options.S3_REGION.key,
    "timeout": options.S3_REQUEST_TIMEOUT.key,
    "connect_timeout": options.S3_CONNECT_TIMEOUT.key,
}
"""What deltalake and a job's configuration both have a word for."""
_UNDERSTOOD: Final = frozenset({*_S3, "AWS_ALLOW_HTTP", "max_retries", "retry_timeout"})


def delta_options(
    uri: str, config: Mapping[str, str], given: Mapping[str, str]
) -> Mapping[str, str]:
    """How to reach a table, in deltalake's words: as ``given``, else as the job reaches object stores."""
    if urlsplit(uri).scheme not in {"s3", "s3a"}:
        return dict(given)
    request = options.S3_REQUEST_TIMEOUT.get(config).to_seconds()
    attempts = options.S3_ATTEMPTS.get(config)
    found = {
        "AWS_ENDPOINT_URL": options.S3_ENDPOINT.get(config),
        "AWS_ACCESS_KEY_ID": options.S3_ACCESS_KEY.get(config),
        "AWS_SECRET_ACCESS_KEY": options.S3_SECRET_KEY.get(config),
        "AWS_REGION": options.S3_REGION.get(config),
        "timeout": f"{request:g}s",
        "connect_timeout": f"{options.S3_CONNECT_TIMEOUT.get(config).to_seconds():g}s",
        "max_retries": str(attempts - 1),
        "retry_timeout": f"{attempts * request:g}s",
    }
    known = {name: value for name, value in found.items() if value is not None} | dict(given)
    if known.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        known.setdefault("AWS_ALLOW_HTTP", "true")
    return known


def file_system(uri: str, reached: Mapping[str, str]) -> Any:
    """The table's folder as a file system; ``reached`` is what `delta_options` gave."""
    parts = urlsplit(uri)
    if parts.scheme in {"", "file"}:
        path = parts.path if parts.scheme else uri
        return arrow_fs.SubTreeFileSystem(path, arrow_fs.LocalFileSystem())
    if parts.scheme in {"s3", "s3a"} and reached.keys() <= _UNDERSTOOD:
        # deltalake's own stops all of Python's threads while it waits for the store.
        config = {_S3[name]: value for name, value in reached.items() if name in _S3}
        folder = f"{parts.netloc}{parts.path}".rstrip("/")
        return arrow_fs.SubTreeFileSystem(folder, s3_file_system(parts.netloc, config))
    handler = require("deltalake.fs", extra="delta", user="DeltaSink").DeltaStorageHandler
    return arrow_fs.PyFileSystem(handler(uri, dict(reached)))
