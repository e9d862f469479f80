"""Parquet files between a stream and Spark: where they are, who writes them, and when they go away."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.api.client_side import ClientSide
from riverrun.connectors.base.rolling_parquet import RollingParquet
from riverrun.connectors.files.paths import FileStore, location_of
from riverrun.core import options
from riverrun.core.errors import ConfigError, ProgramError
from riverrun.graph.dataframes import DataFrames
from riverrun.storage.open import absolute_location

__all__ = ["StagePartition", "StagedFile", "StagedFiles", "Staging", "refuse_remote"]

_COMPRESSION: Final = "lz4"
_TARGET_SIZE: Final = 256 << 20
_ROWS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A complete file; lives in checkpoints."""

    location: str
    rows: int


@dataclass(frozen=True, slots=True)
class Staging:
    """A folder of staged files, and how to reach it; picklable."""

    folder: str
    store: FileStore
    is_own: bool
    """Whether it was made for one job, and goes away with it."""
    is_temporary: bool = False
    """Whether it is on this machine alone, and of no use when this process is gone."""

    @staticmethod
    def of(client: ClientSide, frames: DataFrames, given: str | None, who: str) -> Staging:
        """The folder that is given, else one of its own: beside the checkpoints, or on this machine.

        Raises:
            ConfigError: tasks run on several machines, and no folder is known that all of them reach.
        """
        config = client.config
        store = FileStore().within(config)
        if given is not None:
            return Staging(location_of(given), store, is_own=False)
        root = options.CHECKPOINT_DIR.get(config)
        if root is not None:
            return Staging(f"{absolute_location(root)}/spark-{uuid4().hex}", store, is_own=True)
        if not _one_machine(client, frames):
            raise ConfigError(
                f"{who}: the tasks of this job run on several machines, and no folder is known that all "
                f"of them reach; set {options.CHECKPOINT_DIR.key!r}, or give staging=..."
            )
        folder = tempfile.mkdtemp(prefix="riverrun-spark-")
        return Staging(folder, store, is_own=True, is_temporary=True)

    def new_location(self, number: int) -> str:
        """Where one more file goes."""
        return f"{self.folder}/part-{number:05d}-{uuid4().hex}.parquet"

    def remove(self) -> None:
        """Remove the folder, if it is one of our own."""
        if not self.is_own:
            return
        if "://" not in self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        if not self.store.is_folder(self.folder):
            return  # nothing was written
        for each in self.store.files(self.folder, hidden=True):
            self.store.delete(each.location)

    def temporary_folder(self) -> Path | None:
        """The folder, if Spark may remove it when it ends.

        One beside the checkpoints stays as they do: a job may go on from them after this process.
        """
        return Path(self.folder) if self.is_temporary else None


class StagedFiles:
    """Satisfies ``DataFiles``: files of one subtask without partitions."""

    def __init__(self, staging: Staging, subtask: int) -> None:
        self._staging = staging
        self._subtask = subtask

    def rolling(self, schema: pa.Schema) -> RollingParquet:
        """What writes them."""
        return RollingParquet(self, schema, target_size=_TARGET_SIZE, compression=_COMPRESSION)

    def create(self, partition: tuple[Any, ...]) -> tuple[str, Any]:
        del partition
        location = self._staging.new_location(self._subtask)
        return location, self._staging.store.create(location)

    def facts(
        self, path: str, partition: tuple[Any, ...], size: int, metadata: pq.FileMetaData
    ) -> StagedFile:
        del partition, size
        return StagedFile(path, metadata.num_rows)


class StagePartition:
    """Writes a partition of a DataFrame as one file; runs in Spark's tasks."""

    def __init__(self, staging: Staging, schema: pa.Schema) -> None:
        self._staging = staging
        self._schema = schema

    def __call__(self, number: int, batches: Iterator[pa.RecordBatch]) -> StagedFile | None:
        """The file, or None for a partition without rows."""
        location = self._staging.new_location(number)
        rows = 0
        writer: pq.ParquetWriter | None = None
        out: Any = None
        try:
            for table in _tables(batches, self._schema):
                if writer is None:
                    out = self._staging.store.create(location)
                    writer = pq.ParquetWriter(out, self._schema, compression=_COMPRESSION)
                writer.write_table(table, row_group_size=_ROWS)
                rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()
                out.close()
        return StagedFile(location, rows) if rows else None


def refuse_remote(client: ClientSide, who: str) -> None:
    """Raise ProgramError if the job runs in a JobManager, which has another Spark than the program."""
    if client.is_remote:
        raise ProgramError(
            f"{who}: the job runs in the JobManager at {client.master!r}, and DataFrames belong to the Spark "
            f"session of the program; run the program with a master of its own, such as 'local[4]' or "
            f"'spark://...', or use files or a table of a lake between the two"
        )


def _tables(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Batches together, so that row groups are not small."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS:
            yield pa.Table.from_batches(waiting).cast(schema)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).cast(schema)


def _one_machine(client: ClientSide, frames: DataFrames) -> bool:
    if client.session is not None:
        return frames.one_machine(client.session)
    return client.master.startswith(("local", "in-process")) and "cluster" not in client.master
