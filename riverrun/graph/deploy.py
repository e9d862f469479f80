"""From the plan to what each subtask needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from riverrun.core.ids import Attempt, EdgeId, JobId, SubtaskId
from riverrun.graph.connections import consumers_of, producers_of
from riverrun.graph.deployment import (
    Deployment,
    InEdge,
    OutEdge,
    RelayDeployment,
    TaskDeployment,
)
from riverrun.graph.job_graph import JobEdge, JobGraph
from riverrun.graph.layers import (
    LayerPlan,
    PlannedRelay,
    PlannedSubtask,
    Slot,
    plan_layers,
    relays_of,
)
from riverrun.graph.partitioning import Broadcast
from riverrun.protocol.snapshots import TaskRestore

_FROM_NOTHING: Final[Mapping[SubtaskId, TaskRestore]] = MappingProxyType({})


def deployments(  # noqa: PLR0913  (the facts of an attempt, each by its name)
    graph: JobGraph,
    plan: LayerPlan | None = None,
    *,
    job: JobId,
    name: str,
    attempt: Attempt,
    config: Mapping[str, str],
    restore: Mapping[SubtaskId, TaskRestore] = _FROM_NOTHING,
    checkpoint_folder: str | None = None,
) -> tuple[tuple[Deployment, ...], ...]:
    """What to run: one tuple per layer, in which the index is the partition.

    ``restore`` says what subtasks start from; one that it leaves out starts from nothing. ``plan`` is
    that of ``graph``, if it is known.
    """
    plan = plan or plan_layers(graph)
    writer = _Writer(graph, plan, job, name, attempt, config, restore, checkpoint_folder)
    return tuple(
        tuple(
            writer.deployment(slot, number, partition) for partition, slot in enumerate(layer.slots)
        )
        for number, layer in enumerate(plan.layers)
    )


@dataclass(frozen=True, slots=True)
class _Writer:
    graph: JobGraph
    plan: LayerPlan
    job: JobId
    name: str
    attempt: Attempt
    config: Mapping[str, str]
    restore: Mapping[SubtaskId, TaskRestore]
    checkpoint_folder: str | None

    def deployment(self, slot: Slot, layer: int, partition: int) -> Deployment:
        match slot:
            case PlannedSubtask():
                return self._task(slot, layer, partition)
            case PlannedRelay():
                return self._relay(slot, layer, partition)

    def _task(self, slot: PlannedSubtask, layer: int, partition: int) -> TaskDeployment:
        vertex = self.graph.vertex(slot.vertex)
        return TaskDeployment(
            job=self.job,
            job_name=self.name,
            attempt=self.attempt,
            vertex=vertex.id,
            name=vertex.name,
            subtask=slot.subtask,
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
            layer=layer,
            partition=partition,
            operators=vertex.operators,
            inputs=tuple(self._in(edge, slot) for edge in self.graph.in_edges(vertex.id)),
            outputs=tuple(self._out(edge, slot, layer) for edge in self.graph.out_edges(vertex.id)),
            config=self.config,
            restore=self.restore.get(SubtaskId(vertex.id, slot.subtask)),
            checkpoint_folder=self.checkpoint_folder,
        )

    def _in(self, edge: JobEdge, slot: PlannedSubtask) -> InEdge:
        producers, consumers = self._sizes(edge)
        return InEdge(
            edge=edge.id,
            producers=producers_of(edge.partitioning, slot.subtask, producers, consumers),
            input_index=edge.input_index,
            type_info=edge.type_info,
            partitioning=edge.partitioning,
        )

    def _out(self, edge: JobEdge, slot: PlannedSubtask, layer: int) -> OutEdge:
        consumers = self._consumers(edge, slot.subtask)
        target = self.graph.vertex(edge.target)
        return OutEdge(
            edge=edge.id,
            operator=edge.source_operator,
            tag=edge.tag,
            partitioning=edge.partitioning,
            consumers=consumers,
            consumer_parallelism=target.parallelism,
            max_parallelism=target.max_parallelism,
            targets={c: self.plan.hop(edge, slot.subtask, c, layer + 1) for c in consumers},
            type_info=edge.type_info,
            takes_columns=edge.takes_columns,
            beside=self._beside(edge),
            buffer_timeout_ms=edge.buffer_timeout_ms,
            target_name=target.operators[0].name,
        )

    def _beside(self, edge: JobEdge) -> tuple[EdgeId, ...]:
        # A broadcast has one buffer for all consumers: it would leave for all of them whenever one has a full frame.
        return tuple(
            other.id
            for other in self.graph.out_edges(edge.source)
            if other.target == edge.target
            and other.input_index != edge.input_index
            and not isinstance(other.partitioning, Broadcast)
        )

    def _relay(self, slot: PlannedRelay, layer: int, partition: int) -> RelayDeployment:
        return RelayDeployment(
            job=self.job,
            job_name=self.name,
            attempt=self.attempt,
            name=f"Relay: {self.graph.vertex(slot.source).name}",
            subtask=slot.index,
            layer=layer,
            partition=partition,
            targets={edge: self._relay_targets(edge, slot, layer) for edge in slot.edges},
            config=self.config,
        )

    def _relay_targets(self, edge_id: EdgeId, slot: PlannedRelay, layer: int) -> Mapping[int, int]:
        edge = self.graph.edge(edge_id)
        producers, _ = self._sizes(edge)
        # Whichever of its producers a frame comes from, a relay sends it on by its consumer alone.
        return {
            consumer: self.plan.hop(edge, producer, consumer, layer + 1)
            for producer in range(slot.index, producers, relays_of(self.graph, edge))
            for consumer in self._consumers(edge, producer)
        }

    def _consumers(self, edge: JobEdge, producer: int) -> tuple[int, ...]:
        producers, consumers = self._sizes(edge)
        return consumers_of(edge.partitioning, producer, producers, consumers)

    def _sizes(self, edge: JobEdge) -> tuple[int, int]:
        return (
            self.graph.vertex(edge.source).parallelism,
            self.graph.vertex(edge.target).parallelism,
        )
