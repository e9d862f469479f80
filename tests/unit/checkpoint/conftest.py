"""Graphs and snapshots for the tests of checkpoint decisions, without a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from riverrun.checkpoint.coordinator_events import AttemptRunning
from riverrun.core.ids import EdgeId, VertexId
from riverrun.graph.deployment import ChainedOperator
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
from riverrun.graph.specs import MapSpec
from tests.unit.checkpoint.coordinator_bench import Bench, Make

PARTITIONINGS: Mapping[str, Partitioning] = {
    "forward": Forward(),
    "hash": Hash(len),
    "rebalance": Rebalance(),
    "rescale": Rescale(),
    "shuffle": Shuffle(),
    "broadcast": Broadcast(),
    "global": Global(),
    "custom": Custom(lambda key, count: key % count, len),
}


def _same(value: Any) -> Any:
    return value


def _vertex(chain: str, parallelism: int, max_parallelism: int) -> JobVertex:
    names = chain.split("->")
    operators = tuple(
        ChainedOperator(
            name, name.upper(), f"uid-{name}", MapSpec(_same), place - 1 if place else None
        )
        for place, name in enumerate(names)
    )
    return JobVertex(VertexId(names[0]), chain, operators, parallelism, max_parallelism, "default")


def _graph(vertices: Mapping[str, int], edges: str = "", *, max_parallelism: int = 128) -> JobGraph:
    made = [_vertex(chain, number, max_parallelism) for chain, number in vertices.items()]
    return JobGraph(
        tuple(made), tuple(_edge(number, text, made) for number, text in enumerate(edges.split()))
    )


def _edge(number: int, text: str, vertices: list[JobVertex]) -> JobEdge:
    ends, _, kind = text.partition(":")
    source, target = ends.split(">")
    home, position = next(
        (vertex, position)
        for vertex in vertices
        for position, operator in enumerate(vertex.operators)
        if operator.operator_id == source
    )
    return JobEdge(
        id=EdgeId(number),
        source=home.id,
        source_operator=position,
        target=VertexId(target),
        partitioning=PARTITIONINGS[kind or "rebalance"],
        tag=None,
        input_index=0,
        type_info=None,
        buffer_timeout_ms=10,
    )


@pytest.fixture
def make_graph() -> Callable[..., JobGraph]:
    """``make_graph({"a->b": 2, "c": 3}, "b>c:hash")``: chains with their parallelism, and edges.

    An operator's id is its name in the text, its name that in capitals, its uid has ``uid-`` before it.
    """
    return _graph


@pytest.fixture
def make(make_graph: Callable[..., JobGraph]) -> Make:
    def made(before: Any = (), **settings: Any) -> Bench:
        return Bench(make_graph({"a": 2, "b": 1}, "a>b"), before, **settings)

    return made


@pytest.fixture
def running(make: Make) -> Make:
    def made(**settings: Any) -> Bench:
        bench = make(**settings)
        assert bench.feed(AttemptRunning(), at=0) == []
        return bench

    return made
