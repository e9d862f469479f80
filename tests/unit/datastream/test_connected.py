"""Connected streams: two inputs of one operator, their keys, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeySelector,
    ProcessFunction,
)
from riverrun.core.errors import ProgramError
from riverrun.datastream.connected import ConnectedStreams
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.partitioning import Forward, Hash, Rebalance
from riverrun.graph.pickling import check_picklable
from riverrun.graph.plan_json import execution_plan_json
from riverrun.graph.specs import CoFlatMapSpec, CoMapSpec, CoProcessSpec, KeyedCoProcessSpec
from riverrun.serde.types import Types


class Either(CoMapFunction):
    def map1(self, value: int) -> str:
        return str(value)

    def map2(self, value: str) -> str:
        return value


class Both(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[int]:
        yield value

    def flat_map2(self, value: str) -> None:
        pass


class Plain(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[int]:
        yield value

    def process_element2(self, value: str, ctx: CoProcessFunction.Context) -> Iterator[str]:
        yield value


class Keyed(KeyedCoProcessFunction):
    def process_element1(self, value: int, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield value

    def process_element2(self, value: str, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield value


def key1(value: int) -> int:
    return value % 3


def key2(value: str) -> int:
    return len(value)


def text_key(value: str) -> str:
    return value


class Length(KeySelector):
    def get_key(self, value: str) -> int:
        return len(value)


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(1, 9)


@pytest.fixture
def words(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(["a", "bb"], Types.STRING())


def edges_of(env: StreamExecutionEnvironment, name: str) -> list[tuple[int, Any]]:
    graph = env._program.compile().stream_graph
    node = next(node for node in graph.nodes if node.name == name)
    return [(edge.input_index, edge.partitioning) for edge in graph.in_edges(node.id)]


def test_each_kind_of_function_has_its_operator(numbers: DataStream, words: DataStream) -> None:
    connected = numbers.connect(words)
    keyed = connected.key_by(key1, key2)

    made = [
        (made.get_name(), type(made._operator("test").spec))
        for made in (
            connected.map(Either()),
            connected.flat_map(Both()),
            connected.process(Plain()),
            keyed.process(Keyed()),
            keyed.process(Plain()),
        )
    ]

    assert made == [
        ("Co-Map", CoMapSpec),
        ("Co-Flat Map", CoFlatMapSpec),
        ("Co-Process", CoProcessSpec),
        ("Co-Keyed-Process", KeyedCoProcessSpec),
        ("Co-Process", CoProcessSpec),
    ]


def test_keyed_inputs_are_partitioned_each_by_its_own_selector(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    made = numbers.connect(words).key_by(key1, Length(), Types.LONG()).process(Keyed())
    made.print()

    operator = made._operator("test")
    (_, first), (_, second) = edges_of(env, "Co-Keyed-Process")
    assert (first, operator.key_selector, operator.key_type) == (Hash(key1), key1, Types.LONG())
    assert isinstance(second, Hash)
    assert operator.second_key_selector is not None
    assert second.key_selector("four") == operator.second_key_selector("four") == 4
    check_picklable(env._program.compile().job_graph)


def test_streams_that_are_keyed_already_keep_their_keys(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    made = numbers.key_by(key1).connect(words.key_by(key2)).process(Keyed())
    made.print()

    operator = made._operator("test")
    assert (operator.key_selector, operator.second_key_selector) == (key1, key2)
    assert edges_of(env, "Co-Keyed-Process") == [(0, Hash(key1)), (1, Hash(key2))]


def test_keys_can_be_given_anew(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    connected = numbers.key_by(key1).connect(words.key_by(text_key))

    connected.key_by(key1, key2).process(Keyed()).print()

    assert edges_of(env, "Co-Keyed-Process") == [(0, Hash(key1)), (1, Hash(key2))]


def test_with_one_keyed_stream_the_operator_has_no_keys(
    numbers: DataStream, words: DataStream
) -> None:
    first = numbers.key_by(key1).connect(words).map(Either())._operator("test")
    second = numbers.connect(words.key_by(key2)).map(Either())._operator("test")

    for operator in (first, second):
        assert operator.key_selector is None
        assert operator.second_key_selector is None


def test_a_stream_can_be_connected_with_itself(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    numbers.map(key1).connect(numbers.map(key1)).process(Plain()).print()
    same = numbers.map(str)
    same.connect(same).flat_map(Both()).print()

    assert edges_of(env, "Co-Flat Map") == [(0, Forward()), (1, Forward())]
    check_picklable(env._program.compile().job_graph)


def test_inputs_may_have_any_parallelism_and_be_unions(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    some = numbers.map(key1).set_parallelism(3)
    united = words.union(words, env.from_collection(["c"], Types.STRING()))

    some.connect(united).process(Plain()).print()

    assert edges_of(env, "Co-Process") == [
        (0, Rebalance()),
        (1, Rebalance()),
        (1, Rebalance()),
        (1, Rebalance()),
    ]


def test_the_operator_heads_its_chain_and_the_plan_shows_both_inputs(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    numbers.connect(words).key_by(key1, key2).process(Keyed()).map(str).print()

    compiled = env._program.compile()
    vertex = compiled.job_graph.vertices[-1]
    assert vertex.name == "Co-Keyed-Process -> Map -> Sink: Print to Std. Out"
    nodes = json.loads(execution_plan_json(compiled.stream_graph))["nodes"]
    node = next(node for node in nodes if node["type"] == "Co-Keyed-Process")
    assert [(each["ship_strategy"], each["side"]) for each in node["predecessors"]] == [
        ("HASH", "first"),
        ("HASH", "second"),
    ]


def test_the_type_is_inferred_where_both_sides_agree(
    numbers: DataStream, words: DataStream
) -> None:
    connected = numbers.connect(words)

    assert connected.map(Either()).get_type() == Types.STRING()
    assert connected.flat_map(Both()).get_type() == Types.LONG()
    assert connected.process(Plain()).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert connected.process(Plain(), Types.STRING()).get_type() == Types.STRING()
    with pytest.raises(TypeError, match="expected one of Types"):
        connected.process(Plain(), str)  # type: ignore[arg-type]


def test_a_keyed_function_needs_keys_on_both_sides(numbers: DataStream, words: DataStream) -> None:
    cases = [
        (numbers.connect(words), "first and the second"),
        (numbers.key_by(key1).connect(words), "second"),
        (numbers.connect(words.key_by(key2)), "first"),
    ]
    for connected, which in cases:
        with pytest.raises(TypeError, match=f"no keys on the {which} stream; call key_by"):
            connected.process(Keyed())


class OneInput(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        pass


@pytest.mark.parametrize("func", [OneInput(), Keyed, len, Both()])
def test_functions_of_the_wrong_kind_are_refused(
    numbers: DataStream, words: DataStream, func: Any
) -> None:
    connected: ConnectedStreams[DataStream] = numbers.connect(words)

    with pytest.raises(TypeError, match=r"map: got .* expected a CoMapFunction object"):
        connected.map(func)
    with pytest.raises(TypeError, match="expected a CoProcessFunction or KeyedCoProcessFunction"):
        connected.process(func)
    with pytest.raises(TypeError, match="expected a CoFlatMapFunction object"):
        connected.flat_map(Either())  # type: ignore[arg-type]


def test_streams_of_different_environments_are_refused(numbers: DataStream, engine: object) -> None:
    with (
        StreamExecutionEnvironment.get_execution_environment() as other,
        pytest.raises(ProgramError, match="come from different environments"),
    ):
        numbers.connect(other.from_collection([1]))


def test_keys_of_different_types_are_refused(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    connected = numbers.key_by(key1).connect(words.key_by(text_key))

    with pytest.raises(ProgramError, match=r"type Types\.LONG\(\), the second of type Types\.STR"):
        connected.process(Keyed())

    env.from_sequence(1, 2).print()
    names = [node.name for node in env._program.compile().stream_graph.nodes]
    assert "Co-Keyed-Process" not in names
