"""The log files in a folder, as far as they may be shown: by name, in pieces, and never another file."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

import msgspec

from riverrun.core.errors import ProgramError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ENDING: Final = re.compile(r"\.(?:log|out)(?:\.\d+)?$")


class UnknownLogFile(ProgramError):  # noqa: N818
    """There is no such log file."""


class LogFile(msgspec.Struct, frozen=True):
    """A log file."""

    name: str
    size: int
    mtime: int
    """When it was last written, in milliseconds since the epoch."""


class LogPiece(msgspec.Struct, frozen=True, tag=True):
    """A part of a log file."""

    data: bytes
    start: int
    """Where in the file it begins."""
    size: int
    """How large the file is."""


class LogFolder:
    """Shows the log files of a folder whose names begin with one of ``beginnings``."""

    def __init__(self, path: Path, *beginnings: str) -> None:
        self._path = path
        self._beginnings = beginnings

    def files(self) -> list[LogFile]:
        """All of them, by name."""
        if not self._path.is_dir():
            return []
        found = []
        with os.scandir(self._path) as entries:
            for entry in entries:
                if self._is_shown(entry.name) and entry.is_file(follow_symlinks=False):
                    facts = entry.stat(follow_symlinks=False)
                    found.append(LogFile(entry.name, facts.st_size, int(facts.st_mtime * 1000)))
        return sorted(found, key=lambda file: file.name)

    def read(self, name: str, start: int, limit: int) -> LogPiece:
        """At most ``limit`` bytes from ``start`` on, which counts from the end if it is negative.

        Raises:
            UnknownLogFile: there is none of this name, or it is no log file.
        """
        if not self._is_shown(name):
            raise UnknownLogFile(self._unknown(name))
        try:
            # A link could lead out of the folder.
            descriptor = os.open(self._path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as e:
            raise UnknownLogFile(self._unknown(name)) from e
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise UnknownLogFile(self._unknown(name))
            size = facts.st_size
            begin = max(0, size + start) if start < 0 else min(start, size)
            file.seek(begin)
            return LogPiece(file.read(max(0, min(limit, size - begin))), begin, size)

    def _is_shown(self, name: str) -> bool:
        return (
            _NAME.fullmatch(name) is not None
            and _ENDING.search(name) is not None
            and name.startswith(self._beginnings)
        )

    def _unknown(self, name: str) -> str:
        there = ", ".join(file.name for file in self.files()) or "none"
        return f"log file {name!r}: is not there; there are: {there}"
