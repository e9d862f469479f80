"""What the log says of a file holds for its rows."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.connectors.lake.delta_files import statistics


def said(folder: Path, table: pa.Table) -> Any:
    pq.write_table(table, folder / "x.parquet", row_group_size=2)
    return json.loads(statistics(pq.read_metadata(folder / "x.parquet")))


def test_bounds_go_over_all_row_groups_and_nulls_are_counted(tmp_path: Path) -> None:
    table = pa.table(
        {"a": [5, None, None, None, -2, 7], "d": [date(2026, 1, day) for day in (3, 1, 2, 9, 4, 4)]}
    )
    assert said(tmp_path, table) == {
        "numRecords": 6,
        "minValues": {"a": -2, "d": "2026-01-01"},
        "maxValues": {"a": 7, "d": "2026-01-09"},
        "nullCount": {"a": 3, "d": 0},
    }


def test_columns_whose_bounds_a_reader_may_misread_have_none(tmp_path: Path) -> None:
    table = pa.table(
        {
            "long": ["a", "b", "c" * 33],
            "nan": [1.0, float("nan"), 2.0],
            "at": [datetime(2026, 1, 1)] * 3,  # noqa: DTZ001
            "list": [[1], [2], None],
        }
    )
    found = said(tmp_path, table)
    assert found["numRecords"] == 3
    assert found["minValues"] == found["maxValues"] == {}
