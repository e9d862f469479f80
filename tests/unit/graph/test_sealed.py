from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from riverrun.api.watermark_strategy import WatermarkAlignment, WatermarkStrategy
from riverrun.core.time import Duration
from riverrun.graph.deployment import ChainedOperator, TaskDeployment
from riverrun.graph.partitioning import Custom, Hash, Rebalance
from riverrun.graph.pickling import dumps, loads
from riverrun.graph.sealed import (
    MalformedGraph,
    OperatorKind,
    Sealed,
    SealedOperator,
    alignment_of,
    decode_graph,
    encode_graph,
    kind_of,
)
from riverrun.graph.specs import MapSpec, SourceSpec
from tests.unit.graph.conftest import NoSource, Program, deploy, partition, same


class Untouchable:
    """Raises wherever it is unpickled outside of a worker."""

    opened = False

    def __call__(self, value: Any, _: int = 0) -> Any:
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, ()


def _open() -> Untouchable:
    if not Untouchable.opened:
        raise AssertionError("the user's object was touched")
    return Untouchable()


def keyed_program() -> Program:
    program = Program()
    source = program.source("a", parallelism=2)
    program.sink("b", partition(source, Hash(Untouchable())), parallelism=3)
    program.sink("c", partition(source, Custom(Untouchable(), same)))
    program.sink("d", partition(source, Rebalance()), uid="d")
    return program


def test_a_sealed_graph_is_read_without_touching_the_users_objects() -> None:
    graph = keyed_program().job_graph()

    sealed = decode_graph(encode_graph(graph))

    assert [v.name for v in sealed.vertices] == [v.name for v in graph.vertices]
    assert [v.id for v in sealed.vertices] == [v.id for v in graph.vertices]
    assert [v.parallelism for v in sealed.vertices] == [v.parallelism for v in graph.vertices]
    assert [type(e.partitioning) for e in sealed.edges] == [
        type(e.partitioning) for e in graph.edges
    ]
    assert [e.takes_columns for e in sealed.edges] == [False, False, False]
    assert kind_of(sealed.vertices[0].operators[0]) is OperatorKind.SOURCE
    assert kind_of(sealed.vertices[-1].operators[-1]) is OperatorKind.SINK


def test_a_worker_unpickles_the_objects_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = decode_graph(encode_graph(keyed_program().job_graph()))
    sent = dumps(deploy(sealed))
    monkeypatch.setattr(Untouchable, "opened", True)

    tasks = [task for layer in loads(sent) for task in layer if isinstance(task, TaskDeployment)]

    assert all(type(operator) is ChainedOperator for task in tasks for operator in task.operators)
    edges = [edge for task in tasks for edge in task.outputs]
    assert {type(edge.partitioning) for edge in edges} == {Hash, Custom, Rebalance}
    hashes = [edge.partitioning for edge in edges if isinstance(edge.partitioning, Hash)]
    assert all(isinstance(each.key_selector, Untouchable) for each in hashes)


def test_sealing_twice_is_sealing_once() -> None:
    data = encode_graph(keyed_program().job_graph())

    assert encode_graph(decode_graph(data)) == data


def test_alignment_of_a_source_stays_readable() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
        "group", Duration.of_seconds(2)
    )
    operator = ChainedOperator("0" * 32, "s", None, SourceSpec(NoSource(), strategy))
    graph = Program()
    graph.source("s")
    vertex = replace(graph.job_graph().vertices[0], operators=(operator,))
    sealed = decode_graph(encode_graph(replace(graph.job_graph(), vertices=(vertex,))))

    found = alignment_of(sealed.vertices[0].operators[0])

    assert found == WatermarkAlignment("group", 2000)
    assert alignment_of(operator) == found
    assert alignment_of(ChainedOperator("1" * 32, "m", None, MapSpec(same))) is None


def test_what_is_no_graph_is_refused_in_words() -> None:
    with pytest.raises(MalformedGraph, match="expected what a riverrun client sends, got 3 bytes"):
        decode_graph(b"abc")


def test_a_sealed_object_is_pickled_as_what_it_holds() -> None:
    assert pickle.loads(pickle.dumps(Sealed(dumps([1, 2])))) == [1, 2]
    assert SealedOperator.__mro__[1] is ChainedOperator
