from __future__ import annotations

import json

import pytest

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
from riverrun.graph.plan_json import execution_plan_json, job_graph_text, ship_strategy
from tests.unit.graph.conftest import Program, partition, same, side, union


def test_the_plan_has_flinks_shape() -> None:
    program = Program(parallelism=2)
    a, b = program.source("a", forced_parallelism=1), program.source("b")
    mapped = program.map("m", partition(union(a, b), Hash(same)), description="the map")
    program.sink("c", mapped)

    assert json.loads(execution_plan_json(program.stream_graph())) == {
        "nodes": [
            {
                "id": 1,
                "type": "Source: a",
                "pact": "Data Source",
                "contents": "Source: a",
                "parallelism": 1,
            },
            {
                "id": 2,
                "type": "Source: b",
                "pact": "Data Source",
                "contents": "Source: b",
                "parallelism": 2,
            },
            {
                "id": 3,
                "type": "m",
                "pact": "Operator",
                "contents": "the map",
                "parallelism": 2,
                "predecessors": [
                    {"id": 1, "ship_strategy": "HASH", "side": "first"},
                    {"id": 2, "ship_strategy": "HASH", "side": "second"},
                ],
            },
            {
                "id": 4,
                "type": "Sink: c",
                "pact": "Data Sink",
                "contents": "Sink: c",
                "parallelism": 2,
                "predecessors": [{"id": 3, "ship_strategy": "FORWARD", "side": "first"}],
            },
        ]
    }


@pytest.mark.parametrize(
    ("partitioning", "word"),
    [
        (Forward(), "FORWARD"),
        (Hash(same), "HASH"),
        (Rebalance(), "REBALANCE"),
        (Rescale(), "RESCALE"),
        (Shuffle(), "SHUFFLE"),
        (Broadcast(), "BROADCAST"),
        (Global(), "GLOBAL"),
        (Custom(lambda key, _consumers: int(key), same), "CUSTOM"),
    ],
)
def test_every_partitioning_has_flinks_word(partitioning: Partitioning, word: str) -> None:
    assert ship_strategy(partitioning) == word


def test_a_job_graph_can_be_printed(program: Program) -> None:
    process = program.map("p", program.source("a", uid="a"))
    program.sink("b", partition(side(process, "late"), Rebalance()), uid="b", parallelism=2)

    assert job_graph_text(program.job_graph()).splitlines() == [
        "0cc175b9 Source: a -> p x1 [default]",
        "92eb5ffe Sink: b x2 [default]",
        "  <- edge 0: REBALANCE from 0cc175b9 p (side output 'late')",
    ]


def test_a_plan_names_the_side_outputs_that_are_read(program: Program) -> None:
    process = program.map("p", program.source("a", uid="a"))
    program.sink("b", side(process, "late"), uid="b")

    sink = json.loads(execution_plan_json(program.stream_graph()))["nodes"][-1]

    assert [each["side_output"] for each in sink["predecessors"]] == ["late"]


def test_a_plan_can_have_the_vertices_that_operators_are_chained_in(program: Program) -> None:
    process = program.map("p", program.source("a", uid="a"))
    program.map("odd", side(process, "odd"))
    program.sink("b", partition(side(process, "late"), Rebalance()), uid="b", parallelism=2)

    plan = execution_plan_json(program.stream_graph(), program.job_graph())
    head, sink = json.loads(plan)["vertices"]

    assert (head["name"], head["parallelism"], head["inputs"]) == ("Source: a -> p -> odd", 1, [])
    assert head["operators"] == [
        {"name": "Source: a", "parent": None},
        {"name": "p", "parent": 0},
        {"name": "odd", "parent": 1, "side_output": "odd"},
    ]
    assert sink["inputs"] == [
        {"id": head["id"], "ship_strategy": "REBALANCE", "side_output": "late"}
    ]
