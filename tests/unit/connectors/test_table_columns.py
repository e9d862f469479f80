"""Records become rows of tables and come back equal."""

from __future__ import annotations

from collections import namedtuple
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.base.table_columns import (
    NotARowOfATable,
    run_of_table,
    table_batch,
    table_layout,
    table_schema,
    type_of_table,
)
from riverrun.core.errors import ProgramError
from riverrun.serde.columns import known_layout
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row
from riverrun.serde.types import Types

NESTED = Types.ROW_NAMED(
    ["number", "moment", "price", "tags", "limits", "place"],
    [
        Types.LONG(),
        Types.INSTANT(),
        Types.BIG_DEC(),
        Types.LIST(Types.BIG_DEC()),
        Types.MAP(Types.STRING(), Types.BIG_DEC()),
        Types.ROW_NAMED(["name", "since"], [Types.STRING(), Types.INSTANT()]),
    ],
)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=18, min_value=-9, max_value=9)
INSTANTS = st.builds(
    lambda second, micro: Instant(second, micro * 1000),
    st.integers(-(10**9), 10**10),
    st.integers(0, 999_999),
)
RECORDS = st.builds(
    Row,
    number=st.none() | st.integers(-(2**63), 2**63 - 1),
    moment=st.none() | INSTANTS,
    price=st.none() | DECIMALS,
    tags=st.none() | st.lists(st.none() | DECIMALS, max_size=3),
    limits=st.none() | st.dictionaries(st.text(max_size=3), DECIMALS, max_size=3),
    place=st.none() | st.builds(Row, name=st.none() | st.text(max_size=3), since=INSTANTS),
)


@given(st.lists(RECORDS, max_size=8), st.integers(0, 3))
def test_rows_of_nested_types_come_back_equal(records: list[Any], start: int) -> None:
    layout = table_layout("test", NESTED)
    schema = table_schema(layout)
    rows = table_batch(layout.run_of(records), schema)
    assert type_of_table(schema) == NESTED
    again = known_layout(type_of_table(schema))
    assert run_of_table(again, rows).rows() == records
    assert run_of_table(again, rows.slice(start)).rows() == records[start:]


def test_the_types_of_a_table_are_those_that_other_tools_know() -> None:
    assert [str(field.type) for field in table_schema(table_layout("test", NESTED))] == [
        "int64",
        "timestamp[us, tz=UTC]",
        "decimal128(38, 18)",
        "list<item: decimal128(38, 18)>",
        "map<string, decimal128(38, 18)>",
        "struct<name: string, since: timestamp[us, tz=UTC]>",
    ]


def test_decimals_take_the_precision_of_the_table() -> None:
    layout = table_layout("test", Types.TUPLE([Types.BIG_DEC(), Types.BIG_INT()]))
    schema = pa.schema([("f0", pa.decimal128(10, 2)), ("f1", pa.decimal128(38, 0))])
    rows = table_batch(layout.run_of([(Decimal("1.5"), 10**30)]), schema)
    assert rows.to_pylist() == [{"f0": Decimal("1.50"), "f1": Decimal(10**30)}]
    with pytest.raises(NotARowOfATable, match=r"column 'f0': .* does not fit decimal128\(10, 2\)"):
        table_batch(layout.run_of([(Decimal("0.001"), 1)]), schema)


def test_tuples_and_named_tuples_are_rows_too() -> None:
    pair = namedtuple("pair", ["a", "b"])  # noqa: PYI024
    layout = table_layout("test", Types.TUPLE([Types.INT(), Types.STRING()]))
    assert table_batch(layout.run_of([pair(1, "x")]), table_schema(layout)).to_pylist() == [
        {"f0": 1, "f1": "x"}
    ]


@pytest.mark.parametrize("kind", [None, Types.STRING(), Types.LIST(Types.LONG())], ids=str)
def test_types_without_fields_are_no_rows(kind: Any) -> None:
    with pytest.raises(ProgramError, match="test: the type of the records is"):
        table_layout("test", kind)


def test_types_that_nothing_stands_for_are_named_with_their_column() -> None:
    with pytest.raises(TypeError, match="column 'x'"):
        type_of_table(pa.schema([("x", pa.duration("us"))]))
    with pytest.raises(TypeError, match="column 'x'"):
        type_of_table(pa.schema([("x", pa.struct([("x", pa.duration("us"))]))]))
