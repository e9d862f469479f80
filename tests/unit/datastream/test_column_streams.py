"""What is wrong with aggregates of columns is said when the program is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.columns import col
from riverrun.api.evictors import CountEvictor
from riverrun.api.triggers import CountTrigger
from riverrun.api.window_assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream, KeyedStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.column_specs import ColumnWindowSpec
from riverrun.graph.specs import WindowSpec
from riverrun.serde.types import Types

ROWS = Types.ROW_NAMED(
    ["k", "n", "d", "when", "tags"],
    [
        Types.STRING(),
        Types.INT(),
        Types.BIG_DEC(),
        Types.SQL_TIMESTAMP(),
        Types.LIST(Types.STRING()),
    ],
)


OPEN: list[StreamExecutionEnvironment] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Drops the programs of a test: none of them is ever run."""
    yield
    while OPEN:
        OPEN.pop().close()


def environment() -> StreamExecutionEnvironment:
    settings = Configuration({"riverrun.master": "in-process"})
    OPEN.append(StreamExecutionEnvironment.get_execution_environment(settings))
    return OPEN[-1]


def rows() -> DataStream:
    return environment().from_collection([], ROWS)


def keyed() -> KeyedStream:
    return rows().key_by(col("k"))


@pytest.mark.parametrize(
    ("aggregate", "said"),
    [
        (Agg.sum("missing"), r"no column 'missing'.*\['k', 'n'"),
        (Agg.sum(9), "no column 9"),
        (Agg.sum("k"), "sum of column 'k'.*expected a number"),
        (Agg.mean("when"), "mean of column 'when'.*expected a number"),
        (Agg.min("tags"), "min of column 'tags'.*a number, a text or a time"),
        (Agg.approx_distinct("tags"), "approx_distinct of column 'tags'"),
        (Agg.sum("n").alias("k"), "two columns of the result are called 'k'"),
    ],
)
def test_aggregates_that_cannot_be_are_refused(aggregate: Any, said: str) -> None:
    with pytest.raises(ProgramError, match=said):
        keyed().aggregate_columns(Agg.count(), aggregate)
    with pytest.raises(ProgramError, match=said):
        keyed().window(TumblingEventTimeWindows.of(5)).aggregate_columns(aggregate, Agg.count())


@pytest.mark.parametrize("column", [None, True, 1.5])
def test_an_aggregate_needs_a_column(column: Any) -> None:
    with pytest.raises(TypeError, match="expected a column"):
        Agg.sum(column)


def test_something_must_be_aggregated() -> None:
    with pytest.raises(ProgramError, match="at least one"):
        keyed().aggregate_columns()
    with pytest.raises(TypeError, match=r"Agg\.sum"):
        keyed().aggregate_columns(sum)  # type: ignore[arg-type]


def test_keys_need_a_type_to_be_shown() -> None:
    with pytest.raises(ProgramError, match="type of the keys is not declared"):
        rows().key_by(lambda row: row.k).aggregate_columns(Agg.count())


def test_a_stream_without_a_type_is_refused() -> None:
    env = environment()
    stream = env.from_collection([1]).key_by(lambda n: n, Types.LONG())
    with pytest.raises(ProgramError, match="type of the stream is not known"):
        stream.aggregate_columns(Agg.count())
    with pytest.raises(ProgramError, match="type of the stream is not known"):
        stream.window(TumblingEventTimeWindows.of(5)).aggregate_columns(Agg.count())


def test_results_have_types() -> None:
    made = (
        keyed()
        .window(TumblingEventTimeWindows.of(5))
        .aggregate_columns(
            Agg.sum("n"), Agg.sum("d"), Agg.mean("n"), Agg.max("when"), Agg.collect(col("n"))
        )
    )
    assert made.get_type() == Types.ROW_NAMED(
        ["k", "window_start", "window_end", "sum_n", "sum_d", "mean_n", "max_when", "collect_n"],
        [
            Types.STRING(),
            Types.LONG(),
            Types.LONG(),
            Types.LONG(),
            Types.BIG_DEC(),
            Types.DOUBLE(),
            Types.SQL_TIMESTAMP(),
            Types.LIST(Types.INT()),
        ],
    )


@pytest.mark.parametrize(
    ("make", "spec"),
    [
        (lambda: keyed().window(TumblingEventTimeWindows.of(5)), ColumnWindowSpec),
        (lambda: keyed().window(SlidingEventTimeWindows.of(5, 2)), ColumnWindowSpec),
        (lambda: rows().window_all(TumblingEventTimeWindows.of(5)), ColumnWindowSpec),
        (lambda: keyed().window(SlidingEventTimeWindows.of(2, 5)), WindowSpec),
        (
            lambda: keyed().window(TumblingEventTimeWindows.of(5)).trigger(CountTrigger.of(1)),
            WindowSpec,
        ),
        (
            lambda: keyed().window(TumblingEventTimeWindows.of(5)).evictor(CountEvictor.of(1)),
            WindowSpec,
        ),
        (lambda: keyed().window(GlobalWindows.create()), WindowSpec),
        (lambda: keyed().count_window(3), WindowSpec),
    ],
)
def test_windows_that_fire_when_they_are_over_work_on_columns(
    make: Callable[[], Any], spec: type
) -> None:
    made = make().aggregate_columns(Agg.count())
    assert isinstance(made._operator("window").spec, spec)


def test_batches_need_a_table() -> None:
    env = environment()
    with pytest.raises(TypeError, match="expected a pyarrow Table"):
        env.from_batches([1])
    assert env.from_batches(pa.table({"n": [1]})).get_type() == Types.ROW_NAMED(
        ["n"], [Types.LONG()]
    )
