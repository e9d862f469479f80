"""Runs of records as columns: sequences that make records only when asked, and go over the wire as they are."""

from __future__ import annotations

import pickle
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.check import TypeMismatch
from riverrun.serde.column_groups import grouped, grouped_by
from riverrun.serde.column_views import ColumnMismatch, batch_from, view_of
from riverrun.serde.columns import (
    ColumnLayout,
    ColumnRun,
    TimeColumn,
    layout_of,
    plain_rows,
    plain_times,
)
from riverrun.serde.row import Row, RowKind
from riverrun.serde.runs import ArrowRunCodec, PickleRunCodec, decode_run
from riverrun.serde.types import Types
from tests.unit.serde.types_for_tests import types, values_of

ROWS = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])


def layout(type_info: Any = ROWS) -> ColumnLayout:
    found = layout_of(type_info)
    assert found is not None
    return found


def run_of(count: int) -> ColumnRun:
    return layout().run_of([Row(k=f"key {n}", n=n) for n in range(count)])


def test_a_run_of_columns_reads_like_the_list_of_its_records() -> None:
    rows = [Row(k="a", n=1), Row(k=None, n=None), Row(k="b", n=3)]
    run = layout().run_of(rows)

    assert len(run) == 3
    assert list(run) == rows
    assert run == rows
    assert run[-1] == rows[-1]
    assert [*run[1:]] == rows[1:]
    assert [*run[::2]] == rows[::2]
    assert [*run[::-1]] == rows[::-1]
    assert [*run[5:2]] == []
    assert run.rows() is run.rows()
    assert pickle.loads(pickle.dumps(run)) == rows
    assert "2" not in repr(run[:0])


def test_slices_share_memory() -> None:
    run = run_of(100)
    part = run[10:20]

    ours, theirs = run.column(1).buffers()[1], part.column(1).buffers()[1]
    assert ours is not None and theirs is not None  # noqa: PT018
    assert theirs.address == ours.address
    assert part.column(1).to_pylist() == list(range(10, 20))


def test_times_read_like_a_list_of_ints() -> None:
    times = TimeColumn(np.array([5, 3, 9]))

    assert times == [5, 3, 9]
    assert [*times] == [5, 3, 9]
    assert times[1] == 3
    assert type(times[1]) is int
    assert times[1:] == [3, 9]
    assert times.extent() == (min(times), 9)
    assert TimeColumn.from_bytes(times.tobytes()) == times
    assert pickle.loads(pickle.dumps(times)) == times


def test_lists_stay_lists() -> None:
    rows, times = [1, 2], [3, 4]
    assert plain_rows(rows) is rows
    assert plain_times(times) is times
    assert plain_times(None) is None


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_columns_and_their_slices_have_the_records(data: st.DataObject) -> None:
    type_info = data.draw(types())
    values = data.draw(st.lists(values_of(type_info), max_size=5))
    found = layout_of(type_info)
    if found is None:
        return
    try:
        run = found.run_of(values)
    except TypeError:
        return  # a value that has no exact form as columns
    assert list(run) == values
    for start in range(len(values)):
        assert list(ColumnRun(found, run.batch.slice(start, 2))) == values[start : start + 2]


def test_columns_are_encoded_and_decoded_without_making_records() -> None:
    run = run_of(10)
    codec = ArrowRunCodec(ROWS)

    found = decode_run(codec.tag, codec.encode(run[2:7]), ROWS, columns=True)

    assert isinstance(found, ColumnRun)
    assert found == [Row(k=f"key {n}", n=n) for n in range(2, 7)]
    assert run._rows is None
    assert PickleRunCodec().encode(run[:1]) == PickleRunCodec().encode([run[0]])


def test_decoded_columns_can_be_worked_on_at_any_address() -> None:
    codec = ArrowRunCodec(ROWS)
    data = codec.encode(run_of(4))
    for shift in range(8):
        moved = memoryview(bytes(shift) + data)[shift:]
        found = codec.decode_columns(moved)
        assert isinstance(found, ColumnRun)
        assert found.column(1).to_numpy().flags.aligned


def test_values_that_do_not_fit_are_named() -> None:
    with pytest.raises(TypeMismatch, match="expected"):
        layout().run_of([Row(k="a", n="one")])


def test_a_value_without_an_exact_form_as_columns_is_refused() -> None:
    with pytest.raises(TypeError, match="no exact form as columns"):
        layout(Types.SQL_TIMESTAMP()).run_of([datetime(2024, 1, 1, fold=1)])  # noqa: DTZ001


def test_programs_see_fields_without_kinds_and_decimals_as_decimals() -> None:
    names = ["d", "big", "k"]
    type_info = Types.ROW_NAMED(names, [Types.BIG_DEC(), Types.BIG_INT(), Types.STRING()])
    rows = [Row(d=Decimal("1.50"), big=2**70, k="a"), Row(d=None, big=None, k=None)]
    view = view_of(layout(type_info).run_of(rows))

    assert view.schema.names == names
    assert pa.types.is_decimal(view.schema.field("d").type)
    assert view.to_pylist() == [
        {"d": Decimal("1.50"), "big": Decimal(2**70), "k": "a"},
        {"d": None, "big": None, "k": None},
    ]
    assert [*ColumnRun(layout(type_info), batch_from(layout(type_info), view))] == rows


def test_columns_of_other_arrow_types_are_cast_if_nothing_is_lost() -> None:
    given = pa.table(
        {
            "n": pa.chunked_array([pa.array([1], pa.int8()), pa.array([2], pa.int8())]),
            "k": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    assert [*ColumnRun(layout(), batch_from(layout(), given))] == [
        Row(k="a", n=1),
        Row(k="b", n=2),
    ]
    assert batch_from(layout(), {"k": [None], "n": np.array([3])}).num_rows == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": ["a"]}, "the columns are"),
        ({"k": ["a"], "n": [1], "more": [2]}, "the columns are"),
        ({"k": ["a"], "n": [1.5]}, "column 'n'"),
        ({"k": ["a"], "n": ["x"]}, "column 'n'"),
        ({"k": ["a", "b"], "n": [1]}, "different lengths"),
        ([1, 2], "got a list"),
    ],
)
def test_wrong_columns_are_refused(given: Any, said: str) -> None:
    with pytest.raises(ColumnMismatch, match=said):
        batch_from(layout(), given)


def test_kinds_of_rows_are_kept() -> None:
    rows = [Row.of_kind(RowKind.DELETE, "a", 1)]
    run = layout().run_of(rows)
    assert run[0].get_row_kind() is RowKind.DELETE


@pytest.mark.parametrize(
    ("type_info", "values", "names"),
    [
        (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a")], ("f0", "f1")),
        (Types.LONG(), [1, None], ("value",)),
    ],
)
def test_columns_have_names(type_info: Any, values: list[Any], names: tuple[str, ...]) -> None:
    run = layout(type_info).run_of(values)
    assert run.layout.names == names
    assert list(run) == values


KEYED = Types.ROW_NAMED(
    ["i", "s", "x", "d"], [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.SQL_DATE()]
)
keyed_rows = st.lists(
    st.builds(
        lambda i, s, x, d: Row(i=i, s=s, x=x, d=d),
        st.none() | st.integers(-3, 3) | st.sampled_from([2**62, -(2**63)]),
        st.none() | st.sampled_from(["", "a", "b"]),
        st.none() | st.sampled_from([0.0, -0.0, 1.5, float("inf")]),
        st.none() | st.just(date(2024, 2, 29)),
    ),
    max_size=20,
)


@given(rows=keyed_rows, positions=st.lists(st.integers(0, 3), max_size=3, unique=True))
@settings(max_examples=80, deadline=None)
def test_rows_are_grouped_by_columns_as_by_their_values(
    rows: list[Row], positions: list[int]
) -> None:
    codes, keys = grouped(layout(KEYED).run_of(rows), positions)
    found = [keys[code] for code in codes.tolist()]
    if len(positions) == 1:
        assert found == [row[positions[0]] for row in rows]
    else:
        assert found == [tuple(row[at] for at in positions) for row in rows]


def test_records_are_grouped_by_what_a_function_says() -> None:
    codes, keys = grouped_by([3, 4, 5], lambda n: n % 2)
    assert [keys[code] for code in codes.tolist()] == [1, 0, 1]


def test_an_arrow_schema_has_a_type() -> None:
    schema = pa.schema(
        {
            "a": pa.uint16(),
            "b": pa.large_string(),
            "c": pa.decimal128(10, 2),
            "d": pa.timestamp("ns"),
            "e": pa.list_(pa.float32()),
            "f": pa.dictionary(pa.int8(), pa.string()),
        }
    )
    assert type_of_schema(schema) == Types.ROW_NAMED(
        list("abcdef"),
        [
            Types.INT(),
            Types.STRING(),
            Types.BIG_DEC(),
            Types.SQL_TIMESTAMP(),
            Types.LIST(Types.DOUBLE()),
            Types.STRING(),
        ],
    )


@pytest.mark.parametrize("kind", [pa.timestamp("us", tz="UTC"), pa.duration("s")])
def test_an_arrow_type_that_no_type_stands_for_is_named(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match="column 'a'"):
        type_of_schema(pa.schema({"a": kind}))
