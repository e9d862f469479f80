"""Metrics as lines of JSON in a file: one line for each scope and report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from riverrun.core.config_options import parse_memory_size
from riverrun.core.errors import ConfigError, ExternalError
from riverrun.core.rotating_file import RotatingFile
from riverrun.metrics.reporters.reporter import ReporterSettings
from riverrun.metrics.scope import MetricScope

_FILE: Final = "metrics.jsonl"
_MAX: Final = "10mb"
_KEPT: Final = 10


class JsonLines:
    """Appends to the file ``file``, which begins anew at ``max-size``; ``max-files`` older ones are kept.

    A line is ``{"at", "kind", "scope", "variables", "metrics"}``; a value that is no number is left out.
    """

    def __init__(self, settings: ReporterSettings, folder: Path | None = None) -> None:
        self._settings = settings
        path = Path(settings.text("file", _FILE))
        self._path = path if path.is_absolute() or folder is None else folder / path
        size = settings.text("max-size", _MAX)
        try:
            max_bytes = parse_memory_size(size)
        except ValueError as e:
            raise ConfigError(
                f"option {settings.key('max-size')!r}: is {size!r}; expected an amount such as '10mb'"
            ) from e
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = RotatingFile(self._path, max_bytes, settings.number("max-files", _KEPT))
        except OSError as e:
            raise ExternalError(self._cannot(e)) from e

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def report(self, scopes: Sequence[MetricScope], at: int) -> None:
        lines = [
            msgspec.json.encode(
                {
                    "at": at,
                    "kind": scope.kind.value,
                    "scope": self._settings.names.of(scope),
                    "variables": scope.variables,
                    "metrics": {k: v for k, v in scope.values.items() if math.isfinite(v)},
                }
            )
            for scope in scopes
        ]
        if lines:
            try:
                self._file.write(b"\n".join(lines) + b"\n")
            except OSError as e:
                raise ExternalError(self._cannot(e)) from e

    def close(self) -> None:
        self._file.close()

    def _cannot(self, why: OSError) -> str:
        return f"metrics reporter {self._settings.name!r}: cannot write {str(self._path)!r}: {why}"
