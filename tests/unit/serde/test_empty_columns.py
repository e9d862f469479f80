"""Columns without a value take no room and come back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.serde.columns import ColumnRun, known_layout
from riverrun.serde.composite_types import OptionalTypeInfo
from riverrun.serde.empty_columns import HOLES_MARK, message, nulls, read, size_of
from riverrun.serde.runs import codec_for
from riverrun.serde.types import Types

KINDS = [pa.int64(), pa.string(), pa.bool_(), pa.list_(pa.int32()), pa.float64()]
SCHEMA = pa.schema([(f"f{place}", kind) for place, kind in enumerate(KINDS)])
VALUES: list[Any] = [7, "text", True, [1, 2], 0.5]


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    rows = draw(st.integers(0, 5))
    columns = []
    for kind, value in zip(KINDS, VALUES, strict=True):
        given = draw(st.lists(st.sampled_from([None, value]), min_size=rows, max_size=rows))
        empty = draw(st.booleans())
        columns.append(pa.array([None] * rows if empty else given, kind))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


@given(batches())
def test_a_batch_comes_back(batch: pa.RecordBatch) -> None:
    assert read(pa.py_buffer(message(batch)), SCHEMA).equals(batch)


def test_columns_without_a_value_take_no_room() -> None:
    def run(price: float | None) -> pa.RecordBatch:
        columns = [pa.array(range(1000)), pa.array([price] * 1000, pa.float64())]
        return pa.RecordBatch.from_arrays(columns, ["a", "b"])

    assert len(message(run(None))) < len(message(run(1.5))) - 8000 + 200
    assert message(run(None))[0] == HOLES_MARK
    assert size_of(run(None)) == 8000
    assert size_of(run(1.5)) == 16000


@pytest.mark.parametrize("count", [1, 60])
def test_a_batch_of_nothing_and_one_of_very_many_columns_come_back(count: int) -> None:
    schema = pa.schema([(f"f{place}", pa.int64()) for place in range(count)])
    arrays = [pa.nulls(3, pa.int64()) for _ in range(count - 1)]
    batch = pa.RecordBatch.from_arrays([*arrays, pa.array([1, 2, None])], schema=schema)
    nothing = pa.RecordBatch.from_arrays([*arrays, pa.nulls(3, pa.int64())], schema=schema)

    assert read(pa.py_buffer(message(batch)), schema).equals(batch)
    assert read(pa.py_buffer(message(nothing)), schema).equals(nothing)


@pytest.mark.parametrize("count", [0, 1, 4096, 4097, 100_000])
def test_there_are_as_many_nulls_as_wanted(count: int) -> None:
    made = nulls(pa.string(), count)

    assert len(made) == made.null_count == count


def test_records_and_columns_of_a_stream_come_back() -> None:
    type_info = Types.ROW_NAMED(["a", "b"], [Types.LONG(), OptionalTypeInfo(Types.STRING())])
    codec, layout = codec_for(type_info), known_layout(type_info)
    batch = pa.RecordBatch.from_arrays(
        [pa.array([1, 2]), nulls(pa.string(), 2), pa.array([0, 0], layout.schema.field(2).type)],
        schema=layout.schema,
    )
    rows = codec.decode(codec.encode(ColumnRun(layout, batch)))

    assert [(row.a, row.b) for row in rows] == [(1, None), (2, None)]
    assert codec.decode(codec.encode(rows)) == rows
    assert ColumnRun(layout, batch).take(pa.array([1, 0]).to_numpy())[0].a == 2
