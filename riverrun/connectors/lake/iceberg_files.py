"""Data files of an Iceberg table: where they go, and what its manifests say of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.parquet as pq

from riverrun.connectors.base.extras import require
from riverrun.connectors.lake.partitions import PartitionField
from riverrun.connectors.lake.writer import data_file_name
from riverrun.core.errors import ProgramError

__all__ = ["IcebergDataFiles", "IcebergFile", "parse_partition", "partition_fields"]

_TRANSFORM: Final = re.compile(
    r"(?P<transform>year|month|day|hour)\((?P<column>.+)\)"
    r"|(?P<sized>bucket|truncate)\((?P<width>[1-9]\d*), *(?P<sized_column>.+)\)"
)


@dataclass(frozen=True, slots=True)
class IcebergFile:
    """A data file that is complete and not yet part of the table; lives in checkpoints."""

    transaction: str
    path: str
    size: int
    spec: int
    """The number of the table's partitioning that it was written for."""
    partition: tuple[Any, ...]
    statistics: Mapping[str, Any]
    """Counts, sizes and bounds by column, in the words of Iceberg's manifests."""


class IcebergDataFiles:
    """Satisfies ``DataFiles`` for a table as it was loaded."""

    def __init__(self, table: Any, transaction: str, subtask: int) -> None:
        arrow = require("pyiceberg.io.pyarrow", extra="iceberg", user="IcebergSink")
        locations = require("pyiceberg.table.locations", extra="iceberg", user="IcebergSink")
        self._transaction = transaction
        self._subtask = subtask
        self._metadata = table.metadata
        self._io = table.io
        self._statistics = arrow.data_file_statistics_from_parquet_metadata
        schema, properties = table.metadata.schema(), table.metadata.properties
        self._stats_columns = arrow.compute_statistics_plan(schema, properties)
        self._ids = arrow.parquet_path_to_id_mapping(schema)
        self._locations = locations.load_location_provider(table.metadata.location, properties)

    def create(self, partition: tuple[Any, ...]) -> tuple[str, Any]:
        name = data_file_name(self._subtask)
        key = _PartitionPath(self._metadata, partition) if partition else None
        path = self._locations.new_data_location(name, key)
        return path, self._io.new_output(path).create()

    def facts(
        self, path: str, partition: tuple[Any, ...], size: int, metadata: pq.FileMetaData
    ) -> IcebergFile:
        found = self._statistics(metadata, self._stats_columns, self._ids)
        return IcebergFile(
            self._transaction,
            path,
            size,
            self._metadata.default_spec_id,
            partition,
            found.to_serialized_dict(),
        )


class _PartitionPath:
    """The folder of a partition, for those who only ask for that."""

    def __init__(self, metadata: Any, partition: tuple[Any, ...]) -> None:
        self._metadata = metadata
        self._partition = partition

    def to_path(self) -> str:
        record = require("pyiceberg.typedef", extra="iceberg", user="IcebergSink").Record
        path: str = self._metadata.spec().partition_to_path(
            record(*self._partition), self._metadata.schema()
        )
        return path


def partition_fields(metadata: Any) -> list[PartitionField]:
    """How rows of a table are partitioned."""
    words = require("pyiceberg.partitioning", extra="iceberg", user="IcebergSink")
    schema = metadata.schema()

    def value_of(field: Any) -> Callable[[Any], Any]:
        apply = field.transform.transform(schema.find_type(field.source_id))

        def value(raw: Any) -> Any:
            return apply(words.partition_record_value(field, raw, schema))

        return value

    return [
        PartitionField(schema.find_column_name(field.source_id), value_of(field))
        for field in metadata.spec().fields
    ]


def parse_partition(who: str, text: str, columns: Sequence[str]) -> tuple[str, str]:
    """The column and the transform that a partition is given by.

    >>> parse_partition("sink", "day(at)", ["at"]), parse_partition("sink", "bucket(4, id)", ["id"])
    (('at', 'day'), ('id', 'bucket[4]'))
    >>> parse_partition("sink", "id", ["id"])
    ('id', 'identity')
    """
    column, transform = text, "identity"
    found = None if text in columns else _TRANSFORM.fullmatch(text)
    if found and found["transform"]:
        column, transform = found["column"], found["transform"]
    elif found:
        column, transform = found["sized_column"], f"{found['sized']}[{found['width']}]"
    if column not in columns:
        raise ProgramError(
            f"{who}: is to be partitioned by {text!r}; expected one of the columns {list(columns)!r}, or "
            f"a transform of one such as 'day(at)' or 'bucket(16, id)'"
        )
    return column, transform
