"""A sink that writes each record exactly once: a pending file per checkpoint, committed by its rename."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from riverrun.api.sink import Committable, Committer, Sink, SinkWriter, SinkWriterContext


class FileSink(Sink[Any]):
    """Lines of JSON in ``folder/committed``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _FileWriter(Path(self._folder) / "pending")

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        return _FileCommitter(Path(self._folder))


def committed(folder: Path) -> list[tuple[Any, ...]]:
    """All records that were committed."""
    return [
        _tuples(json.loads(line))
        for path in sorted((folder / "committed").glob("*"))
        for line in path.read_text().splitlines()
    ]


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


class _FileWriter(SinkWriter[Any]):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[str] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._lines.append(json.dumps(value))

    def prepare_commit(self) -> list[Any]:
        lines, self._lines = self._lines, []
        if not lines:
            return []
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / uuid.uuid4().hex
        path.write_text("\n".join(lines) + "\n")
        return [path.name]


class _FileCommitter(Committer):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def commit(self, committables: Sequence[Committable]) -> None:
        target_folder = self._folder / "committed"
        target_folder.mkdir(parents=True, exist_ok=True)
        for committable in committables:
            pending = self._folder / "pending" / committable.value
            target = target_folder / f"{committable.id}-{committable.value}"
            if not target.exists():
                pending.rename(target)
