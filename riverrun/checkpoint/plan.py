"""What the coordinator must know of a job's graph: its subtasks, and who sends to whom."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from riverrun.checkpoint.metadata import EdgeInfo, OperatorInfo, VertexInfo
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.graph.connections import producers_of
from riverrun.graph.job_graph import JobEdge, JobGraph, JobVertex
from riverrun.graph.sealed import discovers_splits, shape_of_operator


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """The graph of one job as checkpoints see it; relays, which have no state, are not in it."""

    job: str
    job_name: str
    vertices: tuple[VertexInfo, ...]
    edges: tuple[EdgeInfo, ...]
    producers: Mapping[SubtaskId, tuple[SubtaskId, ...]]
    """For each subtask of the job those that have a channel to it."""
    riverrun_version: str = ""
    enumerators: frozenset[SubtaskId] = frozenset()
    """The subtasks whose tasks have the enumerator of a source."""

    @staticmethod
    def of(
        graph: JobGraph, job: str, job_name: str, *, riverrun_version: str = ""
    ) -> CheckpointPlan:
        """The plan of ``graph``."""
        return CheckpointPlan(
            job,
            job_name,
            tuple(_vertex_info(vertex) for vertex in graph.vertices),
            tuple(edge_info(graph, edge) for edge in graph.edges),
            channels_to(graph),
            riverrun_version,
            frozenset(
                SubtaskId(vertex.id, 0)
                for vertex in graph.vertices
                if vertex.operators and discovers_splits(vertex.operators[0])
            ),
        )

    @property
    def subtasks(self) -> tuple[SubtaskId, ...]:
        """Every subtask, vertex by vertex."""
        return tuple(self.producers)

    def enumerators_among(self, running: Collection[SubtaskId]) -> tuple[SubtaskId, ...]:
        """Those of ``running`` that have an enumerator."""
        return tuple(task for task in running if task in self.enumerators)

    def heads(self, running: Collection[SubtaskId]) -> tuple[SubtaskId, ...]:
        """Those of ``running`` that no barrier will come to: nobody who runs sends to them."""
        alive = set(running)
        return tuple(
            task
            for task in self.producers
            if task in alive and not alive & set(self.producers[task])
        )


def channels_to(graph: JobGraph) -> dict[SubtaskId, tuple[SubtaskId, ...]]:
    """For each subtask of the graph those that have a channel to it, vertex by vertex."""
    return {
        SubtaskId(vertex.id, index): tuple(
            SubtaskId(edge.source, producer)
            for edge in graph.in_edges(vertex.id)
            for producer in producers_of(
                edge.partitioning, index, graph.vertex(edge.source).parallelism, vertex.parallelism
            )
        )
        for vertex in graph.vertices
        for index in range(vertex.parallelism)
    }


def edge_info(graph: JobGraph, edge: JobEdge) -> EdgeInfo:
    """The edge as a checkpoint keeps it."""
    return EdgeInfo(
        edge=edge.id,
        source=edge.source.value,
        source_operator=graph.vertex(edge.source).operators[edge.source_operator].operator_id,
        target=edge.target.value,
        partitioning=type(edge.partitioning).__name__,
        tag=edge.tag,
        input_index=edge.input_index,
    )


def subtask_id(vertex: str, subtask: int) -> SubtaskId:
    """The subtask that a snapshot's two fields name."""
    return SubtaskId(VertexId(vertex), subtask)


def _vertex_info(vertex: JobVertex) -> VertexInfo:
    return VertexInfo(
        vertex=vertex.id.value,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        operators=tuple(
            OperatorInfo(
                operator.operator_id, operator.name, operator.uid, shape_of_operator(operator)
            )
            for operator in vertex.operators
        ),
    )
