"""Sources of columns: they know their position to the row, and give what they were given."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riverrun.api.source import Source, SourceStatus
from riverrun.connectors.arrow_batches import ArrowSource, BatchGeneratorSource
from riverrun.connectors.datagen import GeneratorFunction
from riverrun.serde.column_views import ColumnMismatch
from riverrun.serde.columns import ColumnRun
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.unit.connectors.conftest import MakeReader, drain

SQUARES = Types.ROW_NAMED(["n", "square"], [Types.LONG(), Types.LONG()])


def squares(indices: Any) -> Any:
    return {"n": indices, "square": indices * indices}


def too_few(indices: Any) -> Any:
    return squares(indices[1:])


class Squares(GeneratorFunction):
    """The same as an object."""

    def map(self, value: Any) -> Any:
        return squares(value)


def table(count: int) -> pa.Table:
    numbers = np.arange(count)
    return pa.table({"n": numbers, "square": numbers * numbers})


SOURCES: list[Source[Any]] = [
    ArrowSource(table(30)),
    ArrowSource(table(30).to_batches(max_chunksize=7)),
    BatchGeneratorSource(squares, SQUARES, 30),
    BatchGeneratorSource(Squares(), table(0).schema, 30),
]
KINDS = ["table", "batches", "generator", "generator object"]
EXPECTED = [Row(n=n, square=n * n) for n in range(30)]


@pytest.mark.parametrize("source", SOURCES, ids=KINDS)
@pytest.mark.parametrize("parallelism", [1, 3, 40])
def test_all_subtasks_together_give_every_row_once(
    make_reader: MakeReader, source: Source[Any], parallelism: int
) -> None:
    source = pickle.loads(pickle.dumps(source))
    readers = [make_reader(source, subtask, parallelism) for subtask in range(parallelism)]

    found = [row for reader in readers for row in drain(reader)]

    assert sorted(found, key=lambda row: row.n) == EXPECTED
    assert source.get_produced_type() == SQUARES
    assert source.gives_columns


@pytest.mark.parametrize("source", SOURCES, ids=KINDS)
@given(limits=st.lists(st.integers(1, 9), min_size=1, max_size=6), parallelism=st.integers(1, 3))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_reader_goes_on_where_another_one_stopped(
    make_reader: MakeReader, source: Source[Any], limits: list[int], parallelism: int
) -> None:
    found = []
    for subtask in range(parallelism):
        reader = make_reader(source, subtask, parallelism)
        for limit in limits:
            polled = reader.poll(limit)
            assert len(polled.values) <= limit
            assert isinstance(polled.values, ColumnRun) or not polled.values
            found += polled.values
        splits = pickle.loads(pickle.dumps(reader.snapshot_splits()))
        found += drain(make_reader(source, subtask, parallelism, splits))
    assert sorted(found, key=lambda row: row.n) == EXPECTED


def test_rows_may_be_of_a_declared_type(make_reader: MakeReader) -> None:
    pairs = ArrowSource(table(3).rename_columns(["f0", "f1"]), Types.TUPLE([Types.INT()] * 2))
    assert drain(make_reader(pairs, 0, 1)) == [(0, 0), (1, 1), (2, 4)]


def test_an_empty_table_ends_at_once(make_reader: MakeReader) -> None:
    reader = make_reader(ArrowSource(table(0)), 0, 1)
    assert reader.poll(5).status is SourceStatus.END_OF_INPUT


@pytest.mark.parametrize("given", [[], 5, [1, 2]])
def test_what_is_no_batch_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="expected a pyarrow Table"):
        ArrowSource(given)


def test_rows_that_are_not_of_the_declared_type_are_refused() -> None:
    with pytest.raises(ColumnMismatch, match="the columns are"):
        ArrowSource(table(3), Types.ROW_NAMED(["n"], [Types.LONG()]))
    with pytest.raises(TypeError, match="does not map to columns"):
        ArrowSource(table(3), Types.PICKLED_BYTE_ARRAY())


def test_a_generator_gives_a_row_for_each_index(make_reader: MakeReader) -> None:
    short = BatchGeneratorSource(too_few, SQUARES, 10)
    with pytest.raises(ColumnMismatch, match="9 rows for 10 indices"):
        make_reader(short, 0, 1).poll(10)


def test_a_generator_needs_a_type() -> None:
    with pytest.raises(TypeError, match="the output type is None"):
        BatchGeneratorSource(squares, None)
