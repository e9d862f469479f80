"""How the configuration names an S3-compatible store: Flink's keys, else the usual AWS environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from pyarrow import fs as arrow_fs

from riverrun.core.errors import ConfigError
from riverrun.core.options import (
    S3_ACCESS_KEY,
    S3_ATTEMPTS,
    S3_CONNECT_TIMEOUT,
    S3_ENDPOINT,
    S3_PATH_STYLE,
    S3_REGION,
    S3_REQUEST_TIMEOUT,
    S3_SECRET_KEY,
)

_DEFAULT_REGION = "us-east-1"


def s3_file_system(bucket: str, config: Mapping[str, str]) -> arrow_fs.S3FileSystem:
    """The file system that holds ``bucket``. Its requests end in bounded time, also when nobody answers."""
    access_key, secret_key = S3_ACCESS_KEY.get(config), S3_SECRET_KEY.get(config)
    if (access_key is None) != (secret_key is None):
        given, lacking = (
            (S3_ACCESS_KEY.key, S3_SECRET_KEY.key)
            if secret_key is None
            else (S3_SECRET_KEY.key, S3_ACCESS_KEY.key)
        )
        raise ConfigError(f"option {given!r} is set and {lacking!r} is not; set both or none")
    scheme, endpoint = _endpoint(S3_ENDPOINT.get(config))
    path_style = S3_PATH_STYLE.get(config)
    return arrow_fs.S3FileSystem(
        access_key=access_key,
        secret_key=secret_key,
        region=S3_REGION.get(config) or _region(bucket, endpoint),
        scheme=scheme,
        endpoint_override=endpoint,
        force_virtual_addressing=endpoint is not None and path_style is False,
        connect_timeout=S3_CONNECT_TIMEOUT.get(config).to_seconds(),
        request_timeout=S3_REQUEST_TIMEOUT.get(config).to_seconds(),
        retry_strategy=arrow_fs.AwsStandardS3RetryStrategy(max_attempts=S3_ATTEMPTS.get(config)),
        # A small file is then one request instead of three.
        allow_delayed_open=True,
    )


def _endpoint(setting: str | None) -> tuple[str, str | None]:
    """Scheme and address.

    >>> _endpoint("http://localhost:9000/"), _endpoint("minio:9000"), _endpoint(None)
    (('http', 'localhost:9000'), ('https', 'minio:9000'), ('https', None))
    """
    if setting is None:
        return "https", None
    parts = urlsplit(setting if "://" in setting else f"https://{setting}")
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path.strip("/"):
        raise ConfigError(
            f"option {S3_ENDPOINT.key!r}: expected the address of the store such as "
            f"'http://localhost:9000', got {setting!r}"
        )
    return parts.scheme, parts.netloc


def _region(bucket: str, endpoint: str | None) -> str:
    """Where the bucket is, if nobody said it."""
    said = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if said:
        return said
    if endpoint is not None:
        return _DEFAULT_REGION
    return str(arrow_fs.resolve_s3_region(bucket))
