"""A source of the rows of a DataFrame, partition by partition."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.api.client_side import ClientSide, PreparedByClient
from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.base.table_columns import run_of_table, type_of_table
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.spark.staging import StagedFile, StagePartition, Staging, refuse_remote
from riverrun.core.errors import ExternalError, ProgramError
from riverrun.graph.dataframes import dataframes
from riverrun.serde.columns import ColumnLayout, ColumnRun, known_layout
from riverrun.serde.type_info import TypeInformation
from riverrun.storage.storage import FileMissing

__all__ = ["DataFrameSource", "FrameSplit"]

_WHO: Final = "from_spark"
_MANIFEST: Final = "_staged.json"


@dataclass(frozen=True, slots=True)
class FrameSplit:
    """The rows of a partition from ``offset`` on; lives in checkpoints."""

    location: str
    rows: int
    offset: int = 0


class DataFrameSource(Source[Any], PreparedByClient):
    """Reads a batch DataFrame as a bounded stream of rows, in its own partitions.

    When the job is submitted, Spark runs the DataFrame once and leaves every partition as a Parquet file.
    Readers remember the row they have come to, so a job goes on exactly there after a failure, whatever the
    DataFrame would give if it were run again.

    Args:
        frame: a ``pyspark.sql.DataFrame`` of the Spark session that runs the program's jobs.
        staging: a folder for these files that is not removed. A program that is started again finds them
            there and reads the same rows; without it the files go away when the job ends.
    """

    gives_columns: ClassVar[bool] = True

    def __init__(self, frame: object, staging: str | None = None) -> None:
        frames = dataframes(_WHO)
        frames.check_frame(_WHO, frame)
        self._frame: object | None = frame
        self._given = staging
        self._schema = frames.arrow_schema(frame)
        try:
            self._type = type_of_table(self._schema)
        except TypeError as error:
            raise ProgramError(f"{_WHO}: {error}") from error
        self._staging: Staging | None = None
        self._files: tuple[StagedFile, ...] = ()

    def prepare(self, client: ClientSide) -> None:
        refuse_remote(client, _WHO)
        frames = dataframes(_WHO)
        staging = self._staging = Staging.of(client, frames, self._given, _WHO)
        temporary = staging.temporary_folder()
        if temporary is not None:
            session = frames.session(_WHO, getattr(self._frame, "sparkSession", None))
            frames.delete_at_exit(session, temporary)
        found = self._found(staging)
        if found is not None:
            self._files = found
            return
        written = frames.for_each_partition(self._frame, StagePartition(staging, self._schema))
        self._files = tuple(each for each in written if each is not None)
        self._note(staging)

    def release(self, *, finished: bool) -> None:
        del finished
        if self._staging is not None:
            self._staging.remove()

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [FrameSplit(each.location, each.rows) for each in self._files]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        del context
        assert self._staging is not None  # noqa: S101  (prepared before it was sent)
        return _FrameReader(splits, self._staging.store, known_layout(self._type))

    def get_produced_type(self) -> TypeInformation:
        return self._type

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_frame": None}

    def _found(self, staging: Staging) -> tuple[StagedFile, ...] | None:
        """What a run of the program before left in the folder that it was given."""
        if staging.is_own:
            return None
        try:
            with staging.store.open(f"{staging.folder}/{_MANIFEST}") as file:
                noted = json.loads(file.read())
        except FileMissing:
            return None
        except ValueError:  # the program died while it wrote it, before it submitted anything
            return None
        if noted["columns"] != _columns(self._schema):
            raise ProgramError(
                f"{_WHO}: the folder {staging.folder!r} holds rows with the columns {noted['columns']!r}, "
                f"the DataFrame has {_columns(self._schema)!r}; give another folder, or empty this one"
            )
        return tuple(StagedFile(location, rows) for location, rows in noted["files"])

    def _note(self, staging: Staging) -> None:
        if staging.is_own:
            return
        noted = {
            "columns": _columns(self._schema),
            "files": [[each.location, each.rows] for each in self._files],
        }
        with staging.store.create(f"{staging.folder}/{_MANIFEST}") as file:
            file.write(json.dumps(noted).encode())


class _FrameReader(SourceReader[Any]):
    """Reads its splits one after the other."""

    def __init__(self, splits: list[FrameSplit], store: FileStore, layout: ColumnLayout) -> None:
        self._waiting = deque(splits)
        self._store = store
        self._layout = layout
        self._open: _OpenFile | None = None

    def poll(self, limit: int) -> Polled:
        if self._open is None:
            if not self._waiting:
                return Polled(status=SourceStatus.END_OF_INPUT)
            self._open = _OpenFile(self._waiting.popleft(), self._store, self._layout)
        run = self._open.read(limit)
        if self._open.split.offset >= self._open.split.rows:
            self._open.close()
            self._open = None
        return Polled(run)

    def snapshot_splits(self) -> list[Any]:
        return [*([] if self._open is None else [self._open.split]), *self._waiting]

    def close(self) -> None:
        if self._open is not None:
            self._open.close()


class _OpenFile:
    """A staged file, read a row group at a time."""

    def __init__(self, split: FrameSplit, store: FileStore, layout: ColumnLayout) -> None:
        self.split = split
        self._layout = layout
        try:
            self._input = store.open(split.location)
        except FileMissing as error:
            raise ExternalError(
                f"{_WHO}: the file {split.location!r} with the rows of the DataFrame is gone; it goes away "
                f"with the job that it was written for: a program that goes on from a checkpoint of "
                f"another job needs from_spark(..., staging=...)"
            ) from error
        self._file = pq.ParquetFile(self._input)
        self._group = -1
        self._first = self._end = 0
        self._run: ColumnRun | None = None

    def read(self, limit: int) -> ColumnRun:
        """At most ``limit`` rows that follow."""
        while self._run is None or self.split.offset >= self._end:
            self._next_group()
        start = self.split.offset - self._first
        run = self._run[start : start + limit]
        self.split = replace(self.split, offset=self.split.offset + len(run))
        return run

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._input.close()

    def _next_group(self) -> None:
        self._group += 1
        self._first = self._end
        self._end += self._file.metadata.row_group(self._group).num_rows
        if self.split.offset >= self._end:
            return
        table = self._file.read_row_group(self._group).combine_chunks()
        batches = table.to_batches()
        rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        self._run = run_of_table(self._layout, rows)


def _columns(schema: pa.Schema) -> list[str]:
    return [f"{field.name}: {field.type}" for field in schema]
