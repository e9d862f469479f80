"""The code that a job's functions import, beside what is installed where its workers run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file that workers get: a zip of modules, or an archive with an interpreter."""

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
    """Zips that are unpacked on the executors, such as a virtual environment."""
    python: str | None = None
    """The interpreter; inside an archive as ``<name of the archive>/bin/python``."""

    def digest(self) -> str:
        """Tells apart the code of jobs.

        >>> ProgramCode().digest() == ProgramCode(search_path=("/a",)).digest()
        False
        """
        parts = [self.python or "", *self.search_path]
        parts += [f"{each.name} {each.sha256}" for each in (*self.files, *self.archives)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
