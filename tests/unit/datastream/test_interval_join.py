"""Interval joins: how they are said, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.core.errors import ProgramError
from riverrun.core.time import Duration, Time
from riverrun.datastream.data_stream import KeyedStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.partitioning import Hash
from riverrun.graph.pickling import check_picklable
from riverrun.graph.specs import IntervalJoinSpec
from riverrun.serde.types import Types


class Sum(ProcessJoinFunction[int, int, int]):
    def process_element(
        self, left: int, right: int, ctx: ProcessJoinFunction.Context
    ) -> Iterator[int]:
        yield left + right


def key1(value: int) -> int:
    return value % 3


def key2(value: int) -> int:
    return value % 5


@pytest.fixture
def left(env: StreamExecutionEnvironment) -> KeyedStream:
    return env.from_sequence(1, 9).key_by(key1)


@pytest.fixture
def right(env: StreamExecutionEnvironment) -> KeyedStream:
    return env.from_sequence(1, 9).key_by(key2)


def test_the_spec_says_all_that_was_said(left: KeyedStream, right: KeyedStream) -> None:
    made = (
        left.interval_join(right)
        .in_event_time()
        .between(Time.seconds(-1), Duration.of_millis(20))
        .lower_bound_exclusive()
        .upper_bound_exclusive()
        .side_output_left_late_data(OutputTag("l"))
        .side_output_right_late_data(OutputTag("r"))
        .process(fn := Sum())
    )

    operator = made._operator("test")
    assert operator.spec == IntervalJoinSpec(fn, -999, 19, "l", "r")
    assert (operator.key_selector, operator.second_key_selector) == (key1, key2)
    assert made.get_type() == Types.LONG()


def test_both_inputs_are_shared_out_by_their_keys(
    env: StreamExecutionEnvironment, left: KeyedStream, right: KeyedStream
) -> None:
    bounded = left.interval_join(right).between(timedelta(0), timedelta(seconds=1))
    bounded.process(Sum(), Types.INT()).print()

    graph = env._program.compile().job_graph
    check_picklable(graph)
    vertex = graph.vertices[-1]
    edges = [(edge.input_index, edge.partitioning) for edge in graph.in_edges(vertex.id)]
    assert vertex.name == "Interval Join -> Sink: Print to Std. Out"
    assert edges == [(0, Hash(key1)), (1, Hash(key2))]


def test_a_setting_makes_another_join(left: KeyedStream, right: KeyedStream) -> None:
    bounded = left.interval_join(right).between(Time.seconds(0), Time.seconds(1))
    bounded.upper_bound_exclusive()

    spec = bounded.process(Sum())._operator("test").spec

    assert isinstance(spec, IntervalJoinSpec)
    assert (spec.lower_ms, spec.upper_ms) == (0, 1000)


def test_bounds_in_the_wrong_order_are_refused(left: KeyedStream, right: KeyedStream) -> None:
    with pytest.raises(ValueError, match="lower bound is 2000 ms and the upper bound 1000 ms"):
        left.interval_join(right).between(Time.seconds(2), Time.seconds(1))


def test_what_is_no_length_of_time_is_refused(left: KeyedStream, right: KeyedStream) -> None:
    with pytest.raises(TypeError, match="expected a Duration, a Time or a timedelta"):
        left.interval_join(right).between(-5, 5)  # type: ignore[arg-type]


def test_processing_time_is_refused(left: KeyedStream, right: KeyedStream) -> None:
    with pytest.raises(ProgramError, match="processing time is not supported"):
        left.interval_join(right).in_processing_time()


@pytest.mark.parametrize("func", [Sum, len, object()])
def test_functions_of_the_wrong_kind_are_refused(
    left: KeyedStream, right: KeyedStream, func: Any
) -> None:
    bounded = left.interval_join(right).between(Time.seconds(0), Time.seconds(1))

    with pytest.raises(TypeError, match="expected a ProcessJoinFunction object"):
        bounded.process(func)
    with pytest.raises(TypeError, match="side_output_left_late_data: got 'late'; expected an Outp"):
        bounded.side_output_left_late_data("late")  # type: ignore[arg-type]


def test_only_keyed_streams_of_one_environment_can_be_joined(
    env: StreamExecutionEnvironment, left: KeyedStream
) -> None:
    with pytest.raises(TypeError, match=r"expected a KeyedStream: call key_by\(\) on it"):
        left.interval_join(env.from_sequence(1, 2))  # type: ignore[arg-type]
    with (
        StreamExecutionEnvironment.get_execution_environment() as other,
        pytest.raises(ProgramError, match="interval_join: the streams come from different env"),
    ):
        left.interval_join(other.from_sequence(1, 2).key_by(key1))


def test_keys_of_different_types_are_refused(
    env: StreamExecutionEnvironment, left: KeyedStream
) -> None:
    texts = env.from_sequence(1, 2).key_by(str, Types.STRING())
    bounded = left.interval_join(texts).between(Time.seconds(0), Time.seconds(1))

    with pytest.raises(ProgramError, match="interval_join: the first stream has keys of type"):
        bounded.process(Sum())
