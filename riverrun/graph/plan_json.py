"""Graphs for people and tools to read: Flink's plan JSON, and text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from riverrun.graph.job_graph import JobEdge, JobGraph, JobVertex
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from riverrun.graph.specs import SinkSpec, SourceSpec
from riverrun.graph.stream_graph import StreamGraph, StreamNode

_SHIP_STRATEGIES: Final[Mapping[type[Partitioning], str]] = {
    Forward: "FORWARD",
    Hash: "HASH",
    Rebalance: "REBALANCE",
    Rescale: "RESCALE",
    Shuffle: "SHUFFLE",
    Broadcast: "BROADCAST",
    Global: "GLOBAL",
    Custom: "CUSTOM",
}


def ship_strategy(partitioning: Partitioning) -> str:
    """Flink's word for the partitioning.

    >>> ship_strategy(Rebalance())
    'REBALANCE'
    """
    return _SHIP_STRATEGIES[type(partitioning)]


def execution_plan_json(graph: StreamGraph, chained: JobGraph | None = None) -> str:
    """The plan in the form that Flink's plan visualizer reads; with ``chained`` also its vertices."""
    plan = {"nodes": [_node(graph, node) for node in graph.nodes]}
    if chained is not None:
        plan["vertices"] = [_vertex(chained, vertex) for vertex in chained.vertices]
    return json.dumps(plan, indent=2)


def job_graph_text(graph: JobGraph) -> str:
    """The job graph as text: a line for each vertex, and below it where its records come from."""
    lines = []
    for vertex in graph.vertices:
        group = vertex.slot_sharing_group
        lines.append(f"{vertex.id.value[:8]} {vertex.name} x{vertex.parallelism} [{group}]")
        lines += [f"  <- {_edge_text(graph, edge)}" for edge in graph.in_edges(vertex.id)]
    return "\n".join(lines)


def _node(graph: StreamGraph, node: StreamNode) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": _pact(node),
        "contents": node.description,
        "parallelism": node.parallelism,
    }
    predecessors = [
        {
            "id": edge.source,
            "ship_strategy": ship_strategy(edge.partitioning),
            "side": "second" if position else "first",
            **_side_output(edge.tag),
        }
        for position, edge in enumerate(graph.in_edges(node.id))
    ]
    return entry | {"predecessors": predecessors} if predecessors else entry


def _vertex(graph: JobGraph, vertex: JobVertex) -> dict[str, Any]:
    return {
        "id": vertex.id.value,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "operators": [
            {"name": each.name, "parent": each.parent, **_side_output(each.tag)}
            for each in vertex.operators
        ],
        "inputs": [
            {
                "id": edge.source.value,
                "ship_strategy": ship_strategy(edge.partitioning),
                **_side_output(edge.tag),
            }
            for edge in graph.in_edges(vertex.id)
        ],
    }


def _side_output(tag: str | None) -> dict[str, str]:
    return {} if tag is None else {"side_output": tag}


def _pact(node: StreamNode) -> str:
    match node.spec:
        case SourceSpec():
            return "Data Source"
        case SinkSpec():
            return "Data Sink"
        case _:
            return "Operator"


def _edge_text(graph: JobGraph, edge: JobEdge) -> str:
    operator = graph.vertex(edge.source).operators[edge.source_operator]
    side = f" (side output {edge.tag!r})" if edge.tag is not None else ""
    port = f" into input {edge.input_index}" if edge.input_index else ""
    strategy = ship_strategy(edge.partitioning)
    return f"edge {edge.id}: {strategy} from {edge.source.value[:8]} {operator.name}{side}{port}"
