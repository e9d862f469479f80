"""A sink that adds records to an Iceberg table, exactly once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from riverrun.api.sink import GlobalCommitter, SinkWriterContext
from riverrun.connectors.base.extras import require
from riverrun.connectors.lake.committing import Conflict, TableCommitter, said_by
from riverrun.connectors.lake.iceberg_files import (
    IcebergDataFiles,
    IcebergFile,
    parse_partition,
    partition_fields,
)
from riverrun.connectors.lake.settings import LakeSettings
from riverrun.connectors.lake.table_check import (
    TableMismatch,
    check_columns,
    missing_columns,
    wanted_columns,
)
from riverrun.connectors.lake.writer import LakeSink, LakeTable, OpenTable
from riverrun.core.errors import ExternalError
from riverrun.serde.type_info import TypeInformation

__all__ = ["IcebergSink"]

SINK_PROPERTY: Final = "riverrun.sink"
CHECKPOINT_PROPERTY: Final = "riverrun.checkpoint"
_USUAL: Final = LakeSettings()
_PAUSES_S: Final = (0.0, 0.05, 0.3)
"""Before each attempt to reach a catalog."""


class IcebergSink(LakeSink):
    """Appends records to an Iceberg table; each checkpoint is one snapshot of the table.

    Data files are written while records come and become part of the table, all together, when the
    checkpoint that covers them is complete. The snapshot's summary names the sink and the checkpoint, so
    that a commit that is repeated after a failure adds nothing.

    Args:
        table: the table's name with its namespace, such as ``"shop.orders"``.
        row_type: the type of the records; its fields are the columns.
        catalog: the properties that pyiceberg loads the catalog with, such as ``{"type": "rest", "uri":
            ...}``; ``name`` among them is the catalog's name in pyiceberg's own configuration.
        partition_by: how a table that is created is partitioned: columns, and transforms of columns such
            as ``"day(at)"`` and ``"bucket(16, id)"``.
        settings: whether the table may be created or changed, and how large files are.

    Raises:
        MissingExtra: the package pyiceberg is not installed.
        ProgramError: records of this type cannot be rows of a table.
    """

    def __init__(
        self,
        table: str,
        row_type: TypeInformation,
        *,
        catalog: Mapping[str, str],
        partition_by: Sequence[str] = (),
        settings: LakeSettings = _USUAL,
    ) -> None:
        require("pyiceberg.catalog", extra="iceberg", user="IcebergSink")
        super().__init__(f"IcebergSink {table!r}", row_type, settings)
        self._table = table
        self._catalog = dict(catalog)
        self._partition_by = tuple(
            parse_partition(self._who, each, self._columns.names) for each in partition_by
        )

    def create_global_committer(self, context: SinkWriterContext) -> GlobalCommitter:
        return IcebergCommitter(self.table(context), self._settings.commit_attempts)

    def table(self, context: SinkWriterContext) -> IcebergLakeTable:
        del context  # a catalog is reached as its properties say
        return IcebergLakeTable(
            self._who, self._table, self._partition_by, self._settings, self._catalog
        )

    def __repr__(self) -> str:
        return f"IcebergSink({self._table!r})"


@dataclass(frozen=True)
class IcebergLakeTable(LakeTable):
    """An Iceberg table by its name in a catalog."""

    who: str
    name: str
    partition_by: tuple[tuple[str, str], ...]
    settings: LakeSettings
    catalog: Mapping[str, str] = field(default_factory=dict, repr=False)

    def connect(self) -> Any:
        """The catalog."""
        properties = dict(self.catalog)
        name = properties.pop("name", "default")
        catalogs = require("pyiceberg.catalog", extra="iceberg", user=self.who)
        failure: Exception | None = None
        for pause in _PAUSES_S:  # a catalog in a database makes its tables when it is first opened
            time.sleep(pause)
            try:
                return catalogs.load_catalog(name, **properties)
            except Exception as error:  # noqa: BLE001  (each kind of catalog has its own)
                failure = error
        raise self.trouble("its catalog cannot be reached", failure) from failure

    def load(self, catalog: Any) -> Any:
        """The table as it is now; None if there is none."""
        errors = require("pyiceberg.exceptions", extra="iceberg", user=self.who)
        try:
            return catalog.load_table(self.name)
        except (errors.NoSuchTableError, errors.NoSuchNamespaceError):
            return None
        except Exception as error:
            raise self.trouble("it cannot be read", error) from error

    def open(self, records: pa.Schema, transaction: str, subtask: int) -> OpenTable:
        catalog = self.connect()
        try:
            table = self.load(catalog) or self._created(catalog, records)
            if self.settings.add_columns:
                table = self._widened(catalog, table, records)
        finally:
            catalog.close()
        to_arrow = require("pyiceberg.io.pyarrow", extra="iceberg", user=self.who).schema_to_pyarrow
        columns = to_arrow(table.metadata.schema())
        check_columns(self.who, records, columns)
        partition_by = partition_fields(table.metadata)
        for each in partition_by:
            if each.column not in records.names:
                raise TableMismatch(
                    f"{self.who}: the table is partitioned by {each.column!r}, which the records lack; "
                    f"they have {records.names!r}"
                )
        wanted = wanted_columns(records, columns)
        return OpenTable(
            files=IcebergDataFiles(table, transaction, subtask),
            columns=wanted,
            file_columns=wanted,
            partition_by=partition_by,
        )

    def _created(self, catalog: Any, records: pa.Schema) -> Any:
        if not self.settings.create:
            raise ExternalError(
                f"{self.who}: there is no such table; create it, or set LakeSettings(create=True)"
            )
        failure: Exception | None = None
        for pause in _PAUSES_S:  # every writer tries; the first one makes it, and all find it
            time.sleep(pause)
            try:
                self._create(catalog, records)
            except Exception as error:  # noqa: BLE001  (each kind of catalog has its own)
                failure = error
            if (table := self.load(catalog)) is not None:
                return table
        raise self.trouble("it cannot be created", failure) from failure

    def _create(self, catalog: Any, records: pa.Schema) -> None:
        parse = require("pyiceberg.transforms", extra="iceberg", user=self.who).parse_transform
        namespace = catalog.namespace_from(self.name)
        if namespace:
            catalog.create_namespace_if_not_exists(namespace)
        properties = dict(self.settings.table_properties)
        with (
            catalog.create_table_transaction(self.name, records, properties=properties) as made,
            made.update_spec() as spec,
        ):
            for column, transform in self.partition_by:
                spec.add_field(column, parse(transform), _partition_name(column, transform))

    def _widened(self, catalog: Any, table: Any, records: pa.Schema) -> Any:
        """The table with the columns that it lacks; another writer may have added them meanwhile."""
        failure: Exception | None = None
        for _ in range(self.settings.commit_attempts):
            have = pa.schema([(each.name, pa.null()) for each in table.schema().fields])
            missing = missing_columns(records, have)
            if not missing:
                return table
            try:
                with table.update_schema() as update:
                    update.union_by_name(pa.schema([records.field(name) for name in missing]))
            except Exception as error:  # noqa: BLE001  (the table decides: has it the columns now?)
                failure = error
            table = self.load(catalog)
        raise self.trouble("it does not take more columns", failure)

    def trouble(self, what: str, error: Exception | None) -> ExternalError:
        """The error for what a table's own software said; that of a library may not even pickle."""
        return ExternalError(
            f"{self.who}: {what} ({said_by(error)}); check the table's name, the "
            f"properties of the catalog and the rights of the job's user"
        )


class IcebergCommitter(TableCommitter[Any]):
    """Adds data files to an Iceberg table, with the checkpoint in the snapshot's summary."""

    def __init__(self, table: IcebergLakeTable, attempts: int) -> None:
        super().__init__(table.who, attempts)
        self._table = table
        self._catalog: Any = None

    def load(self) -> Any:
        if self._catalog is None:
            self._catalog = self._table.connect()
        table = self._table.load(self._catalog)
        if table is None:
            raise self.gone()
        # Of this copy alone: who repeats has to read the snapshots in between.
        table.metadata.properties["commit.retry.num-retries"] = "0"
        return table

    def committed(self, table: Any, transaction: str) -> int | None:
        snapshot = table.metadata.current_snapshot()
        while snapshot is not None:
            said = {} if snapshot.summary is None else snapshot.summary.additional_properties
            if transaction in said.get(SINK_PROPERTY, "").split(","):
                return int(said[CHECKPOINT_PROPERTY])
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.metadata.snapshot_by_id(parent)
        return None

    def add(self, table: Any, checkpoint: int, files: Mapping[str, Sequence[IcebergFile]]) -> None:
        errors = require("pyiceberg.exceptions", extra="iceberg", user=self._who)
        properties = {SINK_PROPERTY: ",".join(files), CHECKPOINT_PROPERTY: str(checkpoint)}
        try:
            with (
                table.transaction() as transaction,
                transaction.update_snapshot(snapshot_properties=properties).fast_append() as append,
            ):
                for each in files.values():
                    for file in each:
                        append.append_data_file(self._data_file(table, file))
        except errors.CommitFailedException as error:
            raise Conflict(str(error)) from error
        except ExternalError:
            raise
        except Exception as error:
            what = f"it does not take checkpoint {checkpoint}"
            raise self._table.trouble(what, error) from error

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()

    def _data_file(self, table: Any, file: IcebergFile) -> Any:
        words = require("pyiceberg.manifest", extra="iceberg", user=self._who)
        record = require("pyiceberg.typedef", extra="iceberg", user=self._who).Record
        if file.spec != table.metadata.default_spec_id:
            raise ExternalError(
                f"{self._who}: the table's partitioning was changed while data was written for it (number "
                f"{file.spec}, now {table.metadata.default_spec_id}); stop jobs that write to a table "
                f"before its partitioning is changed, or change it back"
            )
        made = words.DataFile.from_args(
            content=words.DataFileContent.DATA,
            file_path=file.path,
            file_format=words.FileFormat.PARQUET,
            partition=record(*file.partition),
            file_size_in_bytes=file.size,
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
            **file.statistics,
        )
        made.spec_id = file.spec
        return made


def _partition_name(column: str, transform: str) -> str:
    return column if transform == "identity" else f"{column}_{transform.partition('[')[0]}"
