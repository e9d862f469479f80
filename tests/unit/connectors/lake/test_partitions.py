"""Rows are split by partition completely, in order, and by what the partition makes of their values."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.lake.delta_files import can_partition, partition_text
from riverrun.connectors.lake.iceberg_files import parse_partition
from riverrun.connectors.lake.partitions import PartitionField, split
from riverrun.core.errors import ProgramError

ROWS = st.lists(
    st.tuples(st.integers(-5, 5) | st.none(), st.sampled_from(["", "a", "b", None])), max_size=40
)


@given(ROWS)
def test_each_row_is_in_the_part_of_its_partition_and_parts_keep_the_order(
    rows: list[tuple[Any, Any]],
) -> None:
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([number for number, _ in rows], pa.int64()),
            pa.array([text for _, text in rows], pa.string()),
            pa.array(range(len(rows)), pa.int64()),
        ],
        names=["number", "text", "place"],
    )
    fields = [
        PartitionField("number", lambda value: None if value is None else value % 3),
        PartitionField("text", lambda value: value or None),
    ]
    expected = defaultdict(list)
    for place, (number, text) in enumerate(rows):
        expected[None if number is None else number % 3, text or None].append(place)

    found = split(batch, fields)

    assert [(key, part["place"].to_pylist()) for key, part in found] == list(expected.items())


def test_many_partition_columns_with_many_values_are_told_apart() -> None:
    names = [f"c{number}" for number in range(12)]
    batch = pa.RecordBatch.from_pydict({name: list(range(100)) for name in names})
    fields = [PartitionField(name, lambda value: value) for name in names]
    found = split(batch, fields)
    assert [key for key, _ in found] == [(number,) * 12 for number in range(100)]
    assert [part["c0"].to_pylist() for _, part in found] == [[number] for number in range(100)]


def test_a_table_without_partitions_takes_batches_as_they_are() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    assert split(batch, []) == [((), batch)]
    assert split(batch.slice(0, 0), []) == []


def test_partition_values_are_written_as_delta_has_them() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    values = [7, Decimal("1.50"), at, date(2026, 1, 2), False, "x/y"]
    assert [partition_text(value) for value in values] == [
        "7",
        "1.50",
        "2026-01-02 03:04:05.000006",
        "2026-01-02",
        "false",
        "x/y",
    ]
    with pytest.raises(TypeError, match=r"cannot be partitioned by 0\.5"):
        partition_text(0.5)
    assert not can_partition(pa.float64())


def test_partitions_are_given_by_columns_and_transforms() -> None:
    columns = ["at", "id", "hour(x)"]
    assert parse_partition("sink", "hour(x)", columns) == ("hour(x)", "identity")
    assert parse_partition("sink", "truncate(3, id)", columns) == ("id", "truncate[3]")
    for wrong in ("bucket(id)", "week(at)", "day(nope)", "bucket(0, id)"):
        with pytest.raises(ProgramError, match="is to be partitioned by"):
            parse_partition("sink", wrong, columns)
