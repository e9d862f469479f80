"""Log messages as lines in files that begin anew when they are large, without passwords in them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from riverrun.core import metric_options
from riverrun.core.rotating_file import RotatingFile
from riverrun.core.secrets import masked

LINE: Final = "%(asctime)s %(levelname)-5s %(name)s [%(threadName)s] %(message)s"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Where log files go and how much of them is kept."""

    folder: Path
    level: int
    max_bytes: int
    kept: int

    @staticmethod
    def of(config: Mapping[str, str]) -> LogSettings | None:
        """What the settings say; ``None`` when no log files are wanted."""
        folder = metric_options.LOG_DIR.get(config)
        return None if folder is None else LogSettings.at(Path(folder).absolute(), config)

    @staticmethod
    def at(folder: Path, config: Mapping[str, str]) -> LogSettings:
        """The same for a folder that somebody else chose."""
        return LogSettings(
            folder,
            logging.getLevelNamesMapping()[metric_options.LOG_LEVEL.get(config).upper()],
            metric_options.LOG_FILE_SIZE.get(config),
            metric_options.LOG_MAX.get(config),
        )

    def open(self, name: str) -> RotatingFile:
        """The file ``name``, in a folder that is made if need be; OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return RotatingFile(self.folder / name, self.max_bytes, self.kept)


class LogFileHandler(logging.Handler):
    """Writes messages to a file; what looks like a secret is masked."""

    def __init__(self, file: RotatingFile, level: int, line: str = LINE) -> None:
        super().__init__(level)
        self._file = file
        self.setFormatter(logging.Formatter(line))

    def emit(self, record: logging.LogRecord) -> None:
        """Write the message as one piece."""
        try:
            self._file.write(shown(self.format(record)).encode("utf-8", "replace") + b"\n")
        except Exception:  # noqa: BLE001  (logging's own way: a message must not end the program)
            self.handleError(record)

    def close(self) -> None:
        """Close the file, too."""
        self._file.close()
        super().close()


def shown(text: str) -> str:
    """``text`` as it may be written to a log.

    >>> shown("connecting to jdbc://me:abc@host with password=xyz")
    'connecting to jdbc://me:******@host with password=******'
    """
    return masked("", text)
