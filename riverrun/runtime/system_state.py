"""Operator state of riverrun's own: source splits, committables, writers' state, calls. Pickled items."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any, Final

from riverrun.graph.pickling import dumps
from riverrun.protocol.snapshots import (
    OperatorStatePart,
    Redistribution,
    StateKind,
    StateMeta,
)
from riverrun.storage.snapshot_files import SavedFiles, SnapshotFiles

SPLITS: Final = "riverrun.splits"
COMMITTABLES: Final = "riverrun.committables"
WRITER: Final = "riverrun.writer"
CALLS: Final = "riverrun.calls"


class FrozenItems:
    """Items of one system state, pickled at the moment of the snapshot."""

    def __init__(self, name: str, items: Iterable[Any]) -> None:
        self._name = name
        self._pickled = [_pickled(item) for item in items]

    def write(self, files: SnapshotFiles) -> OperatorStatePart:
        """Keep the items; says where each one is."""
        borders: list[tuple[int, int]] = []
        position = 0
        for data in self._pickled:
            borders.append((position, position + len(data)))
            position += len(data)
        return OperatorStatePart(
            meta=StateMeta(self._name, StateKind.LIST),
            redistribution=Redistribution.SPLIT,
            blob=files.put(b"".join(self._pickled), shared=False),
            items=tuple(borders),
        )


def thaw_items(
    name: str, parts: Sequence[OperatorStatePart], files: SavedFiles | None
) -> list[Any]:
    """The items of the system state ``name`` that ``parts`` give this subtask."""
    items: list[Any] = []
    for part in parts:
        if part.meta.name != name or not part.items:
            continue
        assert files is not None  # noqa: S101  (whoever restores has the files)
        data = files.read(part.blob)
        items += [pickle.loads(data[start:end]) for start, end in part.items]
    return items


def _pickled(item: Any) -> bytes:
    try:
        return pickle.dumps(item, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return dumps(item)  # classes and functions of the program's own script
