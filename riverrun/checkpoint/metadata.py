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
    shape: str = ""
    """What it keeps on its own account (``riverrun.graph.operator_shapes``)."""


class EdgeInfo(msgspec.Struct, frozen=True):
    """An edge as it was: what the ``edge`` of a ``ChannelSnapshot`` stands for."""

    edge: int
    source: str
    """The vertex it starts in."""
    source_operator: str
    """Id of the operator whose output it carries."""
    target: str
    """The vertex it ends in, which is the id of that vertex's first operator too."""
    partitioning: str
    """Name of the kind, such as ``Hash``."""
    tag: str | None = None
    input_index: int = 0


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
    edges: tuple[EdgeInfo, ...] = ()
