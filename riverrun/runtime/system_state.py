"""Operator state of riverrun's own: source splits, committables, writers' state, calls. Pickled items."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any, Final

from riverrun.graph.pickling import dumps_fast
from riverrun.protocol.snapshots import (
    COMMITTABLES_STATE,
    OperatorStatePart,
    Redistribution,
    StateKind,
    StateMeta,
)
from riverrun.state.parquet.facts import Owner
from riverrun.state.parquet.items import read_items, write_pickled_items
from riverrun.storage.snapshot_files import NamedFiles, SavedFiles, SnapshotFiles

SPLITS: Final = "riverrun.splits"
COMMITTABLES: Final = COMMITTABLES_STATE
WRITER: Final = "riverrun.writer"
CALLS: Final = "riverrun.calls"
ENUMERATOR: Final = "riverrun.enumerator"

KEPT_WHEN_FINISHED: Final = frozenset({COMMITTABLES, ENUMERATOR})
"""What a finished operator still has in a checkpoint."""

_UNION: Final = frozenset({ENUMERATOR})
"""Of which every subtask gets all items."""


class FrozenItems:
    """Items of one system state, pickled at the moment of the snapshot."""

    def __init__(self, name: str, items: Iterable[Any]) -> None:
        self._name = name
        self._pickled = [dumps_fast(item) for item in items]
        self._redistribution = Redistribution.UNION if name in _UNION else Redistribution.SPLIT

    def write(self, files: SnapshotFiles) -> OperatorStatePart:
        """Keep the items; says where each one is."""
        borders: list[tuple[int, int]] = []
        position = 0
        for data in self._pickled:
            borders.append((position, position + len(data)))
            position += len(data)
        return OperatorStatePart(
            meta=StateMeta(self._name, StateKind.LIST),
            redistribution=self._redistribution,
            blob=files.put(b"".join(self._pickled), shared=False),
            items=tuple(borders),
        )

    def write_savepoint(self, files: NamedFiles, owner: Owner) -> OperatorStatePart | None:
        """Keep the items in a table that people can read, too; ``None`` when there are none."""
        if not self._pickled:
            return None
        meta = StateMeta(self._name, StateKind.LIST)
        return write_pickled_items(meta, self._redistribution, self._pickled, files, owner)


def thaw_items(
    name: str, parts: Sequence[OperatorStatePart], files: SavedFiles | None
) -> list[Any]:
    """The items of the system state ``name`` that ``parts`` give this subtask."""
    items: list[Any] = []
    for part in parts:
        if part.meta.name != name or not part.items:
            continue
        assert files is not None  # noqa: S101  (whoever restores has the files)
        if part.rows:
            items += read_items(part, files)
            continue
        data = files.read(part.blob)
        items += [pickle.loads(data[start:end]) for start, end in part.items]
    return items
