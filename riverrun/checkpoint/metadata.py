"""A checkpoint as plain data: what `_metadata` holds."""

from __future__ import annotations

import msgspec

from riverrun.protocol.snapshots import FORMAT_VERSION, SubtaskSnapshot


class VertexInfo(msgspec.Struct, frozen=True):
    """A vertex as it was when the checkpoint was taken."""

    vertex: str
    name: str
    parallelism: int
    max_parallelism: int
    operators: tuple[OperatorInfo, ...]


class OperatorInfo(msgspec.Struct, frozen=True):
    """An operator of a vertex, in chain order."""

    operator_id: str
    name: str
    uid: str | None


class CheckpointMetadata(msgspec.Struct, frozen=True):
    """A complete checkpoint: everything that is needed to go on from it."""

    checkpoint: int
    job: str
    job_name: str
    timestamp_ms: int
    vertices: tuple[VertexInfo, ...]
    subtasks: tuple[SubtaskSnapshot, ...]
    format_version: int = FORMAT_VERSION
    savepoint: bool = False
    riverrun_version: str = ""
