"""The log files that a JobManager shows over REST."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec
import typer

from riverrun.client.connection import segment
from riverrun.core.errors import ProgramError

if TYPE_CHECKING:
    from riverrun.client.job_manager import JobManagerClient
    from riverrun.rest.bodies.jobs import JobDetails

_LOOK_S: Final = 1.0


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a log."""

    name: str
    size: int
    mtime: int = 0
    """Milliseconds since 1970."""


class _Listing(msgspec.Struct, frozen=True):
    logs: list[LogFile]


class LogFiles:
    """The files of the JobManager, of one of its jobs, or of one of its task managers."""

    def __init__(
        self,
        client: JobManagerClient,
        task_manager: str | None = None,
        job: JobDetails | None = None,
    ) -> None:
        self._client = client
        self._job = job
        self._root = (
            "/jobmanager" if task_manager is None else f"/taskmanagers/{segment(task_manager)}"
        )
        self._whose = "the JobManager" if task_manager is None else f"task manager {task_manager!r}"
        if job is not None:
            self._whose = f"job {job.name!r}"

    def entries(self) -> list[LogFile]:
        """All files: logs before what was printed, whoever asks for them before single jobs, newest first."""
        found = self._client.connection.get(f"{self._root}/logs", _Listing).logs
        if self._job is not None:
            found = [file for file in found if self._job.jid in file.name]
        return sorted(
            found, key=lambda file: (".out" in file.name, file.name.startswith("job-"), -file.mtime)
        )

    def chosen(self, name: str | None) -> LogFile:
        """The file of this name, else the first; ProgramError when there is none."""
        files = self.entries()
        for file in files:
            if name is None or file.name == name:
                return file
        names = ", ".join(file.name for file in files) or "none"
        wanted = "no log file" if name is None else f"no log file {name!r}"
        raise ProgramError(f"{self._whose}: has {wanted}; there are: {names}")

    def read(self, name: str, offset: int = 0) -> bytes:
        """A file from an offset on; of a large one the end."""
        part = f"?offset={offset}" if offset else ""
        return self._client.connection.send("GET", f"{self._root}/logs/{segment(name)}{part}")


def show_log(files: LogFiles, name: str | None, *, follow: bool) -> None:
    """Print a file, and what is added to it."""
    file = files.chosen(name)
    content = files.read(file.name)
    shown = max(file.size, len(content))
    _print(content)
    while follow:
        time.sleep(_LOOK_S)
        size = files.chosen(file.name).size
        if size != shown:
            # A file that became shorter was begun anew.
            content = files.read(file.name, shown if size > shown else 0)
            shown = len(content) + (shown if size > shown else 0)
            _print(content)


def _print(content: bytes) -> None:
    typer.echo(content.decode("utf-8", "replace"), nl=False)
