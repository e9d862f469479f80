"""Which files a snapshot refers to, and the same snapshot with its files at other places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import msgspec

from riverrun.protocol.snapshots import OperatorSnapshot, SubtaskSnapshot, TaskRestore
from riverrun.storage.blobs import Blob, FileRef

Relocate: TypeAlias = Callable[[str], str]
"""From the path of a file to the path it shall have."""

_NO_FILES: Final = "memory://empty"


def files_of(snapshot: SubtaskSnapshot) -> Iterator[FileRef]:
    """Every file that ``snapshot`` refers to, in its order; a file that is named twice comes twice."""
    return (blob for blob in _blobs_of(snapshot) if isinstance(blob, FileRef))


def restored_files(restore: TaskRestore) -> Iterator[FileRef]:
    """Every file that a subtask starts from."""
    for operator in restore.operators.values():
        blobs = [part.blob for keyed in operator.keyed for part in keyed.parts]
        blobs += [part.blob for part in operator.lists]
        yield from (blob for blob in blobs if isinstance(blob, FileRef))
    yield from (each.blob for each in restore.channels if isinstance(each.blob, FileRef))


def restored_location(restore: TaskRestore) -> str:
    """A location in the store that holds what a subtask starts from.

    The checkpoint may be another job's, in another store than that of the subtask's own checkpoints.
    All its files are in one store; where there are none, any store will do.
    """
    return next((file.path for file in restored_files(restore)), _NO_FILES)


def relocated(snapshot: SubtaskSnapshot, relocate: Relocate) -> SubtaskSnapshot:
    """The same snapshot, with the path of every file passed through ``relocate``."""
    return msgspec.structs.replace(
        snapshot,
        operators=tuple(_operator_at(operator, relocate) for operator in snapshot.operators),
        channels=tuple(
            msgspec.structs.replace(channel, blob=_blob_at(channel.blob, relocate))
            for channel in snapshot.channels
        ),
    )


def _blobs_of(subtask: SubtaskSnapshot) -> Iterator[Blob]:
    for operator in subtask.operators:
        if operator.keyed is not None:
            yield from (part.blob for part in operator.keyed.parts)
        yield from (part.blob for part in operator.lists)
    yield from (channel.blob for channel in subtask.channels)


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
