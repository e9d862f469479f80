"""Which files a checkpoint refers to, and the same checkpoint with its files at other places."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.protocol import references as subtask_references
from riverrun.protocol.references import Relocate
from riverrun.protocol.snapshots import SubtaskSnapshot
from riverrun.storage.blobs import FileRef


def files_of(snapshot: CheckpointMetadata | SubtaskSnapshot) -> Iterator[FileRef]:
    """Every file that ``snapshot`` refers to, in its order; a file that is named twice comes twice."""
    subtasks = snapshot.subtasks if isinstance(snapshot, CheckpointMetadata) else (snapshot,)
    for subtask in subtasks:
        yield from subtask_references.files_of(subtask)


def relocated(metadata: CheckpointMetadata, relocate: Relocate) -> CheckpointMetadata:
    """The same checkpoint, with the path of every file passed through ``relocate``."""
    subtasks = (subtask_references.relocated(each, relocate) for each in metadata.subtasks)
    return msgspec.structs.replace(metadata, subtasks=tuple(subtasks))
