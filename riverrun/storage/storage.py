"""The store of checkpoint files: whole files, written once, read, listed, deleted. No appends, no renames.

``location`` is a full path: a local path, or a URI such as ``s3://bucket/folder/file``. A file is there
with all its bytes or not at all: whoever lists or reads never sees half of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from riverrun.core.errors import ExternalError


class StorageError(ExternalError):
    """The store did not do what it was asked for; the message names the file and the reason."""


class FileMissing(StorageError):  # noqa: N818
    """There is no such file."""


class FileExists(StorageError):  # noqa: N818
    """A file that must be new is there already."""


class FileCorrupt(StorageError):  # noqa: N818
    """The file's size or digest is not what its reference says, or its content cannot be read."""


class Storage(Protocol):
    """All methods raise StorageError and nothing else; all may be called from any thread."""

    def write(self, location: str, data: bytes | memoryview, *, new: bool = False) -> None:
        """Make the file, atomically; with ``new`` FileExists when it is there already."""

    def upload(self, source: Path, location: str) -> None:
        """Make the file from a local one, atomically, without holding it in memory."""

    def read(self, location: str) -> bytes:
        """All bytes of the file; FileMissing when there is none."""

    def download(self, location: str, target: Path) -> None:
        """Copy (or hard-link, where that is the same) the file to a local path that must not exist."""

    def exists(self, location: str) -> bool:
        """Whether there is such a file."""

    def list(self, folder: str) -> list[str]:
        """Full locations of all files below ``folder``, at any depth, sorted; empty when there is none."""

    def sizes(self, folder: str) -> dict[str, int]:
        """What ``list`` gives, each with its size in bytes, in the same order."""

    def delete(self, locations: Iterable[str]) -> None:
        """Remove files; those that are not there are fine. Empty folders may go too.

        One file that cannot be removed does not save the others; the first error is raised at the end.
        """

    def delete_folder(self, folder: str) -> None:
        """Remove ``folder`` and all that is below it, unfinished files too; fine when there is none."""

    def sweep(self, folder: str, older_than_s: float) -> int:
        """Remove what writers that died left unfinished below ``folder``; how many files that were.

        Such files are never read or listed. Those younger than ``older_than_s`` may belong to a
        writer that is still at work, and stay.
        """
