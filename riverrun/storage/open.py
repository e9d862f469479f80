"""From the location of a folder to the store that holds it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from riverrun.core.errors import ConfigError
from riverrun.storage.local import LocalStorage, local_path
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.storage import Storage

_S3: Final = frozenset({"s3", "s3a", "s3n"})
_OF_ARROW: Final = frozenset({"gs", "gcs", "hdfs", "viewfs"})
_BUCKETS: Final = frozenset({"gs", "gcs"})


def absolute_location(location: str) -> str:
    """``location`` in the one form that all of riverrun uses: an absolute path, or a URI; no slash at its end.

    >>> absolute_location("file:///checkpoints/"), absolute_location("s3://bucket/checkpoints/")
    ('/checkpoints', 's3://bucket/checkpoints')

    Raises:
        ConfigError: a relative path. Every machine of the job has to understand the location, and
            each has a working folder of its own.
    """
    if "://" in location and not location.startswith("file:"):
        return location.rstrip("/")
    path = str(local_path(location))
    if not path.startswith("/"):
        raise ConfigError(
            f"location {location!r}: expected an absolute path or a URI such as 's3://bucket/folder'; "
            f"did you mean {os.path.abspath(path)!r}?"  # noqa: PTH100  (keeps links as they were written)
        )
    return os.path.normpath(path)


def open_storage(location: str, config: Mapping[str, str]) -> Storage:
    """The store that holds the folder ``location``; nothing is connected or made before it is used.

    Empty folders below ``location`` are removed with their last file.

    Raises:
        ConfigError: the scheme is not known, the path is relative, or the configuration of the store
            contradicts itself.
    """
    try:
        scheme = urlsplit(location).scheme if "://" in location else "file"
    except ValueError as error:
        raise ConfigError(f"location {location!r}: it is no URI: {error}") from error
    if scheme == "file":
        return LocalStorage(absolute_location(location))
    if scheme == "memory":
        return MemoryStorage.named(urlsplit(location).netloc)
    if scheme in _S3 or scheme in _OF_ARROW:
        return _object_storage(scheme, location, config)
    raise ConfigError(
        f"location {location!r}: no store is known for {scheme + '://'!r}; expected an absolute path, "
        f"or file://, s3://, gs://, hdfs:// or memory://"
    )


def _object_storage(scheme: str, location: str, config: Mapping[str, str]) -> Storage:
    # Only a job that uses such a store loads the software for it: that takes a while, and threads.
    from pyarrow import fs as arrow_fs  # noqa: PLC0415

    from riverrun.storage.object_store import ObjectStorage  # noqa: PLC0415
    from riverrun.storage.s3 import s3_file_system  # noqa: PLC0415

    server = urlsplit(location).netloc
    if scheme in _S3:
        return ObjectStorage(f"{scheme}://", lambda: s3_file_system(server, config))
    in_buckets = scheme in _BUCKETS
    return ObjectStorage(
        f"{scheme}://" if in_buckets else f"{scheme}://{server}",
        lambda: arrow_fs.FileSystem.from_uri(location)[0],
        renames=not in_buckets,
    )
