"""The writer of a lake's table: records become rows, rows become data files, files are committed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import uuid4

import pyarrow as pa

from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext
from riverrun.connectors.base.rolling_parquet import DataFiles, RollingParquet
from riverrun.connectors.base.table_columns import (
    NotARowOfATable,
    table_batch,
    table_layout,
    table_schema,
)
from riverrun.connectors.lake.partitions import PartitionField, split
from riverrun.connectors.lake.settings import LakeSettings
from riverrun.core.errors import ExternalError
from riverrun.serde.columns import ColumnLayout
from riverrun.serde.type_info import TypeInformation

__all__ = ["LakeSink", "LakeTable", "LakeWriter", "OpenTable", "data_file_name", "transaction_id"]


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table that was found to take the records."""

    files: DataFiles
    columns: pa.Schema
    """The columns of the records, as the table has them."""
    file_columns: pa.Schema
    """Those of them that are in data files."""
    partition_by: Sequence[PartitionField]


class LakeTable(ABC):
    """How a kind of table is opened; picklable, holds no connection."""

    who: str
    """The sink, for messages."""

    @abstractmethod
    def open(self, records: pa.Schema, transaction: str, subtask: int) -> OpenTable:
        """Find the table or create it, and check that it takes ``records``.

        Args:
            records: the columns of the records.
            transaction: what data files are to be committed under.
            subtask: whose files they are.

        Raises:
            TableMismatch: it does not take them.
            ExternalError: it cannot be reached, or is missing and not to be created.
        """


class LakeSink(Sink[Any]):
    """What sinks of all kinds of tables have in common.

    Args:
        who: the sink, for messages.
        row_type: the type of the records.
        settings: how the table is treated.

    Raises:
        ProgramError: records of this type cannot be rows of a table.
    """

    takes_columns: ClassVar[bool] = True
    commits_globally: ClassVar[bool] = True

    def __init__(self, who: str, row_type: TypeInformation, settings: LakeSettings) -> None:
        self._who = who
        self._row_type = row_type
        self._settings = settings
        self._made = uuid4().hex[:12]
        self._columns = table_schema(table_layout(who, row_type))

    @abstractmethod
    def table(self, context: SinkWriterContext) -> LakeTable:
        """The table, as it is reached from where the job runs."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return LakeWriter(
            self.table(context),
            table_layout(self._who, self._row_type),
            self._columns,
            self._settings,
            context,
            transaction_id(self._made, context),
        )


class LakeWriter(SinkWriter[Any]):
    """Writes data files of one table; each checkpoint closes them and hands them over."""

    def __init__(
        self,
        table: LakeTable,
        layout: ColumnLayout,
        records: pa.Schema,
        settings: LakeSettings,
        context: SinkWriterContext,
        transaction: str,
    ) -> None:
        self._table = table
        self._layout = layout
        self._records = records
        self._settings = settings
        self._subtask = context.subtask_index
        self._transaction = transaction
        self._opened: OpenTable | None = None
        self._rolling: RollingParquet | None = None

    def open(self) -> None:
        opened = self._opened = self._table.open(self._records, self._transaction, self._subtask)
        self._rolling = RollingParquet(
            opened.files,
            opened.file_columns,
            target_size=self._settings.target_file_size,
            compression=self._settings.compression,
        )

    def write(self, value: Any, timestamp: int | None) -> None:
        self.write_run([value], None if timestamp is None else [timestamp])

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        opened, rolling = self._opened, self._rolling
        assert opened is not None and rolling is not None  # noqa: S101, PT018  (opened before)
        batch = table_batch(self._layout.run_of(values), opened.columns)
        columns = opened.file_columns
        for partition, rows in split(batch, opened.partition_by):
            part = self._typed(rows.select(columns.names), columns)
            with self._reported():
                rolling.add(partition, part)

    def prepare_commit(self) -> list[Any]:
        assert self._rolling is not None  # noqa: S101  (opened before)
        with self._reported():
            return self._rolling.close_all()

    def close(self) -> None:
        if self._rolling is not None:
            self._rolling.abandon()

    def _typed(self, rows: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
        try:
            return rows.cast(columns)
        except ValueError as error:
            raise NotARowOfATable(
                f"{self._table.who}: a record does not fit the table ({error}); fill in what is missing, "
                f"or filter such records out before"
            ) from error

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            said = str(error).partition("\n")[0]
            raise ExternalError(
                f"{self._table.who}: a data file cannot be written ({type(error).__name__}: {said}); see "
                f"whether the disk or the store has room, is reachable, and may be written to"
            ) from error


def transaction_id(made: str, context: SinkWriterContext) -> str:
    """What the files of a sink are committed under: of this sink in this job, and of no other.

    ``made`` is the sink's own mark. A job that is started anew under the id of an older one counts its
    checkpoints from one again, and is told apart by it.
    """
    job = context.runtime_context().get_job_id()
    return "-".join(["riverrun", *filter(None, (job, context.operator_id)), made])


def data_file_name(subtask: int) -> str:
    """A name that no other data file has."""
    return f"part-{subtask:05d}-{uuid4()}.parquet"
