"""A sink in two steps whose committables hold the rows themselves, so that a snapshot needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from riverrun.api.sink import Committable, Committer, Sink, SinkWriter, SinkWriterContext


class CommitSink(Sink[Any]):
    """Rows of JSON in ``folder``, a file for each committable."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _Writer(context.restored)

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        return _Committer(Path(self._folder))


def committed(folder: Path) -> list[str]:
    """All rows that were committed, as JSON, sorted."""
    return sorted(line for path in folder.glob("*.json") for line in json.loads(path.read_text()))


class _Writer(SinkWriter[Any]):
    """Its state is how many rows it prepared; it says so in a row after a restart."""

    def __init__(self, restored: Sequence[int]) -> None:
        self._rows = [json.dumps(["prepared before", number]) for number in restored]
        self._prepared = 0

    def write(self, value: Any, timestamp: int | None) -> None:
        self._rows.append(json.dumps(value))

    def prepare_commit(self) -> list[Any]:
        rows, self._rows = self._rows, []
        self._prepared += len(rows)
        return [rows] if rows else []

    def snapshot_state(self) -> list[Any]:
        return [self._prepared]


class _Committer(Committer):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def commit(self, committables: Sequence[Committable]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for committable in committables:
            path = self._folder / f"{committable.id}.json"
            path.write_text(json.dumps(committable.value))
