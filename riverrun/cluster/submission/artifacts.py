"""Files that clients sent, by their digests: what is there already need not be sent again."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO, Final

from riverrun.core.errors import ExternalError, ProgramError

_PARTIAL: Final = ".part"
_HEX: Final = frozenset("0123456789abcdef")
_DIGEST_CHARS: Final = 64


class ArtifactTooLarge(ProgramError):  # noqa: N818
    """More bytes than are taken."""


class ArtifactCorrupt(ProgramError):  # noqa: N818
    """The bytes are not those that the digest names."""


class ArtifactMissing(ProgramError):  # noqa: N818
    """A file that a job needs was not sent, or is gone."""


class Receiving:
    """A file that is being sent; ``keep`` or ``discard`` ends it."""

    def __init__(self, sha256: str, folder: Path, limit: int) -> None:
        self._sha256 = sha256
        self._limit = limit
        self._target = folder / sha256
        self._path = folder / f"{sha256}-{secrets.token_hex(4)}{_PARTIAL}"
        self._digest = hashlib.sha256()
        self._size = 0
        self._file: BinaryIO = self._path.open("xb")

    def write(self, piece: bytes) -> None:
        """Take the next bytes; ArtifactTooLarge beyond the limit."""
        self._size += len(piece)
        if self._size > self._limit:
            raise ArtifactTooLarge(
                f"file {self._sha256[:12]}: is larger than {self._limit} bytes; raise "
                f"'rest.server.max-content-length', or install the package where the workers run"
            )
        self._digest.update(piece)
        try:
            self._file.write(piece)
        except OSError as e:
            raise ExternalError(
                f"file {self._sha256[:12]}: cannot be kept in {str(self._path.parent)!r} "
                f"({e.strerror}); free some space, or set 'web.upload.dir' to another folder"
            ) from e

    def keep(self) -> Path:
        """All bytes came; ArtifactCorrupt when they are not the ones that were announced."""
        self._file.close()
        found = self._digest.hexdigest()
        if found != self._sha256:
            self._path.unlink()
            raise ArtifactCorrupt(
                f"file {self._sha256[:12]}: its bytes have the digest {found[:12]}; send it again"
            )
        return self._path.replace(self._target)

    def discard(self) -> None:
        """Forget what came."""
        self._file.close()
        self._path.unlink(missing_ok=True)


class ArtifactStore:
    """A folder of files named by their SHA-256.

    Args:
        folder: made if it is not there.
        limit: bytes of the largest file that is taken.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        folder.mkdir(parents=True, exist_ok=True)

    def has(self, sha256: str) -> bool:
        """Whether the file is there."""
        return self._path(sha256).is_file()

    def receive(self, sha256: str) -> Receiving:
        """Begin to take a file."""
        self._path(sha256)
        return Receiving(sha256, self._folder, self._limit)

    def path(self, sha256: str, name: str) -> Path:
        """Where the file is; ArtifactMissing."""
        path = self._path(sha256)
        if not path.is_file():
            raise ArtifactMissing(
                f"file {name!r} ({sha256[:12]}): was not sent, or is gone; submit the job again"
            )
        return path

    def forget(self, older_than_s: float, needed: Collection[str] = ()) -> int:
        """Remove old files that no job needs; how many."""
        before = time.time() - older_than_s
        removed = 0
        for path in self._folder.iterdir():
            if path.name not in needed and path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def _path(self, sha256: str) -> Path:
        if len(sha256) != _DIGEST_CHARS or not set(sha256) <= _HEX:
            raise ProgramError(f"digest {sha256!r}: expected 64 lower-case hexadecimal characters")
        return self._folder / sha256
