"""Where each subtask stands in the Spark job: a straight chain of layers.

A pipelined exchange has one consumer, so the job is layer 0, exchange, layer 1, exchange, ... A
vertex stands in the layer that is its longest path from a source. One Spark stage hosts a layer;
partition ``i`` of the stage is slot ``i`` of the layer. An edge that skips layers is carried by a
relay in each layer between.

A channel (edge, producer, consumer) has exactly one path, so frames cannot overtake each other:
producer ``p`` of an edge with ``n`` relays per layer always goes through relay ``p % n``. Edges that
leave the same vertex share relays: a producer that waits for one of its outputs waits with all of
them anyway, so sharing slows nothing down and saves slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from riverrun.core.ids import EdgeId, VertexId
from riverrun.graph.job_graph import JobEdge, JobGraph


@dataclass(frozen=True, slots=True)
class PlannedSubtask:
    """A place for one subtask of a vertex."""

    vertex: VertexId
    subtask: int


@dataclass(frozen=True, slots=True)
class PlannedRelay:
    """A place for a subtask that carries frames of ``source``'s edges to the layer after."""

    source: VertexId
    index: int
    edges: tuple[EdgeId, ...]


Slot: TypeAlias = PlannedSubtask | PlannedRelay


@dataclass(frozen=True, slots=True)
class Layer:
    """What one Spark stage hosts; a slot's position is its partition."""

    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class LayerPlan:
    """The layers of a job, from the sources down."""

    graph: JobGraph
    layers: tuple[Layer, ...]

    @property
    def subtask_count(self) -> int:
        """How many Spark task slots the job needs: all its subtasks and relays run at once."""
        return sum(len(layer.slots) for layer in self.layers)

    @property
    def slots_needed(self) -> int:
        """How many slots Flink would need: per slot sharing group the largest parallelism."""
        largest: dict[str, int] = {}
        for vertex in self.graph.vertices:
            group = vertex.slot_sharing_group
            largest[group] = max(largest.get(group, 0), vertex.parallelism)
        return sum(largest.values())

    def layer_of(self, vertex: VertexId) -> int:
        """The layer in which the vertex stands."""
        return self._places[vertex, 0][0]

    def partition_of(self, vertex: VertexId, subtask: int) -> int:
        """The partition of its layer that hosts the subtask."""
        return self._places[vertex, subtask][1]

    def hop(self, edge: JobEdge, producer: int, consumer: int, layer: int) -> int:
        """The partition of ``layer`` that frames of this channel pass through, or end in."""
        if layer == self.layer_of(edge.target):
            return self.partition_of(edge.target, consumer)
        return self._relays[layer, edge.source, producer % relays_of(self.graph, edge)]

    def path(self, edge: JobEdge, producer: int, consumer: int) -> tuple[int, ...]:
        """The partition in each layer from the producer's to the consumer's."""
        first, last = self.layer_of(edge.source), self.layer_of(edge.target)
        return (
            self.partition_of(edge.source, producer),
            *(self.hop(edge, producer, consumer, layer) for layer in range(first + 1, last + 1)),
        )

    def describe(self) -> str:
        """The plan as text, one line for each run of partitions of the same kind."""
        lines = [f"{self.subtask_count} Spark task slots, {self.slots_needed} slots"]
        for number, layer in enumerate(self.layers):
            lines.append(f"layer {number}")
            placed = enumerate(layer.slots)
            for name, run in groupby(placed, key=lambda place: self._slot_name(place[1])):
                partitions = [partition for partition, _ in run]
                lines.append(f"  {_span(partitions)}: {name}")
        return "\n".join(lines)

    def _slot_name(self, slot: Slot) -> str:
        match slot:
            case PlannedSubtask(vertex):
                return self.graph.vertex(vertex).name
            case PlannedRelay(source, _, edges):
                carried = ", ".join(str(edge) for edge in edges)
                return f"relay of {self.graph.vertex(source).name} (edges {carried})"

    @cached_property
    def _places(self) -> Mapping[tuple[VertexId, int], tuple[int, int]]:
        return {
            (slot.vertex, slot.subtask): (number, partition)
            for number, layer in enumerate(self.layers)
            for partition, slot in enumerate(layer.slots)
            if isinstance(slot, PlannedSubtask)
        }

    @cached_property
    def _relays(self) -> Mapping[tuple[int, VertexId, int], int]:
        return {
            (number, slot.source, slot.index): partition
            for number, layer in enumerate(self.layers)
            for partition, slot in enumerate(layer.slots)
            if isinstance(slot, PlannedRelay)
        }


def plan_layers(graph: JobGraph) -> LayerPlan:
    """Place every subtask and the relays between them."""
    depth = _depths(graph)
    return LayerPlan(
        graph,
        tuple(
            Layer((*_subtasks(graph, depth, number), *_relays(graph, depth, number)))
            for number in range(max(depth.values(), default=-1) + 1)
        ),
    )


def slots_needed(graph: JobGraph) -> int:
    """How many Spark task slots a job of this graph needs."""
    return plan_layers(graph).subtask_count


def relays_of(graph: JobGraph, edge: JobEdge) -> int:
    """How many relays carry the edge through each layer that it skips."""
    return min(graph.vertex(edge.source).parallelism, graph.vertex(edge.target).parallelism)


def _depths(graph: JobGraph) -> Mapping[VertexId, int]:
    depth: dict[VertexId, int] = {}
    for vertex in graph.vertices:  # inputs come first
        above = (depth[edge.source] for edge in graph.in_edges(vertex.id))
        depth[vertex.id] = max(above, default=-1) + 1
    return depth


def _subtasks(
    graph: JobGraph, depth: Mapping[VertexId, int], layer: int
) -> Iterator[PlannedSubtask]:
    for vertex in graph.vertices:
        if depth[vertex.id] == layer:
            for subtask in range(vertex.parallelism):
                yield PlannedSubtask(vertex.id, subtask)


def _relays(graph: JobGraph, depth: Mapping[VertexId, int], layer: int) -> Iterator[PlannedRelay]:
    for vertex in graph.vertices:
        carried = [
            (edge.id, relays_of(graph, edge))
            for edge in graph.out_edges(vertex.id)
            if depth[vertex.id] < layer < depth[edge.target]
        ]
        for index in range(max((relays for _, relays in carried), default=0)):
            edges = tuple(edge for edge, relays in carried if index < relays)
            yield PlannedRelay(vertex.id, index, edges)


def _span(partitions: list[int]) -> str:
    first, last = partitions[0], partitions[-1]
    return str(first) if first == last else f"{first}-{last}"
