"""Columns of single records: rows may have names of their own, or only those of their declared type."""

from __future__ import annotations

import pickle

import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.column_folds import RowAggregates
from riverrun.api.columns import Field
from riverrun.core.configuration import Configuration
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.columns import ColumnLayout
from riverrun.serde.row import Row
from riverrun.serde.types import Types

ROWS = Types.ROW_NAMED(["key", "amount"], [Types.STRING(), Types.LONG()])


@pytest.mark.parametrize(
    "row", [Row("a", 3), Row(key="a", amount=3), Row(amount=3, key="a"), Row("key", 3)]
)
def test_a_column_of_a_row_is_found_with_and_without_names(row: Row) -> None:
    key, amount = Field("key", 0), pickle.loads(pickle.dumps(Field("amount", 1)))

    assert key.of_record(row) in {"a", "key"}
    assert amount.of_record(row) == 3


def test_rows_with_and_without_names_may_come_from_one_stream() -> None:
    amount = Field("amount", 1)

    assert [amount.of_record(row) for row in (Row("a", 1), Row(amount=2, key="b"))] == [1, 2]


def test_aggregates_of_records_know_where_their_columns_are() -> None:
    folding = RowAggregates((Agg.sum("amount"), Agg.count()), ColumnLayout(ROWS))
    accumulator = folding.create_accumulator()

    for row in (Row("a", 1), Row(amount=2, key="b")):
        accumulator = folding.add(row, accumulator)

    assert folding.get_result(accumulator) == [3, 2]


def test_a_stream_of_rows_without_names_is_keyed_by_a_column_of_its_type() -> None:
    settings = Configuration({"riverrun.master": "in-process"})
    with StreamExecutionEnvironment.get_execution_environment(settings) as env:
        rows = env.from_collection([1, 2, 3, 4]).map(
            lambda value: Row("ab"[value % 2], value), ROWS
        )
        totals = rows.key_by_columns("key").count_window(2).aggregate_columns(Agg.sum("amount"))
        with totals.execute_and_collect() as results:
            found = sorted(tuple(row) for row in results)

    assert found == [("a", 6), ("b", 4)]
