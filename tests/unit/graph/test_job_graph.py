from __future__ import annotations

from typing import Any

import pytest

from riverrun.graph.operator_ids import id_from_uid
from riverrun.graph.partitioning import Broadcast, Forward, Hash, Rebalance, Rescale
from riverrun.graph.transformations import Chaining
from tests.unit.graph.conftest import (
    Program,
    partition,
    same,
    side,
    union,
    vertex_named,
    vertex_names,
)


def three_in_a_row(program: Program, **middle: Any) -> list[str]:
    stream = program.map("m", program.source("a"), **middle)
    program.sink("b", stream)
    return vertex_names(program.job_graph())


def test_operators_joined_by_forward_edges_become_one_vertex(program: Program) -> None:
    assert three_in_a_row(program) == ["Source: a -> m -> Sink: b"]
    assert program.job_graph().edges == ()


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        ({"chaining": Chaining.HEAD}, ["Source: a", "m -> Sink: b"]),
        ({"chaining": Chaining.NEVER}, ["Source: a", "m", "Sink: b"]),
        ({"parallelism": 2}, ["Source: a", "m", "Sink: b"]),
        ({"max_parallelism": 8}, ["Source: a", "m", "Sink: b"]),
        ({"slot_sharing_group": "g"}, ["Source: a", "m -> Sink: b"]),
    ],
    ids=["start_new_chain", "disable_chaining", "parallelism", "max_parallelism", "group"],
)
def test_what_breaks_a_chain(program: Program, middle: dict[str, Any], expected: list[str]) -> None:
    assert three_in_a_row(program, **middle) == expected


def test_chaining_can_be_switched_off_for_all() -> None:
    assert three_in_a_row(Program(chaining=False)) == ["Source: a", "m", "Sink: b"]


@pytest.mark.parametrize("partitioning", [Rebalance(), Rescale(), Broadcast(), Hash(same)])
def test_only_forward_edges_chain_even_at_parallelism_one(
    program: Program, partitioning: Rebalance
) -> None:
    program.map("m", partition(program.source("a"), partitioning))

    assert vertex_names(program.job_graph()) == ["Source: a", "m"]


def test_an_explicit_forward_chains_like_an_implied_one(program: Program) -> None:
    program.map("m", partition(program.source("a"), Forward()))

    assert vertex_names(program.job_graph()) == ["Source: a -> m"]


def test_an_operator_with_two_inputs_starts_a_chain(program: Program) -> None:
    joined = program.map("m", union(program.source("a"), program.source("b")))
    program.sink("c", joined)

    graph = program.job_graph()

    assert vertex_names(graph) == ["Source: a", "Source: b", "m -> Sink: c"]
    assert [edge.partitioning for edge in graph.edges] == [Forward(), Forward()]


def test_a_stream_united_with_itself_keeps_two_edges(program: Program) -> None:
    source = program.source("a")
    program.map("m", union(source, source))

    graph = program.job_graph()

    assert [edge.id for edge in graph.edges] == [0, 1]
    assert len({(edge.source, edge.target) for edge in graph.edges}) == 1


def test_a_chain_may_branch(program: Program) -> None:
    mapped = program.map("m", program.source("a"))
    kept = program.map("keep", mapped)
    program.sink("b", kept)
    program.sink("c", mapped)

    (vertex,) = program.job_graph().vertices

    assert vertex.name == "Source: a -> m -> (keep -> Sink: b, Sink: c)"
    assert [(operator.name, operator.parent) for operator in vertex.operators] == [
        ("Source: a", None),
        ("m", 0),
        ("keep", 1),
        ("Sink: b", 2),
        ("Sink: c", 1),
    ]


def test_a_chained_side_output_carries_its_tag(program: Program) -> None:
    process = program.map("p", program.source("a"))
    program.sink("main", process)
    program.sink("late", side(process, "late"))

    (vertex,) = program.job_graph().vertices

    assert [(operator.name, operator.parent, operator.tag) for operator in vertex.operators] == [
        ("Source: a", None, None),
        ("p", 0, None),
        ("Sink: main", 1, None),
        ("Sink: late", 1, "late"),
    ]


def test_a_side_output_that_is_not_chained_is_an_edge_of_its_operator(program: Program) -> None:
    process = program.map("p", program.source("a"), buffer_timeout_ms=3)
    program.map("between", process)
    program.sink("late", partition(side(process, "late"), Rebalance()))

    graph = program.job_graph()
    (edge,) = graph.edges

    assert graph.vertex(edge.source).operators[edge.source_operator].name == "p"
    assert (edge.tag, edge.partitioning, edge.buffer_timeout_ms) == ("late", Rebalance(), 3)
    assert graph.vertex(edge.target).name == "Sink: late"


def test_a_diamond_chains_its_arms_to_the_source_but_not_the_join(program: Program) -> None:
    source = program.source("a")
    left, right = program.map("left", source), program.map("right", source)
    program.sink("b", union(left, right))

    graph = program.job_graph()

    assert vertex_names(graph) == ["Source: a -> (left, right)", "Sink: b"]
    assert [edge.source_operator for edge in graph.edges] == [1, 2]


def test_parallelism_may_change_at_every_step(program: Program) -> None:
    stream = program.map("m", program.source("a", parallelism=1), parallelism=3)
    program.sink("b", stream, parallelism=2)

    graph = program.job_graph()

    assert [vertex.parallelism for vertex in graph.vertices] == [1, 3, 2]
    assert [edge.partitioning for edge in graph.edges] == [Rebalance(), Rebalance()]


def test_a_vertex_has_its_heads_id_and_operators_have_their_own(program: Program) -> None:
    program.map("m", program.source("a", uid="source"), uid="map")

    (vertex,) = program.job_graph().vertices

    assert vertex.id.value == id_from_uid("source")
    assert [operator.operator_id for operator in vertex.operators] == [
        id_from_uid("source"),
        id_from_uid("map"),
    ]
    assert [operator.uid for operator in vertex.operators] == ["source", "map"]


def test_a_keyed_operator_keeps_its_selector(program: Program) -> None:
    keyed = partition(program.source("a"), Hash(same))
    program.map("m", keyed, key_selector=same)

    head = vertex_named(program.job_graph(), "m").operators[0]

    assert head.key_selector is same


def test_edges_are_found_from_both_ends(program: Program) -> None:
    source = program.source("a", chaining=Chaining.NEVER)
    sinks = [program.sink(name, source) for name in ("x", "y", "z")]

    graph = program.job_graph()
    (start,) = (vertex for vertex in graph.vertices if not graph.in_edges(vertex.id))

    assert len(graph.out_edges(start.id)) == len(sinks)
    for edge in graph.edges:
        assert graph.edge(edge.id) is edge
        assert graph.in_edges(edge.target) == (edge,)


def test_two_hundred_operators_chain_into_one_vertex(program: Program) -> None:
    stream = program.source("a")
    for number in range(200):
        stream = program.map(str(number), stream)

    (vertex,) = program.job_graph().vertices

    assert len(vertex.operators) == 201
    assert [operator.parent for operator in vertex.operators] == [None, *range(200)]
    assert vertex.name.startswith("Source: a -> 0 -> 1 -> ")


def test_two_hundred_operators_stay_apart_without_chaining() -> None:
    program = Program(chaining=False)
    stream = program.source("a")
    for number in range(200):
        stream = program.map(str(number), stream)

    graph = program.job_graph()

    assert len(graph.vertices) == 201
    assert len(graph.edges) == 200
