"""Which records fit which table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from riverrun.connectors.lake.settings import LakeSettings
from riverrun.connectors.lake.table_check import TableMismatch, check_columns, fits, wanted_columns

INT, LONG, TEXT = pa.int32(), pa.int64(), pa.string()
FITS = [
    (INT, LONG),
    (TEXT, pa.large_string()),
    (pa.binary(), pa.large_binary()),
    (pa.decimal128(38, 18), pa.decimal128(10, 2)),
    (pa.timestamp("us"), pa.timestamp("ns")),
    (pa.list_(INT), pa.large_list(LONG)),
    (pa.map_(TEXT, INT), pa.map_(pa.large_string(), LONG)),
    (pa.struct([("a", INT)]), pa.struct([("a", LONG)])),
]
DO_NOT_FIT = [
    (LONG, INT),
    (INT, TEXT),
    (INT, pa.float64()),
    (pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
    (pa.list_(LONG), pa.list_(INT)),
    (pa.list_(INT), INT),
    (pa.struct([("a", INT)]), pa.struct([("b", INT)])),
]


@pytest.mark.parametrize(("found", "wanted"), FITS, ids=str)
def test_a_type_fits_where_nothing_is_lost(found: pa.DataType, wanted: pa.DataType) -> None:
    assert fits(found, found)
    assert fits(found, wanted)


@pytest.mark.parametrize(("found", "wanted"), DO_NOT_FIT, ids=str)
def test_a_type_that_would_lose_something_does_not_fit(
    found: pa.DataType, wanted: pa.DataType
) -> None:
    assert not fits(found, wanted)


def test_a_column_that_is_never_null_has_to_be_there() -> None:
    table = pa.schema([pa.field("id", LONG, nullable=False), pa.field("note", TEXT)])
    check_columns("sink", pa.schema([("id", LONG)]), table)
    with pytest.raises(TableMismatch, match=r"needs the column 'id' \(int64, never null\)"):
        check_columns("sink", pa.schema([("note", TEXT)]), table)


def test_columns_come_in_the_order_and_with_the_types_of_the_table() -> None:
    table = pa.schema([("a", LONG), ("b", TEXT), ("c", LONG)])
    assert wanted_columns(pa.schema([("c", INT), ("a", INT)]), table) == pa.schema(
        [("a", LONG), ("c", LONG)]
    )


def test_a_compression_that_nobody_knows_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="compression: is 'zip'; expected one of"):
        LakeSettings(compression="zip")
