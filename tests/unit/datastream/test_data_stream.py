"""Streams: what each call adds to the program, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from riverrun.api.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from riverrun.api.output_tag import OutputTag
from riverrun.connectors.discard import DiscardingSink
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream, KeyedStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.slot_sharing_group import SlotSharingGroup
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Rebalance,
    Rescale,
    Shuffle,
)
from riverrun.graph.specs import KeyedProcessSpec, MapSpec, ProcessSpec, ReduceSpec, SinkSpec
from riverrun.graph.transformations import Chaining, PartitionTransformation, Transformation
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.unit.datastream.conftest import FakeEngine


def operator_of(stream: DataStream) -> Transformation:
    return stream._operator("test")


@dataclass
class Order:
    customer: str
    amount: int


class Doubling(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Words(FlatMapFunction):
    def flat_map(self, value: str) -> Iterator[str]:
        yield from value.split()


class Positive(FilterFunction):
    def filter(self, value: int) -> bool:
        return value > 0


class First(KeySelector):
    def get_key(self, value: tuple[str, int]) -> str:
        return value[0]


class Modulo(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Longest(ReduceFunction):
    def reduce(self, value1: str, value2: str) -> str:
        return max(value1, value2, key=len)


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[int]:
        yield value


class Keyed(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        yield str(value)


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3], Types.LONG())


@pytest.fixture
def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.LONG()]))


def test_types_come_from_annotations_of_functions_and_function_objects(numbers: DataStream) -> None:
    def order(amount: int) -> Order:
        return Order("x", amount)

    def characters(value: int) -> list[str]:
        return list(str(value))

    assert numbers.map(Doubling()).get_type() == Types.LONG()
    assert numbers.map(order).get_type() != Types.PICKLED_BYTE_ARRAY()
    assert numbers.flat_map(characters).get_type() == Types.STRING()
    assert numbers.flat_map(Words()).get_type() == Types.STRING()
    assert numbers.process(Split()).get_type() == Types.LONG()
    assert numbers.key_by(lambda v: v).process(Keyed()).get_type() == Types.STRING()


def test_an_explicit_type_wins(numbers: DataStream) -> None:
    stream = numbers.map(Doubling(), output_type=Types.INT())

    assert stream.get_type() == Types.INT()
    assert operator_of(stream).output_type == Types.INT()


def test_values_of_unknown_type_travel_pickled(numbers: DataStream) -> None:
    stream = numbers.map(lambda v: v)

    assert stream.get_type() == Types.PICKLED_BYTE_ARRAY()
    assert operator_of(stream).output_type is None


def test_filters_and_partitionings_keep_the_type(numbers: DataStream) -> None:
    assert numbers.filter(Positive()).get_type() == Types.LONG()
    assert numbers.rebalance().get_type() == Types.LONG()
    assert numbers.key_by(lambda v: v).reduce(lambda a, b: a + b).get_type() == Types.LONG()


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("map", (3,)),
        ("map", (Positive(),)),
        ("map", (Doubling,)),
        ("flat_map", (Doubling(),)),
        ("filter", ("x",)),
        ("key_by", (0,)),
        ("process", (lambda v: v,)),
        ("process", (Keyed(),)),
        ("partition_custom", (3, lambda v: v)),
        ("partition_custom", (Modulo(), 3)),
        ("sink_to", (print,)),
        ("add_sink", (DiscardingSink(),)),
        ("add_sink", (SinkFunction,)),
        ("get_side_output", ("late",)),
        ("union", ([1],)),
    ],
)
def test_a_wrong_kind_of_function_is_a_type_error(
    numbers: DataStream, method: str, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(TypeError, match=r"expected|instead|instance|key_by"):
        getattr(numbers, method)(*arguments)


def test_a_class_in_place_of_its_instance_is_explained(numbers: DataStream) -> None:
    with pytest.raises(TypeError, match=r"pass an instance of it: Doubling\(\.\.\.\)"):
        numbers.map(Doubling)  # type: ignore[arg-type]


def test_an_output_type_that_was_not_called_is_explained(numbers: DataStream) -> None:
    with pytest.raises(TypeError, match=r"map: the type is .* such as Types\.INT\(\)"):
        numbers.map(str, Types.STRING)  # type: ignore[arg-type]


def test_settings_land_on_the_operator(numbers: DataStream) -> None:
    stream = (
        numbers.map(str)
        .name("to text")
        .uid("text")
        .set_uid_hash("A" * 32)
        .set_parallelism(3)
        .set_max_parallelism(12)
        .set_buffer_timeout(5)
        .set_description("turns numbers into text")
        .slot_sharing_group(SlotSharingGroup.builder("texts").build())
        .start_new_chain()
    )

    operator = operator_of(stream)
    assert stream.get_name() == "to text"
    assert (operator.name, operator.uid, operator.uid_hash) == ("to text", "text", "a" * 32)
    assert (operator.parallelism, operator.max_parallelism) == (3, 12)
    assert (operator.buffer_timeout_ms, operator.slot_sharing_group) == (5, "texts")
    assert operator.description == "turns numbers into text"
    assert operator.chaining is Chaining.HEAD
    assert operator_of(stream.disable_chaining()).chaining is Chaining.NEVER
    assert operator_of(stream.force_non_parallel()).forced_parallelism == 1


@pytest.mark.parametrize("parallelism", [0, -1, 1.5, True])
def test_a_parallelism_is_a_whole_number_from_one(numbers: DataStream, parallelism: Any) -> None:
    with pytest.raises(ValueError, match="expected a whole number of at least 1"):
        numbers.map(str).set_parallelism(parallelism)


def test_streams_that_are_no_operators_refuse_settings(numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match="name: this stream is a partitioning"):
        numbers.rebalance().name("x")
    with pytest.raises(ProgramError, match="uid: this stream is a union"):
        numbers.union(numbers).uid("x")
    with pytest.raises(ProgramError, match="set_parallelism: this stream is a side output"):
        numbers.get_side_output(OutputTag("t")).set_parallelism(2)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("shuffle", Shuffle),
        ("rebalance", Rebalance),
        ("rescale", Rescale),
        ("forward", Forward),
        ("broadcast", Broadcast),
        ("global_", Global),
        ("global", Global),
    ],
)
def test_partitionings_are_one_call_each(numbers: DataStream, method: str, kind: type) -> None:
    upstream = getattr(numbers, method)()._upstream

    assert isinstance(upstream, PartitionTransformation)
    assert isinstance(upstream.partitioning, kind)


def test_a_custom_partitioning_holds_bare_callables(numbers: DataStream) -> None:
    upstream = numbers.partition_custom(Modulo(), First())._upstream

    assert isinstance(upstream, PartitionTransformation)
    assert isinstance(upstream.partitioning, Custom)
    assert upstream.partitioning.partition(7, 4) == 3
    assert upstream.partitioning.key_selector(("k", 1)) == "k"


def test_operators_of_a_keyed_stream_know_the_key(pairs: DataStream) -> None:
    keyed = pairs.key_by(First())
    streams = [
        keyed.map(str),
        keyed.flat_map(list),
        keyed.filter(bool),
        keyed.reduce(Longest()),
        keyed.process(Keyed()),
        keyed.sum(1),
    ]

    for stream in streams:
        operator = operator_of(stream)
        assert operator.key_selector is not None
        assert operator.key_selector(("k", 1)) == "k"
        assert operator.key_type == Types.STRING()
        [partitioned] = operator.inputs
        assert isinstance(partitioned, PartitionTransformation)
        assert isinstance(partitioned.partitioning, Hash)
    assert keyed.get_key_type() == Types.STRING()


def test_an_explicit_key_type_wins(pairs: DataStream) -> None:
    assert pairs.key_by(First(), Types.CHAR()).get_key_type() == Types.CHAR()


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("shuffle", ()),
        ("rebalance", ()),
        ("rescale", ()),
        ("forward", ()),
        ("broadcast", ()),
        ("global_", ()),
        ("global", ()),
        ("partition_custom", (Modulo(), First())),
    ],
)
def test_a_keyed_stream_keeps_its_partitioning(
    pairs: DataStream, method: str, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(ProgramError, match="partitioned by its key"):
        getattr(pairs.key_by(First()), method)(*arguments)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("name", ("x",)),
        ("get_name", ()),
        ("uid", ("x",)),
        ("set_uid_hash", ("0" * 32,)),
        ("set_parallelism", (1,)),
        ("set_max_parallelism", (1,)),
        ("force_non_parallel", ()),
        ("set_buffer_timeout", (1,)),
        ("set_description", ("x",)),
        ("start_new_chain", ()),
        ("disable_chaining", ()),
        ("slot_sharing_group", ("x",)),
    ],
)
def test_a_keyed_stream_is_not_an_operator(
    pairs: DataStream, method: str, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(ProgramError, match=f"{method}: not supported on a keyed stream"):
        getattr(pairs.key_by(First()), method)(*arguments)


def test_a_keyed_stream_takes_keyed_process_functions_only(pairs: DataStream) -> None:
    keyed = pairs.key_by(First())

    assert isinstance(operator_of(keyed.process(Keyed())).spec, KeyedProcessSpec)
    with pytest.raises(TypeError, match="expected a KeyedProcessFunction"):
        keyed.process(Split())  # type: ignore[arg-type]
    assert isinstance(operator_of(pairs.process(Split())).spec, ProcessSpec)


@pytest.mark.parametrize(
    ("method", "name"),
    [("sum", "Sum"), ("min", "Min"), ("max", "Max"), ("min_by", "MinBy"), ("max_by", "MaxBy")],
)
def test_aggregations_are_reduces_with_names(pairs: DataStream, method: str, name: str) -> None:
    stream = getattr(pairs.key_by(First()), method)(1)

    assert stream.get_name() == name
    assert isinstance(operator_of(stream).spec, ReduceSpec)
    assert stream.get_type() == pairs.get_type()


def test_a_field_is_an_index_or_a_name(pairs: DataStream) -> None:
    with pytest.raises(TypeError, match=r"sum: the field is 1\.5"):
        pairs.key_by(First()).sum(1.5)  # type: ignore[arg-type]


def test_a_union_has_a_type_when_all_have_the_same(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    untyped = env.from_collection([1])

    assert numbers.union(numbers).get_type() == Types.LONG()
    assert numbers.union(untyped).get_type() == Types.PICKLED_BYTE_ARRAY()
    with pytest.raises(ProgramError, match="union: the streams have the types"):
        numbers.union(env.from_collection(["a"], Types.STRING()))


def test_streams_of_two_environments_do_not_unite(numbers: DataStream) -> None:
    with (
        StreamExecutionEnvironment.get_execution_environment() as other,
        pytest.raises(ProgramError, match="different environments"),
    ):
        numbers.union(other.from_collection([1]))


def test_a_side_output_has_one_type(numbers: DataStream) -> None:
    processed = numbers.process(Split())
    typed = processed.get_side_output(OutputTag("late", Types.STRING()))
    processed.get_side_output(OutputTag("late", Types.STRING()))

    assert typed.get_type() == Types.STRING()
    with pytest.raises(ProgramError, match="its side output 'late' is read as"):
        processed.get_side_output(OutputTag("late", Types.INT()))


def test_a_projection_takes_fields_of_tuples_and_rows(
    env: StreamExecutionEnvironment, pairs: DataStream
) -> None:
    row_type = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LONG()])
    rows = env.from_collection([("x", 1)], row_type)

    from_tuple, from_row = pairs.project(1, 0), rows.project(1)

    assert from_tuple.get_type() == Types.TUPLE([Types.LONG(), Types.STRING()])
    assert from_row.get_type() == Types.ROW_NAMED(["b"], [Types.LONG()])
    tuple_spec, row_spec = operator_of(from_tuple).spec, operator_of(from_row).spec
    assert isinstance(tuple_spec, MapSpec)
    assert isinstance(tuple_spec.fn, MapFunction)
    assert tuple_spec.fn.map(("x", 1)) == (1, "x")
    assert isinstance(row_spec, MapSpec)
    assert isinstance(row_spec.fn, MapFunction)
    assert row_spec.fn.map(Row(a="x", b=1)) == Row(b=1)


def test_a_projection_needs_fields(numbers: DataStream, pairs: DataStream) -> None:
    with pytest.raises(ProgramError, match="only streams of a tuple or row type"):
        numbers.project(0)
    with pytest.raises(ProgramError, match="there is no field 2"):
        pairs.project(2)


def test_sinks_end_streams(numbers: DataStream) -> None:
    sinks = [numbers.print("id"), numbers.sink_to(DiscardingSink()), numbers.add_sink(str)]

    operators = [sink._operator("test") for sink in sinks]
    assert [operator.name for operator in operators] == [
        "Print to Std. Out",
        "DiscardingSink",
        "Unnamed",
    ]
    assert all(isinstance(operator.spec, SinkSpec) for operator in operators)
    assert sinks[0].name("out").uid("out").set_parallelism(1).get_name() == "out"


def test_a_print_reaches_the_client_and_other_sinks_do_not(
    env: StreamExecutionEnvironment, engine: FakeEngine, numbers: DataStream
) -> None:
    numbers.print()
    numbers.sink_to(DiscardingSink())
    numbers.add_sink(str)
    env.execute()

    [printing] = [
        operator.operator_id
        for vertex in engine.last.graph.vertices
        for operator in vertex.operators
        if "Print" in operator.name
    ]
    assert list(engine.last.client_handlers) == [printing]


def test_a_stream_knows_its_environment(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    assert numbers.get_execution_environment() is env
    assert numbers.get_execution_config().get_parallelism() == 2
    assert isinstance(numbers.key_by(str), KeyedStream)
