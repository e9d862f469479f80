from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.core.ids import VertexId
from riverrun.graph.deployment import TaskDeployment
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.partitioning import Forward, Hash, Rebalance, Rescale
from riverrun.graph.reinterpreted_key import ReinterpretedKey
from riverrun.graph.rescaling import (
    RescaleFailed,
    RescaleRefused,
    has_same_parallelism,
    parallelism_of,
    rescaled,
    wanted,
)
from riverrun.graph.sealed import decode_graph, encode_graph
from riverrun.graph.transformations import Chaining
from tests.unit.graph.conftest import Program, deploy, partition, same, vertex_named


def spending() -> JobGraph:
    """Source (free) -> keyed sums (free, uid) -> report (set to 2) -> sink (only 1)."""
    program = Program()
    payments = program.source("payments", uid="in")
    sums = program.map("sums", partition(payments, Hash(same)), uid="sums", max_parallelism=8)
    report = program.map("report", partition(sums, Rebalance()), parallelism=2)
    program.sink("ledger", report, forced_parallelism=1)
    return program.job_graph()


def of(graph: JobGraph, name: str) -> int:
    return vertex_named(graph, name).parallelism


def change(graph: JobGraph, wish: int | dict[str, int]) -> JobGraph:
    return rescaled(graph, wanted(graph, wish))


def test_a_number_is_for_vertices_that_the_program_leaves_open() -> None:
    graph = change(spending(), 3)

    assert [vertex.parallelism for vertex in graph.vertices] == [3, 3, 2, 1]


def test_vertices_are_named_by_uid_operator_name_vertex_name_or_id() -> None:
    graph = spending()
    vertex = vertex_named(graph, "sums")

    for name in ("sums", vertex.id.value):
        assert of(change(graph, {name: 4}), "sums") == 4
    assert of(change(graph, {"payments": 4}), "Source: payments") == 4
    assert of(change(graph, {"in": 4}), "Source: payments") == 4
    assert of(change(graph, {"report": 4, "sums": 3}), "report") == 4


def test_ids_names_and_operators_stay() -> None:
    before = spending()
    after = change(before, 5)

    assert [(v.id, v.name, v.operators) for v in after.vertices] == [
        (v.id, v.name, v.operators) for v in before.vertices
    ]
    assert [(e.id, e.source, e.target, e.tag) for e in after.edges] == [
        (e.id, e.source, e.target, e.tag) for e in before.edges
    ]


def unchained(**options: Any) -> JobGraph:
    program = Program(2)
    source = program.source("a")
    program.map("b", source, chaining=Chaining.NEVER, **options)
    return program.job_graph()


def test_a_forward_edge_is_rescale_while_its_ends_differ_and_forward_again_after() -> None:
    graph = unchained()
    assert graph.edges[0].partitioning == Forward()

    apart = change(graph, {"b": 3})
    assert apart.edges[0].partitioning == Rescale()
    assert change(apart, {"b": 5}).edges[0].partitioning == Rescale()
    assert change(apart, {"a": 3}).edges[0].partitioning == Forward()
    assert change(graph, 7).edges[0].partitioning == Forward()


def test_an_edge_that_the_program_made_rescale_stays_rescale() -> None:
    program = Program(2)
    program.map("b", partition(program.source("a"), Rescale()))

    graph = change(change(program.job_graph(), {"b": 3}), {"b": 2})

    assert graph.edges[0].partitioning == Rescale()


def test_a_stream_that_was_reinterpreted_as_keyed_is_exchanged_by_key_while_its_ends_differ() -> (
    None
):
    graph = unchained(key_selector=ReinterpretedKey(same))

    assert graph.edges[0].partitioning == Forward()
    assert change(graph, {"b": 3}).edges[0].partitioning == Hash(same)
    assert change(graph, 3).edges[0].partitioning == Forward()


def test_a_reinterpreted_stream_inside_a_chain_cannot_be_torn_from_its_input() -> None:
    program = Program(2)
    head = program.map("head", program.source("a"), chaining=Chaining.HEAD)
    program.map("keyed", head, key_selector=ReinterpretedKey(same))
    graph = program.job_graph()

    with pytest.raises(RescaleRefused, match=r"'head -> keyed'.*'Source: a'.*rescale both alike"):
        change(graph, {"keyed": 3})
    assert of(change(graph, 3), "head -> keyed") == 3


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (0, r"'Source: payments': cannot be rescaled to 0: expected a whole number from 1 to 128"),
        ({"sums": True}, r"'sums'.*True: expected a whole number from 1 to 8"),
        ({"sums": 9}, r"'sums'.*9: its max parallelism is 8.*give at most 8, or start a new job"),
        (9, r"'sums'.*9: its max parallelism is 8"),
        ({"ledger": 2}, r"'Sink: ledger'.*can only run with parallelism 1; leave this vertex out"),
        ({"summs": 2}, r"'summs'.*no vertex or operator of this name; did you mean 'sums'\?"),
        ({"sums": 2, "in": 2, "payments": 3}, r"another name of this vertex comes with 2"),
    ],
    ids=["zero", "bool", "above-max", "all-above-max", "forced", "unknown", "two-numbers"],
)
def test_what_cannot_be_is_refused_with_the_way_out(
    wish: int | dict[str, int], message: str
) -> None:
    with pytest.raises(RescaleRefused, match=message):
        change(spending(), wish)


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(RescaleRefused, match="no vertex"):
        rescaled(spending(), {VertexId("nobody"): 2})


def test_a_name_that_several_vertices_have_is_refused_with_their_ids() -> None:
    program = Program()
    source = program.source("a")
    program.map("m", partition(source, Rebalance()))
    program.map("m", partition(source, Rebalance()))

    with pytest.raises(RescaleRefused, match="2 vertices have this name; give the id of one"):
        wanted(program.job_graph(), {"m": 2})


def test_a_number_is_refused_where_the_program_sets_everything() -> None:
    program = Program()
    program.source("a", parallelism=1)

    with pytest.raises(RescaleRefused, match=r"name those to be changed, as in"):
        wanted(program.job_graph(), 2)


def test_one_operator_with_its_own_parallelism_holds_its_whole_chain() -> None:
    program = Program()
    program.map("m", program.source("a"), parallelism=1)
    program.map("n", partition(program.transformations[1], Rebalance()))
    graph = change(program.job_graph(), 4)

    assert [vertex.parallelism for vertex in graph.vertices] == [1, 4]


def test_refusals_and_failures_pickle() -> None:
    for error in (RescaleRefused("v", 9, 8, "why"), RescaleFailed("job", "why")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_sealed_graph_is_rescaled_like_the_graph_itself() -> None:
    graph = decode_graph(encode_graph(unchained(key_selector=ReinterpretedKey(same))))

    assert change(graph, 3).edges[0].partitioning == Forward()
    assert isinstance(change(graph, {"b": 3}).edges[0].partitioning, Hash)


sizes = st.integers(1, 5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(sizes, sizes, sizes), min_size=1, max_size=4))
def test_there_and_back_is_the_graph_that_was_and_every_graph_can_be_deployed(
    steps: list[tuple[int, int, int]],
) -> None:
    program = Program(2)
    middle = program.map("m", program.source("a"), chaining=Chaining.NEVER)
    program.sink("s", middle, chaining=Chaining.HEAD)
    first = graph = program.job_graph()

    for numbers in steps:
        graph = change(graph, dict(zip(("a", "m", "s"), numbers, strict=True)))
        tasks = [task for layer in deploy(graph) for task in layer]
        sent = {
            (task.vertex, task.subtask, edge.edge, consumer)
            for task in tasks
            if isinstance(task, TaskDeployment)
            for edge in task.outputs
            for consumer in edge.consumers
        }
        read = {
            (graph.edge(edge.edge).source, producer, edge.edge, task.subtask)
            for task in tasks
            if isinstance(task, TaskDeployment)
            for edge in task.inputs
            for producer in edge.producers
        }
        assert sent == read
        assert sorted(parallelism_of(graph).values()) == sorted(numbers)

    back = change(graph, 2)
    assert back == first
    assert has_same_parallelism(back, first)
