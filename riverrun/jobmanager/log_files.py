"""The log files of a JobManager: one of its own, and one for each job."""

from __future__ import annotations

import logging
import re
from contextlib import closing
from typing import Final

from riverrun.core.log_output import LINE, LogFileHandler, LogSettings, shown

_OF_JOB: Final = re.compile(r"\bjob=(?:<?JobId[^0-9a-f]*)?([0-9a-f]{32})\b")
_THREAD: Final = re.compile(r"-([0-9a-f]{32})$")


class JobLogHandler(logging.Handler):
    """Writes what concerns a job to ``job-<id>.log``.

    That is what names the job (``job=<id>``), and what the job's own threads say.
    """

    def __init__(self, settings: LogSettings) -> None:
        super().__init__(settings.level)
        self._settings = settings
        self.setFormatter(logging.Formatter(LINE))

    def emit(self, record: logging.LogRecord) -> None:
        """Append the message to the file of its job, if it has one."""
        try:
            found = _OF_JOB.search(record.getMessage()) or _THREAD.search(record.threadName or "")
            if found is not None:
                text = shown(self.format(record))
                # Jobs say little and there may be thousands of them: no file stays open.
                with closing(self._settings.open(f"job-{found[1]}.log")) as file:
                    file.write(text.encode("utf-8", "replace") + b"\n")
        except Exception:  # noqa: BLE001  (logging's own way: a message must not end the program)
            self.handleError(record)


class JobManagerLogs:
    """Writes log files from ``open`` to ``close``.

    Args:
        settings: where and how much.
        whole_process: whether other libraries' messages are of interest, too: this process is a
            JobManager and nothing else.
    """

    def __init__(self, settings: LogSettings, *, whole_process: bool) -> None:
        self._settings = settings
        self._logger = logging.getLogger() if whole_process else logging.getLogger("riverrun")
        self._level_before = self._logger.level
        self._handlers: list[logging.Handler] = []

    def open(self) -> None:
        """Begin to write; OSError when the folder cannot be written."""
        settings = self._settings
        self._handlers = [
            LogFileHandler(settings.open("jobmanager.log"), settings.level),
            JobLogHandler(settings),
        ]
        for handler in self._handlers:
            self._logger.addHandler(handler)
        if not self._logger.isEnabledFor(settings.level):
            self._logger.setLevel(settings.level)

    def close(self) -> None:
        """Write nothing any more."""
        handlers, self._handlers = self._handlers, []
        for handler in handlers:
            self._logger.removeHandler(handler)
            handler.close()
        if handlers:
            self._logger.setLevel(self._level_before)
