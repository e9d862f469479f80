"""The program as it will run: operators fused into vertices, one task per vertex and subtask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from riverrun.core.ids import EdgeId, VertexId
from riverrun.graph.deployment import ChainedOperator
from riverrun.graph.operator_ids import operator_ids
from riverrun.graph.partitioning import Forward, Hash, Partitioning, Rescale
from riverrun.graph.reinterpreted_key import ReinterpretedKey
from riverrun.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from riverrun.graph.transformations import Chaining
from riverrun.serde.type_info import TypeInformation


@dataclass(frozen=True, slots=True)
class JobVertex:
    """A chain of operators that run together; the first is its head, parents come before children."""

    id: VertexId
    """The operator id of the head."""
    name: str
    operators: tuple[ChainedOperator, ...]
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    parallelism_set: bool = False
    """Whether the program sets the parallelism of one of the operators itself."""
    forced_parallelism: int | None = None
    """The only parallelism at which the vertex can run."""


@dataclass(frozen=True, slots=True)
class JobEdge:
    """A connection from one operator of ``source`` to the head of ``target``."""

    id: EdgeId
    source: VertexId
    source_operator: int
    """Position of the operator in the source vertex's chain."""
    target: VertexId
    partitioning: Partitioning
    tag: str | None
    input_index: int
    type_info: TypeInformation | None
    buffer_timeout_ms: int
    unequal: Partitioning | None = None
    """What stands in for Forward while the two vertices differ in parallelism.

    ``None`` for every other edge, and for a Forward edge whose ends must not differ.
    """
    takes_columns: bool = True
    """Whether the head of ``target`` would rather have columns than records."""


@dataclass(frozen=True)
class JobGraph:
    """Vertices in an order in which inputs come first; ``edges[i].id`` is ``i``."""

    vertices: tuple[JobVertex, ...]
    edges: tuple[JobEdge, ...]

    def vertex(self, vertex_id: VertexId) -> JobVertex:
        """The vertex with this id."""
        return self._by_id[vertex_id]

    def edge(self, edge_id: EdgeId) -> JobEdge:
        """The edge with this id."""
        return self.edges[edge_id]

    def in_edges(self, vertex_id: VertexId) -> tuple[JobEdge, ...]:
        """The edges that end in the vertex, in input order."""
        return tuple(self._in_edges[vertex_id])

    def out_edges(self, vertex_id: VertexId) -> tuple[JobEdge, ...]:
        """The edges that start in the vertex."""
        return tuple(self._out_edges[vertex_id])

    @cached_property
    def _by_id(self) -> Mapping[VertexId, JobVertex]:
        return {vertex.id: vertex for vertex in self.vertices}

    @cached_property
    def _in_edges(self) -> Mapping[VertexId, list[JobEdge]]:
        ends: dict[VertexId, list[JobEdge]] = {vertex.id: [] for vertex in self.vertices}
        for edge in self.edges:
            ends[edge.target].append(edge)
        return ends

    @cached_property
    def _out_edges(self) -> Mapping[VertexId, list[JobEdge]]:
        starts: dict[VertexId, list[JobEdge]] = {vertex.id: [] for vertex in self.vertices}
        for edge in self.edges:
            starts[edge.source].append(edge)
        return starts


def build_job_graph(graph: StreamGraph) -> JobGraph:
    """Fuse what may be fused.

    Raises:
        ProgramError: two operators get the same id.
    """
    ids = operator_ids(graph)
    fused = {edge.target: edge for edge in graph.edges if is_chainable(graph, edge)}
    chains = [_Chain(graph, node, fused) for node in graph.nodes if node.id not in fused]
    home = {
        node.id: (VertexId(ids[chain.head.id]), position)
        for chain in chains
        for position, node in enumerate(chain.nodes)
    }
    chain_of = {node.id: chain for chain in chains for node in chain.nodes}
    loose = [edge for edge in graph.edges if edge.target not in fused]
    return JobGraph(
        vertices=tuple(chain.vertex(ids) for chain in chains),
        edges=tuple(
            JobEdge(
                id=EdgeId(number),
                source=home[edge.source][0],
                source_operator=home[edge.source][1],
                target=home[edge.target][0],
                partitioning=edge.partitioning,
                tag=edge.tag,
                input_index=edge.input_index,
                type_info=edge.type_info,
                buffer_timeout_ms=graph.node(edge.source).buffer_timeout_ms,
                unequal=_unequal(edge, chain_of[edge.target]),
                takes_columns=edge.takes_columns,
            )
            for number, edge in enumerate(loose)
        ),
    )


def is_chainable(graph: StreamGraph, edge: StreamEdge) -> bool:
    """Whether the edge's two operators may run in one task, without a channel between them."""
    source, target = graph.node(edge.source), graph.node(edge.target)
    return (
        graph.chaining
        and len(graph.in_edges(target.id)) == 1
        and isinstance(edge.partitioning, Forward)
        and source.parallelism == target.parallelism
        and source.max_parallelism == target.max_parallelism
        and source.slot_sharing_group == target.slot_sharing_group
        and target.chaining is Chaining.ALWAYS
        and source.chaining is not Chaining.NEVER
    )


def _unequal(edge: StreamEdge, target: _Chain) -> Partitioning | None:
    if not isinstance(edge.partitioning, Forward):
        return None
    selectors = (target.head.key_selector, target.head.second_key_selector)
    selector = selectors[min(edge.input_index, 1)]
    if isinstance(selector, ReinterpretedKey):
        # Nothing was exchanged because the records are where their keys belong; they no longer are.
        return Hash(selector.select)
    later = (node.key_selector for node in target.nodes[1:])
    return None if any(isinstance(each, ReinterpretedKey) for each in later) else Rescale()


class _Chain:
    """A head and everything that is fused to it, depth first."""

    def __init__(
        self, graph: StreamGraph, head: StreamNode, fused: Mapping[int, StreamEdge]
    ) -> None:
        self.head = head
        self.nodes: list[StreamNode] = []
        self._fused = fused
        self._children: dict[int, list[StreamNode]] = {}
        stack = [head]
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            children = [
                graph.node(edge.target) for edge in graph.out_edges(node.id) if edge.target in fused
            ]
            self._children[node.id] = children
            stack.extend(reversed(children))

    def vertex(self, ids: Mapping[int, str]) -> JobVertex:
        head = self.head
        return JobVertex(
            id=VertexId(ids[head.id]),
            name=self._name(),
            operators=self._operators(ids),
            parallelism=head.parallelism,
            max_parallelism=head.max_parallelism,
            slot_sharing_group=head.slot_sharing_group,
            parallelism_set=any(node.parallelism_set for node in self.nodes),
            forced_parallelism=next(
                (n for n in (node.forced_parallelism for node in self.nodes) if n is not None), None
            ),
        )

    def _operators(self, ids: Mapping[int, str]) -> tuple[ChainedOperator, ...]:
        positions = {node.id: position for position, node in enumerate(self.nodes)}
        operators = []
        for node in self.nodes:
            edge = None if node is self.head else self._fused[node.id]
            operators.append(
                ChainedOperator(
                    operator_id=ids[node.id],
                    name=node.name,
                    uid=node.uid,
                    spec=node.spec,
                    parent=positions[edge.source] if edge else None,
                    tag=edge.tag if edge else None,
                    input_index=edge.input_index if edge else 0,
                    key_selector=node.key_selector,
                    second_key_selector=node.second_key_selector,
                    key_type=node.key_type,
                    output_type=node.output_type,
                    enforce_type=node.enforce_type,
                )
            )
        return tuple(operators)

    def _name(self) -> str:
        names: dict[int, str] = {}
        # Children stand behind their parents, so their names are complete when a parent's is made.
        for node in reversed(self.nodes):
            names[node.id] = _joined(node.name, [names[c.id] for c in self._children[node.id]])
        return names[self.head.id]


def _joined(name: str, children: Sequence[str]) -> str:
    match children:
        case []:
            return name
        case [child]:
            return f"{name} -> {child}"
        case _:
            return f"{name} -> ({', '.join(children)})"
