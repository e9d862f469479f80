"""Window aggregates on columns in two phases: partial aggregates where the records are, whole ones at their key.

What travels between the two is one row for each key of a run instead of a record each. The first phase is
an operator of its own in front of the exchange, part of the task that makes the records; where it could not
be, because chaining is off there, nothing changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from riverrun.api.columns import ColumnKey, Field, column_key
from riverrun.api.partial_aggregates import PartialRows, partial_rows
from riverrun.graph.column_specs import ColumnWindowSpec, LocalAggregateSpec
from riverrun.graph.operator_ids import operator_ids
from riverrun.graph.partitioning import Forward, Hash, Partitioning
from riverrun.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from riverrun.graph.transformations import Chaining
from riverrun.serde.columns import layout_of

_NAME = "LocalAggregate"


def in_two_phases(graph: StreamGraph, *, always: bool) -> StreamGraph:
    """The same program with a first phase in front of each window that can have one.

    Operators keep the ids that they have without it, so that state is found again either way.

    Args:
        graph: the program.
        always: whether records are added up even if hardly any two of a run have the same key.
    """
    found = {node.id: split for node in graph.nodes if (split := _split(graph, node)) is not None}
    if not found:
        return graph
    ids = operator_ids(graph)
    fresh = count(max(node.id for node in graph.nodes) + 1)
    nodes: list[StreamNode] = []
    edges = [edge for edge in graph.edges if edge.target not in found]
    for node in graph.nodes:
        named = replace(node, uid_hash=ids[node.id])
        split = found.get(node.id)
        if split is None:
            nodes.append(named)
            continue
        for number, edge in enumerate(graph.in_edges(node.id)):
            before = graph.node(edge.source)
            local = _local(before, named, number, next(fresh), split, always=always)
            nodes.append(local)
            edges.append(replace(edge, target=local.id, partitioning=Forward()))
            edges.append(_onward(edge, local, split))
        selector = ColumnKey(_fields(split.key)).get_key if split.key else node.key_selector
        spec = replace(_spec(node), partial_key=split.key)
        nodes.append(replace(named, spec=spec, key_selector=selector))
    return replace(graph, nodes=tuple(nodes), edges=tuple(edges))


def _split(graph: StreamGraph, node: StreamNode) -> PartialRows | None:
    """What would travel between two phases; None if there cannot be two, or not with the same results."""
    spec = node.spec
    if not isinstance(spec, ColumnWindowSpec) or not spec.assigner.is_event_time():
        return None
    if spec.allowed_lateness_ms or spec.late_tag is not None:
        return None  # a late record has a result of its own, or goes its own way
    layout = layout_of(spec.input_type)
    key: tuple[int, ...] = ()
    if spec.keyed:
        columns = column_key(node.key_selector)
        if columns is None or layout is None:
            return None
        key = tuple(columns.positions(layout))
    edges = graph.in_edges(node.id)
    if layout is None or not all(_leaves_its_task(graph, edge) for edge in edges):
        return None
    return partial_rows(spec.aggregates, layout, key)


def _leaves_its_task(graph: StreamGraph, edge: StreamEdge) -> bool:
    """Whether there is a way to save, and a task that can do it."""
    return (
        not isinstance(edge.partitioning, Forward)
        and graph.chaining
        and graph.node(edge.source).chaining is not Chaining.NEVER
    )


def _local(
    before: StreamNode,
    window: StreamNode,
    number: int,
    node_id: int,
    split: PartialRows,
    *,
    always: bool,
) -> StreamNode:
    spec = _spec(window)
    digest = hashlib.md5(f"local\0{window.uid_hash}\0{number}".encode(), usedforsecurity=False)
    return replace(
        before,
        id=node_id,
        name=_NAME,
        spec=LocalAggregateSpec(
            spec.aggregates, spec.input_type, spec.assigner, split.key, window.name, always
        ),
        uid=None,
        uid_hash=digest.hexdigest(),
        description=f"{_NAME}: what the records of a run come to, for {window.description}",
        chaining=Chaining.ALWAYS,
        output_type=split.type_info,
        enforce_type=False,
        type_declared=True,
        key_selector=None,
        second_key_selector=None,
        key_type=None,
    )


def _onward(edge: StreamEdge, local: StreamNode, split: PartialRows) -> StreamEdge:
    partitioning: Partitioning = edge.partitioning
    if isinstance(partitioning, Hash):
        partitioning = Hash(ColumnKey(_fields(split.key)).get_key)
    return replace(
        edge, source=local.id, partitioning=partitioning, tag=None, type_info=split.type_info
    )


def _fields(key: Sequence[int]) -> tuple[Field, ...]:
    """The columns of the key in partial aggregates: the first ones."""
    return tuple(Field(f"f{place}", place) for place in range(len(key)))


def _spec(node: StreamNode) -> ColumnWindowSpec:
    assert isinstance(node.spec, ColumnWindowSpec)  # noqa: S101  (found to be one)
    return node.spec
