"""Where the elements that an unaligned checkpoint found in flight go: back to where they were.

Edges are found again by what they connect, since their numbers may have changed. An edge that is gone
or has other subtasks at its ends is refused: its elements cannot be handed to others yet.
"""

from __future__ import annotations

import msgspec

from riverrun.checkpoint.metadata import CheckpointMetadata, EdgeInfo, VertexInfo
from riverrun.checkpoint.plan import edge_info, subtask_id
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.graph.job_graph import JobGraph
from riverrun.protocol.snapshots import ChannelSnapshot


def assign_channels(
    metadata: CheckpointMetadata, graph: JobGraph
) -> dict[SubtaskId, tuple[ChannelSnapshot, ...]]:
    """The channel state of each subtask that has any, with the numbers that ``graph`` gives its edges.

    Raises:
        RestoreRefused: there are elements of an edge that the graph does not have as it was.
    """
    now = {_identity(info): info for info in (edge_info(graph, edge) for edge in graph.edges)}
    numbers = {
        was.edge: _number_now(metadata, was, now.get(_identity(was)), graph)
        for was in metadata.edges
        if was.edge in _edges_in_use(metadata)
    }
    assigned = {}
    for snapshot in metadata.subtasks:
        if snapshot.channels:
            assigned[subtask_id(snapshot.vertex, snapshot.subtask)] = tuple(
                msgspec.structs.replace(channel, edge=_known(metadata, numbers, channel.edge))
                for channel in snapshot.channels
            )
    return assigned


def _edges_in_use(metadata: CheckpointMetadata) -> set[int]:
    return {channel.edge for subtask in metadata.subtasks for channel in subtask.channels}


def _identity(edge: EdgeInfo) -> tuple[str, str, str | None, int]:
    return edge.source_operator, edge.target, edge.tag, edge.input_index


def _number_now(
    metadata: CheckpointMetadata, was: EdgeInfo, now: EdgeInfo | None, graph: JobGraph
) -> int:
    vertices = {vertex.vertex: vertex for vertex in metadata.vertices}
    source, target = vertices[was.source], vertices[was.target]
    edge = f"the edge from {source.name!r} to {target.name!r}"
    if now is None:
        raise _refused(metadata, f"{edge}, which the program does not have")
    if now.partitioning != was.partitioning:
        raise _refused(metadata, f"{edge}, which was {was.partitioning} and is {now.partitioning}")
    for vertex, name in ((source, now.source), (target, now.target)):
        change = _change(vertex, name, graph)
        if change is not None:
            raise _refused(metadata, f"{edge}, and the {change}")
    return now.edge


def _change(was: VertexInfo, name: str, graph: JobGraph) -> str | None:
    now = graph.vertex(VertexId(name))
    if now.parallelism != was.parallelism:
        return f"parallelism of {was.name!r} was {was.parallelism} and is {now.parallelism}"
    if now.max_parallelism != was.max_parallelism:
        return f"max parallelism of {was.name!r} was {was.max_parallelism} and is {now.max_parallelism}"
    return None


def _known(metadata: CheckpointMetadata, numbers: dict[int, int], edge: int) -> int:
    if edge not in numbers:
        raise _refused(metadata, f"edge {edge}, which is not in its list of edges")
    return numbers[edge]


def _refused(metadata: CheckpointMetadata, what: str) -> RestoreRefused:
    return RestoreRefused(
        f"checkpoint {metadata.checkpoint} of job {metadata.job_name!r}: holds elements in flight on {what}; "
        f"restore it with the program as it was and take an aligned checkpoint or a savepoint, which "
        f"holds none, then change the program"
    )
