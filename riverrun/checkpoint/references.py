"""Which files a checkpoint refers to, and the same checkpoint with its files at other places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

import msgspec

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.protocol.snapshots import OperatorSnapshot, SubtaskSnapshot
from riverrun.storage.blobs import Blob, FileRef

Relocate: TypeAlias = Callable[[str], str]
"""From the path of a file to the path it shall have."""

_Snapshot = TypeVar("_Snapshot", CheckpointMetadata, SubtaskSnapshot)


def files_of(snapshot: CheckpointMetadata | SubtaskSnapshot) -> Iterator[FileRef]:
    """Every file that ``snapshot`` refers to, in its order; a file that is named twice comes twice."""
    for blob in _blobs_of(snapshot):
        if isinstance(blob, FileRef):
            yield blob


def relocated(snapshot: _Snapshot, relocate: Relocate) -> _Snapshot:
    """The same snapshot, with the path of every file passed through ``relocate``."""
    if isinstance(snapshot, CheckpointMetadata):
        subtasks = tuple(_subtask_at(subtask, relocate) for subtask in snapshot.subtasks)
        return msgspec.structs.replace(snapshot, subtasks=subtasks)
    return _subtask_at(snapshot, relocate)


def _blobs_of(snapshot: CheckpointMetadata | SubtaskSnapshot) -> Iterator[Blob]:
    if isinstance(snapshot, CheckpointMetadata):
        subtasks: Iterable[SubtaskSnapshot] = snapshot.subtasks
    else:
        subtasks = (snapshot,)
    for subtask in subtasks:
        for operator in subtask.operators:
            if operator.keyed is not None:
                yield from (part.blob for part in operator.keyed.parts)
            yield from (part.blob for part in operator.lists)
        yield from (channel.blob for channel in subtask.channels)


def _subtask_at(subtask: SubtaskSnapshot, relocate: Relocate) -> SubtaskSnapshot:
    return msgspec.structs.replace(
        subtask,
        operators=tuple(_operator_at(operator, relocate) for operator in subtask.operators),
        channels=tuple(
            msgspec.structs.replace(channel, blob=_blob_at(channel.blob, relocate))
            for channel in subtask.channels
        ),
    )


def _operator_at(operator: OperatorSnapshot, relocate: Relocate) -> OperatorSnapshot:
    keyed = operator.keyed
    if keyed is not None:
        parts = tuple(
            msgspec.structs.replace(part, blob=_blob_at(part.blob, relocate))
            for part in keyed.parts
        )
        keyed = msgspec.structs.replace(keyed, parts=parts)
    lists = tuple(
        msgspec.structs.replace(part, blob=_blob_at(part.blob, relocate)) for part in operator.lists
    )
    return msgspec.structs.replace(operator, keyed=keyed, lists=lists)


def _blob_at(blob: Blob, relocate: Relocate) -> Blob:
    if isinstance(blob, FileRef):
        return msgspec.structs.replace(blob, path=relocate(blob.path))
    return blob
