"""Log files of the JobManager and of task managers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Protocol

import msgspec

from riverrun.core.log_folder import LogFile, LogFolder, LogPiece, UnknownLogFile
from riverrun.protocol.inquiries import PIECE_BYTES, ListLogs, LogList, ReadLog
from riverrun.rest.asked_tasks import asked_any
from riverrun.rest.bodies.diagnosis import LogInfo, LogListInfo, LogUrl
from riverrun.rest.context import RestContext
from riverrun.rest.handlers.task_managers import OfTaskManager, manager_of
from riverrun.rest.problems import not_found
from riverrun.rest.resource_ids import resource_id
from riverrun.rest.routing import Call, Nothing, OfJob, Raw, Route

_LOCAL: Final = "driver"
"""The executor of a local master: it writes to the JobManager's own folder."""
_MOST: Final = 64 << 20
"""How much of a file is given at once, its end first."""
_TEXT: Final = "text/plain; charset=utf-8"


class OfFile(msgspec.Struct, frozen=True):
    """The path names a file."""

    filename: str


class OfTaskManagersFile(OfTaskManager, frozen=True):
    """The path names a file of a task manager."""

    filename: str


class OfJobsTaskManager(OfJob, frozen=True):
    """The path names a job and a task manager."""

    taskmanagerid: str


class Part(msgspec.Struct, frozen=True):
    """Which part of the file: its last ``tail`` bytes, or those from ``offset`` on; else all of it.

    ``limit`` is how many bytes are wanted at most, from the beginning of that part on.
    """

    tail: Annotated[int, msgspec.Meta(ge=1)] | None = None
    offset: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


class _Files(Protocol):
    """Log files, wherever they are."""

    def files(self) -> list[LogFile]:
        """All of them."""

    def read(self, name: str, start: int, limit: int) -> LogPiece:
        """A piece, which may be shorter than ``limit``; UnknownLogFile."""


class _Remote:
    """Files on the machine of an executor, read by a task that runs there."""

    def __init__(self, rest: RestContext, manager: str) -> None:
        self._rest, self._manager = rest, manager

    def files(self) -> list[LogFile]:
        answer = asked_any(self._rest, self._manager, ListLogs())
        return answer.files if isinstance(answer, LogList) else []

    def read(self, name: str, start: int, limit: int) -> LogPiece:
        question = ReadLog(name, start, min(limit, PIECE_BYTES))
        answer = asked_any(self._rest, self._manager, question)
        if not isinstance(answer, LogPiece):
            raise UnknownLogFile(f"log file {name!r}: the task answered {type(answer).__name__}")
        return answer


def _of_job_manager(rest: RestContext, path: object) -> _Files:
    del path
    return _own(rest, "jobmanager", "job-")


def _of_task_manager(rest: RestContext, path: OfTaskManager) -> _Files:
    manager = manager_of(rest, path).id
    if manager == _LOCAL and rest.log_folder is not None:
        return _own(rest, f"taskmanager-{_LOCAL}.")
    return _Remote(rest, manager)


def _own(rest: RestContext, *beginnings: str) -> LogFolder:
    if rest.log_folder is None:
        raise not_found(
            "log files: this JobManager writes none; set 'env.log.dir' to a folder for them"
        )
    return LogFolder(rest.log_folder, *beginnings)


class _Lister:
    """The names and sizes of the log files."""

    def __init__(self, files_of: Callable[[RestContext, OfTaskManager], _Files]) -> None:
        self._files_of = files_of

    def __call__(self, rest: RestContext, call: Call[OfTaskManager, Nothing, None]) -> LogListInfo:
        files = self._files_of(rest, call.path).files()
        return LogListInfo([LogInfo(file.name, file.size, file.mtime) for file in files])


class _Reader:
    """The text of a log file, or a part of it."""

    def __init__(
        self, files_of: Callable[[RestContext, OfTaskManager], _Files], ending: str | None = None
    ) -> None:
        self._files_of = files_of
        self._ending = ending
        """Of the one file that is meant; ``None``: the path names it."""

    def __call__(self, rest: RestContext, call: Call[OfTaskManagersFile, Part, None]) -> Raw:
        files = self._files_of(rest, call.path)
        name = call.path.filename if self._ending is None else _main_file(files, self._ending)
        try:
            return _part(files, name, call.query)
        except UnknownLogFile as e:
            raise not_found(str(e)) from e


def _main_file(files: _Files, ending: str) -> str:
    for file in files.files():
        if file.name.endswith(ending) and not file.name.startswith("job-"):
            return file.name
    raise not_found(f"log file '*{ending}': there is none; nothing was written to it")


def _part(files: _Files, name: str, part: Part) -> Raw:
    start = -min(part.tail or _MOST, _MOST) if part.offset is None else part.offset
    most = min(part.limit or _MOST, _MOST)
    first = files.read(name, start, most)
    pieces, end = [first.data], first.start + len(first.data)
    size = len(first.data)
    while first.data and end < first.size and size < most:
        piece = files.read(name, end, most - size)
        if not piece.data or piece.start != end:
            break  # the file began anew meanwhile
        pieces.append(piece.data)
        size += len(piece.data)
        end += len(piece.data)
    headers = {
        "X-Log-Size": str(first.size),
        "X-Log-Start": str(first.start),
        "X-Log-End": str(end),
    }
    return Raw(b"".join(pieces), _TEXT, headers)


def job_manager_url(rest: RestContext, call: Call[OfJob, Nothing, None]) -> LogUrl:
    """Where the log of a job's JobManager is read."""
    report = rest.dispatcher.job(call.path.job)
    return LogUrl(f"{rest.address()}/jobmanager/logs/job-{report.id}.log")


def task_manager_url(rest: RestContext, call: Call[OfJobsTaskManager, Nothing, None]) -> LogUrl:
    """Where the log of a task manager of a job is read."""
    rest.dispatcher.job(call.path.job)
    manager = manager_of(rest, OfTaskManager(call.path.taskmanagerid))
    return LogUrl(f"{rest.address()}/taskmanagers/{resource_id(manager.id)}/log")


def _routes() -> tuple[Route, ...]:
    places = (
        ("/jobmanager", _of_job_manager, Nothing, OfFile),
        ("/taskmanagers/{taskmanagerid}", _of_task_manager, OfTaskManager, OfTaskManagersFile),
    )
    return tuple(
        route
        for root, files_of, of, of_file in places
        for route in (
            Route("GET", f"{root}/logs", _Lister(files_of), gives=LogListInfo, of=of, slow=True),
            Route(
                "GET",
                f"{root}/logs/{{filename}}",
                _Reader(files_of),
                gives=Raw,
                of=of_file,
                query=Part,
                slow=True,
            ),
            Route(
                "GET",
                f"{root}/log",
                _Reader(files_of, ".log"),
                gives=Raw,
                of=of,
                query=Part,
                slow=True,
            ),
            Route(
                "GET",
                f"{root}/stdout",
                _Reader(files_of, ".out"),
                gives=Raw,
                of=of,
                query=Part,
                slow=True,
            ),
        )
    )


ROUTES: Final = (
    *_routes(),
    Route("GET", "/jobs/{jobid}/jobmanager/log-url", job_manager_url, gives=LogUrl, of=OfJob),
    Route(
        "GET",
        "/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url",
        task_manager_url,
        gives=LogUrl,
        of=OfJobsTaskManager,
    ),
)
