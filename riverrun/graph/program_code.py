"""The code that a job's functions import, beside what is installed where its workers run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file that workers get: a zip of modules, an archive, or anything that functions read."""

    name: str
    """As the user knows it."""
    sha256: str
    location: str
    """Where the driver finds it."""


@dataclass(frozen=True, slots=True)
class ProgramCode:
    """What the workers of one job import from.

    Jobs with different code never share a worker process.
    """

    search_path: tuple[str, ...] = ()
    """Folders that workers can reach by themselves."""
    files: tuple[CodeFile, ...] = ()
    """Zips of modules that are sent to the executors."""
    archives: tuple[CodeFile, ...] = ()
    """Unpacked on the executors, such as a virtual environment; functions find them by name."""
    data: tuple[CodeFile, ...] = ()
    """Files that functions find by name in their working directory."""
    programs: tuple[str, ...] = ()
    """Names of those ``data`` that can be executed."""
    python: str | None = None
    """The interpreter; inside an archive as ``<name of the archive>/bin/python``."""

    def digest(self) -> str:
        """Tells apart the code of jobs.

        >>> ProgramCode().digest() == ProgramCode(search_path=("/a",)).digest()
        False
        """
        parts = [self.python or "", *self.search_path, *self.programs]
        for kind in (self.files, self.archives, self.data):
            parts += ["", *(f"{each.name} {each.sha256}" for each in kind)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
