"""Window joins and co-groups: how they are said, what they are made of, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from riverrun.api.evictors import CountEvictor
from riverrun.api.functions import MapFunction
from riverrun.api.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.triggers import CountTrigger
from riverrun.api.window_assigners import EventTimeSessionWindows, TumblingEventTimeWindows
from riverrun.core.errors import ProgramError
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.tagged_records import TaggedUnion, WindowCoGroup, WindowJoin
from riverrun.graph.partitioning import Forward, Hash
from riverrun.graph.pickling import check_picklable
from riverrun.graph.specs import WindowSpec
from riverrun.serde.types import Types

WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))


class Sum(JoinFunction[int, int, int]):
    def join(self, first: int, second: int) -> int:
        return first + second


class Texts(FlatJoinFunction[int, int, str]):
    def join(self, first: int, second: int) -> Iterator[str]:
        yield f"{first} {second}"


class Sizes(CoGroupFunction[int, int, tuple[int, int]]):
    def co_group(self, first: Iterable[int], second: Iterable[int]) -> Iterator[tuple[int, int]]:
        yield len(list(first)), len(list(second))


def key1(value: int) -> int:
    return value % 3


def key2(value: int) -> int:
    return value % 5


@pytest.fixture
def left(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(1, 9)


@pytest.fixture
def right(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(1, 9)


def test_both_streams_meet_in_one_window_operator_by_their_own_keys(
    env: StreamExecutionEnvironment, left: DataStream, right: DataStream
) -> None:
    some = left.map(key1).set_parallelism(3)
    windowed = some.join(right).where(key1).equal_to(key2).window(WINDOWS)
    windowed.apply(Sum()).print()

    compiled = env._program.compile()
    check_picklable(compiled.job_graph)
    graph = compiled.stream_graph
    node = next(node for node in graph.nodes if isinstance(node.spec, WindowSpec))
    edges = graph.in_edges(node.id)
    tagging = [graph.node(edge.source) for edge in edges]
    assert [type(edge.partitioning) for edge in edges] == [Hash, Hash]
    assert [(each.name, each.parallelism) for each in tagging] == [
        ("Tag first", 3),
        ("Tag second", 2),
    ]
    for each in tagging:
        assert [edge.partitioning for edge in graph.in_edges(each.id)] == [Forward()]
    assert node.key_selector is not None
    assert node.key_selector(TaggedUnion(1, 7)) == 1
    assert node.key_selector(TaggedUnion(2, 7)) == 2
    assert node.key_type == Types.LONG()


def test_the_operator_says_all_that_was_said(left: DataStream, right: DataStream) -> None:
    made = (
        left.co_group(right)
        .where(key1)
        .equal_to(key2)
        .window(WINDOWS)
        .trigger(CountTrigger.of(2))
        .evictor(CountEvictor.of(1))
        .allowed_lateness(5)
        .side_output_late_data(OutputTag("late"))
        .apply(Sizes())
    )

    spec = made._operator("test").spec
    assert isinstance(spec, WindowSpec)
    assert isinstance(spec.trigger, CountTrigger)
    assert isinstance(spec.evictor, CountEvictor)
    assert isinstance(spec.function, WindowCoGroup)
    assert (spec.assigner, spec.allowed_lateness_ms, spec.late_tag) == (WINDOWS, 5, "late")
    assert spec.late_value is not None
    assert spec.late_value(TaggedUnion(2, "x")) == "x"


def test_nothing_is_defined_before_the_function_is_given(
    env: StreamExecutionEnvironment, left: DataStream, right: DataStream
) -> None:
    left.print()
    left.join(right).where(key1).equal_to(key2).window(WINDOWS)

    names = [node.name for node in env._program.compile().stream_graph.nodes]
    assert not [name for name in names if name.startswith("Tag")]


def test_the_type_is_that_of_the_function(left: DataStream, right: DataStream) -> None:
    def text(first: int, second: int) -> str:
        return f"{first} {second}"

    join = left.join(right).where(key1).equal_to(key2).window(WINDOWS)
    grouped = left.co_group(right).where(key1).equal_to(key2).window(WINDOWS)

    assert join.apply(Sum()).get_type() == Types.LONG()
    assert join.apply(Texts()).get_type() == Types.STRING()
    assert join.apply(text).get_type() == Types.STRING()
    assert join.apply(lambda a, b: (a, b)).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert join.apply(Sum(), Types.INT()).get_type() == Types.INT()
    assert grouped.apply(Sizes()).get_type() == Types.TUPLE([Types.LONG(), Types.LONG()])


def test_a_tagged_record_knows_its_side() -> None:
    one, two = TaggedUnion(1, "a"), TaggedUnion(2, "b")

    assert (one.is_one(), one.is_two(), one.get_one(), one.get_two()) == (True, False, "a", None)
    assert (two.is_one(), two.is_two(), two.get_one(), two.get_two()) == (False, True, None, "b")


class Fine(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("func", [Sum, Fine(), Sizes(), 7])
def test_functions_of_the_wrong_kind_are_refused(
    left: DataStream, right: DataStream, func: Any
) -> None:
    join = left.join(right).where(key1).equal_to(key2).window(WINDOWS)
    grouped = left.co_group(right).where(key1).equal_to(key2).window(WINDOWS)

    with pytest.raises(TypeError, match="expected a JoinFunction or FlatJoinFunction object"):
        join.apply(func)
    with pytest.raises(TypeError, match="expected a CoGroupFunction object"):
        grouped.apply(Sum())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda a: a.join([1]), "join: got .* expected a DataStream"),
        (lambda a: a.co_group(1), "co_group: got 1; expected a DataStream"),
        (lambda a: a.join(a).where(3), "expected a KeySelector object or a callable"),
        (lambda a: a.join(a).where(key1).equal_to(key2).window(5), "expected a WindowAssigner"),
        (
            lambda a: (
                a.join(a).where(key1).equal_to(key2).window(WINDOWS).side_output_late_data("late")
            ),
            "expected an OutputTag",
        ),
    ],
)
def test_what_does_not_fit_is_refused_where_it_is_said(
    left: DataStream, use: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        use(left)


def test_keys_of_different_types_are_refused(left: DataStream, right: DataStream) -> None:
    with pytest.raises(ProgramError, match=r"where\(\) gives keys of type .* equal_to\(\) of type"):
        left.join(right).where(key1).equal_to(str, Types.STRING())


def test_streams_of_different_environments_are_refused(left: DataStream, engine: object) -> None:
    with (
        StreamExecutionEnvironment.get_execution_environment() as other,
        pytest.raises(ProgramError, match="join: the streams come from different environments"),
    ):
        left.join(other.from_sequence(1, 2))


def test_sessions_need_a_trigger_that_merges(left: DataStream, right: DataStream) -> None:
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(1))
    join = left.join(right).where(key1).equal_to(key2).window(sessions)

    with pytest.raises(ProgramError, match="cannot merge"):
        join.trigger(Unmergeable())
    spec = join.apply(Sum())._operator("test").spec
    assert isinstance(spec, WindowSpec)
    assert isinstance(spec.function, WindowJoin)


class Unmergeable(CountTrigger[Any, Any]):
    def __init__(self) -> None:
        super().__init__(1)

    def can_merge(self) -> bool:
        return False
