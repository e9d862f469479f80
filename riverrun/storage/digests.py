"""The digest that every file of a checkpoint has: BLAKE2b of 16 bytes, in hexadecimal."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from riverrun.storage.blobs import FileRef
from riverrun.storage.os_errors import reported
from riverrun.storage.storage import FileCorrupt

_DIGEST_BYTES: Final = 16


def digest_of(data: bytes | memoryview) -> str:
    """The digest of bytes in memory.

    >>> digest_of(b"riverrun")
    '6b00852798557b98e5937f6c7f05aa6f'
    """
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def digest_of_file(path: Path) -> str:
    """The digest of a local file; StorageError when it cannot be read."""
    with reported("reading", str(path)), path.open("rb") as file:
        return hashlib.file_digest(file, _new).hexdigest()


def check_bytes(data: bytes, ref: FileRef) -> None:
    """FileCorrupt unless ``data`` is what ``ref`` says."""
    _compare(ref, len(data), lambda: digest_of(data))


def check_file(path: Path, ref: FileRef) -> None:
    """FileCorrupt unless the local file is what ``ref`` says."""
    with reported("reading", str(path)):
        size = path.stat().st_size
    _compare(ref, size, lambda: digest_of_file(path))


def _new() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=_DIGEST_BYTES)


def _compare(ref: FileRef, size: int, digest: Callable[[], str]) -> None:
    if size != ref.size:
        raise FileCorrupt(
            f"file {ref.path!r}: expected {ref.size} bytes, found {size}; it was cut off or changed "
            f"after the checkpoint was taken, so use another checkpoint"
        )
    found = digest()
    if found != ref.digest:
        raise FileCorrupt(
            f"file {ref.path!r}: expected digest {ref.digest}, found {found}; it was changed or damaged "
            f"after the checkpoint was taken, so use another checkpoint"
        )
