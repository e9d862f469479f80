"""Which windows get a first phase, and where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.columns import col
from riverrun.api.output_tag import OutputTag
from riverrun.api.window_assigners import (
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.connectors.discard import DiscardingSink
from riverrun.core.configuration import Configuration
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.program import Program
from riverrun.graph.job_graph import JobGraph
from riverrun.serde.row import Row
from riverrun.serde.types import Types

SALE = Types.ROW_NAMED(["shop", "amount", "price"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
LATE = OutputTag("late", SALE)
SUM = Agg.sum("amount")
Build = Callable[[DataStream], DataStream]


def compiled(build: Build, **config: str) -> JobGraph:
    program = Program(
        Configuration(
            {
                "riverrun.master": "in-process",
                "parallelism.default": "2",
                **{
                    key.replace("__", ".").replace("_", "-"): value for key, value in config.items()
                },
            }
        )
    )
    try:
        env = StreamExecutionEnvironment(program)
        sales = env.from_collection([Row("a", 1, 1.5)], SALE).name("sales")
        build(sales).name("window").sink_to(DiscardingSink()).name("sink")
        return program.show().job_graph
    finally:
        program.close()


def names(graph: JobGraph) -> list[str]:
    return [vertex.name for vertex in graph.vertices]


def windowed(stream: DataStream) -> Any:
    return stream.key_by(col("shop")).window(TumblingEventTimeWindows.of(10))


def sums(stream: DataStream) -> DataStream:
    made: DataStream = windowed(stream).aggregate_columns(SUM)
    return made


def of_all(stream: DataStream) -> DataStream:
    several = stream.filter_batches(col("amount") > 0).name("several")
    return several.window_all(SlidingEventTimeWindows.of(10, 5)).aggregate_columns(SUM)


@pytest.mark.parametrize("build", [sums, of_all])
@pytest.mark.parametrize("strategy", ["AUTO", "TWO_PHASE"])
def test_a_first_phase_is_part_of_the_task_that_makes_the_records(
    build: Build, strategy: str
) -> None:
    graph = compiled(build, table__optimizer__agg_phase_strategy=strategy)

    *_, first, window = [name for name in names(graph) if not name.startswith("Sink")]
    assert first.endswith(" -> LocalAggregate")
    assert window.startswith("window")


@pytest.mark.parametrize("build", [sums, of_all])
def test_operators_keep_their_ids(build: Build) -> None:
    ids = [
        {
            operator.name: operator.operator_id
            for vertex in compiled(build, table__optimizer__agg_phase_strategy=strategy).vertices
            for operator in vertex.operators
        }
        for strategy in ("ONE_PHASE", "AUTO")
    ]
    local = ids[1].pop("LocalAggregate")

    assert ids[0] == ids[1]
    assert local not in ids[0].values()


def test_streams_that_are_united_have_one_each() -> None:
    def build(stream: DataStream) -> DataStream:
        doubled = stream.filter_batches(col("amount") > 0).set_parallelism(1).union(stream)
        return sums(doubled)

    graph = compiled(build)

    local = [
        operator.operator_id
        for vertex in graph.vertices
        for operator in vertex.operators
        if operator.name == "LocalAggregate"
    ]
    assert len(set(local)) == 2


def processing_time(stream: DataStream) -> DataStream:
    keyed = stream.key_by(col("shop"))
    return keyed.window(TumblingProcessingTimeWindows.of(10)).aggregate_columns(SUM)


def keyed_by_a_function(stream: DataStream) -> DataStream:
    keyed = stream.key_by(lambda sale: sale.shop, key_type=Types.STRING())
    return keyed.window(TumblingEventTimeWindows.of(10)).aggregate_columns(SUM)


@pytest.mark.parametrize(
    "build",
    [
        processing_time,
        keyed_by_a_function,
        lambda stream: windowed(stream).allowed_lateness(5).aggregate_columns(SUM),
        lambda stream: windowed(stream).side_output_late_data(LATE).aggregate_columns(SUM),
        lambda stream: windowed(stream).aggregate_columns(SUM, Agg.sum("price")),
        lambda stream: windowed(stream).aggregate_columns(Agg.mean("price")),
        lambda stream: windowed(stream).aggregate_columns(Agg.first("amount")),
        lambda stream: windowed(stream).aggregate_columns(Agg.max("shop")),
        lambda stream: windowed(stream).aggregate_columns(Agg.approx_distinct("amount")),
        lambda stream: sums(stream.map(lambda sale: sale, SALE).disable_chaining()),
        lambda stream: stream.key_by(col("shop")).aggregate_columns(SUM),
    ],
    ids=[
        "wall clock",
        "function as key",
        "late records fire again",
        "late records go aside",
        "sum of floats",
        "mean of floats",
        "order",
        "text",
        "distinct",
        "chaining off",
        "rolling",
    ],
)
def test_where_results_could_differ_or_nothing_is_saved_there_is_none(build: Build) -> None:
    assert not any("LocalAggregate" in name for name in names(compiled(build)))


@pytest.mark.parametrize(
    "config",
    [
        {"table__optimizer__agg_phase_strategy": "ONE_PHASE"},
        {"pipeline__operator_chaining__enabled": "false"},
    ],
)
def test_there_is_none_if_it_is_not_wanted(config: dict[str, str]) -> None:
    assert not any("LocalAggregate" in name for name in names(compiled(sums, **config)))
