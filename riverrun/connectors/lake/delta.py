"""A sink that adds records to a Delta table, exactly once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from riverrun.api.sink import GlobalCommitter, SinkWriterContext
from riverrun.connectors.base.extras import require
from riverrun.connectors.lake.committing import Conflict, TableCommitter, said_by
from riverrun.connectors.lake.delta_files import (
    DeltaDataFiles,
    DeltaFile,
    can_partition,
    partition_text,
)
from riverrun.connectors.lake.delta_storage import delta_options, file_system
from riverrun.connectors.lake.partitions import PartitionField
from riverrun.connectors.lake.settings import LakeSettings
from riverrun.connectors.lake.table_check import (
    TableMismatch,
    check_columns,
    check_partitions,
    missing_columns,
    wanted_columns,
)
from riverrun.connectors.lake.writer import LakeSink, LakeTable, OpenTable
from riverrun.core.errors import ExternalError, ProgramError
from riverrun.serde.type_info import TypeInformation

__all__ = ["DeltaSink"]

_USUAL: Final = LakeSettings()


class DeltaSink(LakeSink):
    """Appends records to a Delta table; each checkpoint is one version of the table.

    Data files are written while records come and become part of the table, all together, when the
    checkpoint that covers them is complete. The commit carries the number of the checkpoint as Delta's
    application transaction, so that a commit that is repeated after a failure adds nothing.

    Args:
        table: the table's folder: a path, or the address of an object store such as ``s3://bucket/orders``.
        row_type: the type of the records; its fields are the columns.
        partition_by: the columns that a table which is created is partitioned by.
        storage_options: how to reach an object store, in deltalake's words (``AWS_ACCESS_KEY_ID`` ...);
            what is not said comes from the job's ``s3.`` options.
        settings: whether the table may be created or changed, and how large files are.

    Raises:
        MissingExtra: the package deltalake is not installed.
        ProgramError: records of this type cannot be rows of a table.
    """

    def __init__(
        self,
        table: str | os.PathLike[str],
        row_type: TypeInformation,
        *,
        partition_by: Sequence[str] = (),
        storage_options: Mapping[str, str] | None = None,
        settings: LakeSettings = _USUAL,
    ) -> None:
        require("deltalake", extra="delta", user="DeltaSink")
        super().__init__(f"DeltaSink {str(table)!r}", row_type, settings)
        # Workers have other working directories than the program.
        self._table = str(table) if "://" in str(table) else os.path.abspath(table)  # noqa: PTH100
        self._partition_by = tuple(partition_by)
        self._storage_options = dict(storage_options or {})
        _check_partition_columns(self._who, self._columns, self._partition_by)

    def create_global_committer(self, context: SinkWriterContext) -> GlobalCommitter:
        return DeltaCommitter(self.table(context), self._settings.commit_attempts)

    def table(self, context: SinkWriterContext) -> DeltaLakeTable:
        stored = delta_options(self._table, context.config, self._storage_options)
        return DeltaLakeTable(self._who, self._table, self._partition_by, self._settings, stored)

    def __repr__(self) -> str:
        return f"DeltaSink({self._table!r})"


@dataclass(frozen=True)
class DeltaLakeTable(LakeTable):
    """A Delta table by its address."""

    who: str
    uri: str
    partition_by: tuple[str, ...]
    settings: LakeSettings
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def load(self) -> Any:
        """The table as it is now; None if there is none."""
        deltalake = require("deltalake", extra="delta", user=self.who)
        missing = require("deltalake.exceptions", extra="delta", user=self.who).TableNotFoundError
        try:
            return deltalake.DeltaTable(self.uri, storage_options=self._options())
        except missing:
            return None
        except Exception as error:
            raise self.trouble("cannot be read", error) from error

    def open(self, records: pa.Schema, transaction: str, subtask: int) -> OpenTable:
        table = self.load() or self._created(records)
        if self.settings.add_columns:
            table = self._widened(table, records)
        columns = pa.schema(table.schema().to_arrow())
        check_columns(self.who, records, columns)
        partition_by = list(table.metadata().partition_columns)
        check_partitions(self.who, self.partition_by, partition_by)
        absent = [name for name in partition_by if name not in records.names]
        if absent:
            raise TableMismatch(
                f"{self.who}: the table is partitioned by {absent[0]!r}, which the records lack; they "
                f"have {records.names!r}"
            )
        wanted = wanted_columns(records, columns)
        return OpenTable(
            files=DeltaDataFiles(
                file_system(self.uri, self.storage_options), partition_by, transaction, subtask
            ),
            columns=wanted,
            file_columns=pa.schema([each for each in wanted if each.name not in partition_by]),
            partition_by=[PartitionField(name, partition_text) for name in partition_by],
        )

    def _created(self, records: pa.Schema) -> Any:
        if not self.settings.create:
            raise ExternalError(
                f"{self.who}: there is no Delta table; create it, or set LakeSettings(create=True)"
            )
        deltalake = require("deltalake", extra="delta", user=self.who)
        try:
            # Every writer tries; the first one makes it, and all find it.
            deltalake.DeltaTable.create(
                self.uri,
                deltalake.Schema.from_arrow(records),
                mode="ignore",
                partition_by=list(self.partition_by),
                configuration=self.settings.table_properties or None,
                storage_options=self._options(),
            )
        except Exception as error:
            if (table := self.load()) is not None:
                return table
            raise self.trouble("cannot be created", error) from error
        return self.load()

    def _widened(self, table: Any, records: pa.Schema) -> Any:
        """The table with the columns that it lacks; another writer may have added them meanwhile."""
        deltalake = require("deltalake", extra="delta", user=self.who)
        failure: Exception | None = None
        for _ in range(self.settings.commit_attempts):
            missing = missing_columns(records, pa.schema(table.schema().to_arrow()))
            if not missing:
                return table
            fields = deltalake.Schema.from_arrow(
                pa.schema([records.field(n) for n in missing])
            ).fields
            try:
                table.alter.add_columns(fields)
            except Exception as error:  # noqa: BLE001  (the table decides: has it the columns now?)
                failure = error
            table = self.load()
        raise self.trouble("does not take more columns", failure)

    def _options(self) -> dict[str, str] | None:
        return dict(self.storage_options) or None

    def trouble(self, what: str, error: Exception | None) -> ExternalError:
        """The error for what a table's own software said; that of a library may not even pickle."""
        return ExternalError(
            f"{self.who}: the table {what} ({said_by(error)}); check the address, the "
            f"rights of the job's user and storage_options"
        )


class DeltaCommitter(TableCommitter[Any]):
    """Adds data files to a Delta table, with an application transaction for each sink and checkpoint."""

    def __init__(self, table: DeltaLakeTable, attempts: int) -> None:
        super().__init__(table.who, attempts)
        self._table = table

    def load(self) -> Any:
        table = self._table.load()
        if table is None:
            raise self.gone()
        return table

    def committed(self, table: Any, transaction: str) -> int | None:
        version: int | None = table.transaction_version(transaction)
        return version

    def add(self, table: Any, checkpoint: int, files: Mapping[str, Sequence[DeltaFile]]) -> None:
        words = require("deltalake.transaction", extra="delta", user=self._who)
        errors = require("deltalake.exceptions", extra="delta", user=self._who)
        properties = words.CommitProperties(
            app_transactions=[words.Transaction(each, checkpoint) for each in files],
            custom_metadata={"riverrun.checkpoint": str(checkpoint)},
            # Who repeats has to read the transactions of the version in between.
            max_commit_retries=0,
        )
        actions = [
            words.AddAction(
                path=file.path,
                size=file.size,
                partition_values=dict(file.partition),
                modification_time=file.modified,
                data_change=True,
                stats=file.statistics,
            )
            for each in files.values()
            for file in each
        ]
        try:
            table.create_write_transaction(
                actions,
                "append",
                table.schema(),
                list(table.metadata().partition_columns),
                commit_properties=properties,
            )
        except errors.CommitFailedError as error:
            raise Conflict(str(error)) from error
        except Exception as error:
            raise self._table.trouble(f"does not take checkpoint {checkpoint}", error) from error


def _check_partition_columns(who: str, columns: pa.Schema, partition_by: Sequence[str]) -> None:
    for name in partition_by:
        if name not in columns.names:
            raise ProgramError(
                f"{who}: is to be partitioned by {name!r}; expected some of the columns {columns.names!r}"
            )
        if not can_partition(columns.field(name).type):
            raise ProgramError(
                f"{who}: is to be partitioned by {name!r}, which is {columns.field(name).type}; expected "
                f"text, whole numbers, booleans, dates or timestamps"
            )
    if len(partition_by) == len(columns):
        raise ProgramError(f"{who}: all its columns are partitions; expected one that is not")
