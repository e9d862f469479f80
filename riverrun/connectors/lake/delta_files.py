"""Data files of a Delta table: where they go, and what the table's log says of them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs as arrow_fs

from riverrun.connectors.lake.writer import data_file_name

__all__ = ["DeltaDataFiles", "DeltaFile", "can_partition", "partition_text"]

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.,=+-]")
_LONGEST_TEXT: Final = 32
"""Delta keeps this many characters of a text in statistics; longer ones are left out."""


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A data file that is complete and not yet part of the table; lives in checkpoints."""

    transaction: str
    path: str
    """Within the table's folder."""
    size: int
    modified: int
    """When it was written, in milliseconds since the epoch."""
    partition: Mapping[str, str | None]
    statistics: str


class DeltaDataFiles:
    """Satisfies ``DataFiles`` in a table's folder."""

    def __init__(
        self,
        files: arrow_fs.FileSystem,
        partition_by: list[str],
        transaction: str,
        subtask: int,
    ) -> None:
        self._files = files
        self._partition_by = partition_by
        self._transaction = transaction
        self._subtask = subtask

    def create(self, partition: tuple[Any, ...]) -> tuple[str, Any]:
        # Folders only help people to look around: the values stand in the table's log.
        folders = [
            _UNSAFE.sub("_", f"{name}={'null' if value is None else value}"[:100])
            for name, value in zip(self._partition_by, partition, strict=True)
        ]
        path = "/".join([*folders, data_file_name(self._subtask)])
        if folders:
            self._files.create_dir("/".join(folders), recursive=True)
        return path, self._files.open_output_stream(path)

    def facts(
        self, path: str, partition: tuple[Any, ...], size: int, metadata: pq.FileMetaData
    ) -> DeltaFile:
        values = dict(zip(self._partition_by, partition, strict=True))
        now = time.time_ns() // 1_000_000
        return DeltaFile(self._transaction, path, size, now, values, statistics(metadata))


def can_partition(kind: pa.DataType) -> bool:
    """Whether a column of this type can be one that a Delta table is partitioned by."""
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_integer(kind)
        or types.is_boolean(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
        or types.is_decimal(kind)
    )


def partition_text(value: Any) -> str | None:
    """A partition's value as Delta's log has it; an empty text counts as null there.

    >>> partition_text(True), partition_text(date(2026, 1, 2)), partition_text(None), partition_text("")
    ('true', '2026-01-02', None, None)
    """
    match value:
        case None | "":
            return None
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")
        case date() | Decimal() | int() | str():
            return str(value)
    raise TypeError(f"a table cannot be partitioned by {value!r}")


def statistics(metadata: pq.FileMetaData) -> str:
    """What Delta's log says of the rows of a file: how many, and the bounds of simple columns."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    unbounded: set[str] = set()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            name = column.path_in_schema
            if "." in name or column.statistics is None:
                unbounded.add(name)
                continue
            found = column.statistics
            if found.has_null_count:
                nulls[name] = nulls.get(name, 0) + found.null_count
            low: Any = None
            high: Any = None
            if found.has_min_max:
                low, high = found.min, found.max
            if not (_has_bounds(low) and _has_bounds(high)):
                if not (found.has_null_count and found.null_count == group.num_rows):
                    unbounded.add(name)
                continue
            least[name] = min(least.get(name, low), low)
            greatest[name] = max(greatest.get(name, high), high)
    said = {
        "numRecords": metadata.num_rows,
        "minValues": _bounds(least, unbounded),
        "maxValues": _bounds(greatest, unbounded),
        "nullCount": nulls,
    }
    return json.dumps(said)


def _has_bounds(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT
    if isinstance(value, bool | datetime):
        return False
    return isinstance(value, int | date)


def _bounds(found: Mapping[str, Any], unbounded: set[str]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in found.items()
        if name not in unbounded
    }
