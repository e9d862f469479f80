"""The log files of a worker process: what it logs, and what the user's functions print.

All workers of an executor write to the same two files, ``taskmanager-<executor>.log`` and ``.out``.
"""

from __future__ import annotations

import io
import logging
import sys
from contextlib import suppress
from typing import Final, TextIO

from riverrun.core.log_folder import LogFolder
from riverrun.core.log_output import LogFileHandler, LogSettings, shown
from riverrun.core.rotating_file import RotatingFile

log = logging.getLogger(__name__)

_LINE: Final = "%(asctime)s %(levelname)-5s %(name)s %(place)s %(message)s"


def executor_files(executor: str | None) -> str:
    """How the names of an executor's files begin.

    >>> executor_files("3")
    'taskmanager-3.'
    """
    return f"taskmanager-{executor or 'unknown'}."


def write_logs(settings: LogSettings | None, executor: str | None, place: str) -> LogFolder | None:
    """Let this process write log files, and say where a message comes from; the files that there are.

    A process hosts one task after the other: the files of the one before are closed unless they are the
    same. Without ``settings`` none are written.
    """
    beginning = executor_files(executor)
    wanted = None if settings is None else (settings, beginning)
    if _Writing.what != wanted:
        _Writing.end()
        if settings is not None:
            try:
                _Writing.begin(settings, beginning)
            except OSError as e:
                log.warning("no log files folder=%s reason=%s", settings.folder, e)
                return None
    _Place.now = place
    return None if settings is None else LogFolder(settings.folder, beginning)


class PrintedLines(io.TextIOBase):
    """A standard output that also goes to a file, whole lines at a time."""

    def __init__(self, console: TextIO, file: RotatingFile) -> None:
        self._console = console
        self._file = file
        self._line = ""

    def write(self, text: str) -> int:
        """Show the text, and keep the lines that it completes."""
        self._console.write(text)
        whole, newline, rest = (self._line + text).rpartition("\n")
        self._line = rest
        if newline:
            self._keep(whole + newline)
        return len(text)

    def flush(self) -> None:
        """Show what waits."""
        self._console.flush()

    def fileno(self) -> int:
        """The console's."""
        return self._console.fileno()

    def writable(self) -> bool:
        """It is."""
        return True

    def _keep(self, lines: str) -> None:
        # A full disk must not end a function that prints.
        with suppress(OSError):
            self._file.write(shown(lines).encode("utf-8", "replace"))


class _Place(logging.Filter):
    """Says in each message which task's process wrote it."""

    now = ""

    def filter(self, record: logging.LogRecord) -> bool:
        record.place = self.now
        return True


class _Writing:
    """What this process writes to now, and how it was before."""

    what: tuple[LogSettings, str] | None = None
    _handlers: tuple[logging.Handler, ...] = ()
    _level: int = logging.NOTSET
    _console: TextIO | None = None
    _printed: RotatingFile | None = None

    @classmethod
    def begin(cls, settings: LogSettings, beginning: str) -> None:
        """Open the files."""
        printed = settings.open(f"{beginning}out")
        handler = LogFileHandler(settings.open(f"{beginning}log"), settings.level, _LINE)
        handler.addFilter(_Place())
        root = logging.getLogger()
        cls._handlers = (handler,)
        if not root.handlers:
            # With a handler of ours, Python does not show warnings by itself any more.
            console = logging.StreamHandler()
            console.setLevel(logging.WARNING)
            cls._handlers = (handler, console)
        for each in cls._handlers:
            root.addHandler(each)
        cls._level, cls._console, cls._printed = root.level, sys.stdout, printed
        root.setLevel(min(root.level or settings.level, settings.level))
        sys.stdout = PrintedLines(sys.stdout, printed)
        cls.what = (settings, beginning)

    @classmethod
    def end(cls) -> None:
        """Close the files."""
        if cls.what is None:
            return
        root = logging.getLogger()
        for handler in cls._handlers:
            root.removeHandler(handler)
            handler.close()
        root.setLevel(cls._level)
        if cls._console is not None:
            sys.stdout = cls._console
        if cls._printed is not None:
            cls._printed.close()
        cls.what = None
