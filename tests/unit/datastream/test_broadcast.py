"""Broadcast streams: two inputs of one operator, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    MapFunction,
)
from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.core.errors import ProgramError
from riverrun.core.ids import Attempt, JobId
from riverrun.datastream.broadcast import BroadcastStream
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.deploy import deployments
from riverrun.graph.deployment import TaskDeployment
from riverrun.graph.layers import plan_layers
from riverrun.graph.partitioning import Broadcast, Forward, Hash
from riverrun.graph.pickling import check_picklable
from riverrun.graph.specs import BroadcastProcessSpec, KeyedBroadcastProcessSpec
from riverrun.serde.types import Types

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Matching(BroadcastProcessFunction[int, str, str]):
    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        yield str(value)

    def process_broadcast_element(self, value: str, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value, 1)


class KeyedMatching(KeyedBroadcastProcessFunction[int, int, str, str]):
    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        yield str(value)

    def process_broadcast_element(self, value: str, ctx: Any) -> Iterator[int]:
        yield len(value)


def key_of(value: int) -> int:
    return value % 3


@pytest.fixture
def rules(env: StreamExecutionEnvironment) -> BroadcastStream:
    return env.from_collection(["a"]).broadcast(RULES)


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(1, 9)


def test_the_record_side_is_input_0_and_the_broadcast_side_input_1(
    env: StreamExecutionEnvironment, numbers: DataStream, rules: BroadcastStream
) -> None:
    numbers.map(key_of).connect(rules).process(Matching()).map(str).print()

    graph = env._program.compile().stream_graph
    node = next(node for node in graph.nodes if node.name == "Co-Process-Broadcast")
    first, second = graph.in_edges(node.id)
    assert isinstance(node.spec, BroadcastProcessSpec)
    assert node.spec.descriptors == (RULES,)
    assert (first.input_index, first.partitioning) == (0, Forward())
    assert (second.input_index, second.partitioning) == (1, Broadcast())
    assert node.key_selector is None


def test_an_operator_with_two_inputs_is_the_head_of_its_chain(
    env: StreamExecutionEnvironment, numbers: DataStream, rules: BroadcastStream
) -> None:
    numbers.connect(rules).process(Matching()).map(str).print()

    graph = env._program.compile().job_graph
    check_picklable(graph)
    vertex = graph.vertices[-1]
    assert vertex.name == "Co-Process-Broadcast -> Map -> Sink: Print to Std. Out"
    assert vertex.operators[0].parent is None
    assert [edge.input_index for edge in graph.in_edges(vertex.id)] == [0, 1]


def test_subtasks_can_tell_their_inputs_apart(
    env: StreamExecutionEnvironment, numbers: DataStream, rules: BroadcastStream
) -> None:
    numbers.key_by(key_of).connect(rules).process(KeyedMatching()).print()
    graph = env._program.compile().job_graph

    layers = deployments(
        graph, plan_layers(graph), job=JobId.random(), name="j", attempt=Attempt(0), config={}
    )

    for task in layers[-1]:
        assert isinstance(task, TaskDeployment)
        assert [(edge.input_index, len(edge.producers)) for edge in task.inputs] == [(0, 2), (1, 1)]


def test_on_a_keyed_stream_the_key_selector_is_that_of_the_records(
    env: StreamExecutionEnvironment, numbers: DataStream, rules: BroadcastStream
) -> None:
    numbers.key_by(key_of, Types.INT()).connect(rules).process(KeyedMatching()).print()

    graph = env._program.compile().job_graph
    vertex = graph.vertices[-1]
    [first, second] = graph.in_edges(vertex.id)
    operator = vertex.operators[0]
    assert isinstance(operator.spec, KeyedBroadcastProcessSpec)
    assert (operator.key_selector, operator.key_type) == (key_of, Types.INT())
    assert isinstance(first.partitioning, Hash)
    assert isinstance(second.partitioning, Broadcast)


def test_several_states_can_be_kept_of_one_stream(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    more = MapStateDescriptor("more")

    connected = numbers.connect(env.from_collection(["a"]).broadcast(RULES, more))

    spec = connected.process(Matching())._operator("test").spec
    assert isinstance(spec, BroadcastProcessSpec)
    assert spec.descriptors == (RULES, more)


def test_the_type_is_inferred_only_where_both_sides_agree(
    numbers: DataStream, rules: BroadcastStream
) -> None:
    keyed = numbers.key_by(key_of).connect(rules)

    assert numbers.connect(rules).process(Matching()).get_type() == Types.STRING()
    assert keyed.process(KeyedMatching()).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert keyed.process(KeyedMatching(), Types.INT()).get_type() == Types.INT()
    with pytest.raises(TypeError, match="expected one of Types"):
        keyed.process(KeyedMatching(), int)  # type: ignore[arg-type]


def test_without_states_broadcast_is_a_partitioning(numbers: DataStream) -> None:
    assert isinstance(numbers.broadcast(), DataStream)


def test_a_function_of_the_wrong_kind_is_refused(
    numbers: DataStream, rules: BroadcastStream
) -> None:
    with pytest.raises(TypeError, match="on a stream without keys; expected a BroadcastProcess"):
        numbers.connect(rules).process(KeyedMatching())
    with pytest.raises(TypeError, match="on a keyed stream; expected a KeyedBroadcastProcess"):
        numbers.key_by(key_of).connect(rules).process(Matching())


def test_only_streams_can_be_connected(numbers: DataStream) -> None:
    with pytest.raises(TypeError, match="expected a DataStream or a BroadcastStream"):
        numbers.connect([1, 2])  # type: ignore[call-overload]


def test_streams_of_different_environments_are_refused(
    rules: BroadcastStream, engine: object
) -> None:
    with (
        StreamExecutionEnvironment.get_execution_environment() as other,
        pytest.raises(ProgramError, match="come from different environments"),
    ):
        other.from_collection([1]).connect(rules)


def test_a_broadcast_state_is_a_map_with_a_name_of_its_own(numbers: DataStream) -> None:
    with pytest.raises(TypeError, match="expected MapStateDescriptors"):
        numbers.broadcast(ValueStateDescriptor("v"))  # type: ignore[call-overload]
    with pytest.raises(ProgramError, match="two descriptors have the name 'rules'"):
        numbers.broadcast(RULES, MapStateDescriptor("rules"))


def test_a_keyed_stream_is_not_broadcast(numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match="a keyed stream is partitioned by its key"):
        numbers.key_by(key_of).broadcast(RULES)


class Stateful(MapFunction):
    def map(self, value: int) -> int:
        return value


def test_every_operator_on_a_keyed_stream_knows_its_key_and_heads_its_chain(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    keyed = numbers.key_by(key_of, Types.INT())
    keyed.map(Stateful()).print()
    keyed.flat_map(lambda value: [value]).print()
    keyed.filter(bool).print()
    keyed.reduce(max).print()
    keyed.sum().print()

    graph = env._program.compile().job_graph

    heads = [vertex.operators[0] for vertex in graph.vertices[1:]]
    assert [head.name for head in heads] == ["Map", "FlatMap", "Filter", "Reduce", "Sum"]
    for vertex in graph.vertices[1:]:
        head, sink = vertex.operators
        assert (head.key_selector, head.key_type) == (key_of, Types.INT())
        assert sink.key_selector is None
        [edge] = graph.in_edges(vertex.id)
        assert isinstance(edge.partitioning, Hash)
