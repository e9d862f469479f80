"""Sinks that end in DataFrames: of a whole stream, and of the records of each checkpoint."""

from __future__ import annotations

import atexit
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa

from riverrun.api.client_side import ClientSide, PreparedByClient
from riverrun.api.sink import (
    ClientChannel,
    Committable,
    Committer,
    GlobalCommitter,
    Sink,
    SinkWriter,
    SinkWriterContext,
)
from riverrun.connectors.base.rolling_parquet import RollingParquet
from riverrun.connectors.base.table_columns import table_batch, table_schema
from riverrun.connectors.spark.staging import StagedFile, StagedFiles, Staging, refuse_remote
from riverrun.core.errors import ProgramError
from riverrun.graph.dataframes import dataframes
from riverrun.serde.columns import ColumnLayout, known_layout, layout_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["DataFrameSink", "ForeachBatchSink", "FrameFunction"]

FrameFunction: TypeAlias = Callable[[Any, int], object]
"""Called with (DataFrame, number of the batch)."""


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """All files of one checkpoint."""

    number: int
    files: tuple[StagedFile, ...]


class _StagingSink(Sink[Any], PreparedByClient):
    """Writes records as Parquet files into a folder of the job."""

    takes_columns: ClassVar[bool] = True

    def __init__(self, who: str, row_type: TypeInformation | None, staging: str | None) -> None:
        if row_type is None or layout_of(row_type) is None:
            raise ProgramError(
                f"{who}: the type of the records is {row_type!r}; expected one that is declared and has a "
                f"form in Arrow, since it becomes the columns of the DataFrame: give the operator before "
                f"an output_type"
            )
        self._who = who
        self._type = row_type
        self._given = staging
        self._staging: Staging | None = None
        self._session: object | None = None

    def prepare(self, client: ClientSide) -> None:
        refuse_remote(client, self._who)
        frames = dataframes(self._who)
        self._session = frames.session(self._who, client.session)
        self._staging = Staging.of(client, frames, self._given, self._who)
        temporary = self._staging.temporary_folder()
        if temporary is not None:
            frames.delete_at_exit(self._session, temporary)

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        assert self._staging is not None  # noqa: S101  (prepared before it was sent)
        return _StagedWriter(self._staging, self.layout(), context.subtask_index)

    def layout(self) -> ColumnLayout:
        """The columns of the records."""
        return known_layout(self._type)

    def schema(self) -> pa.Schema:
        """The columns of the DataFrame."""
        return table_schema(self.layout())

    def frame(self, files: Sequence[StagedFile], spark: object | None = None) -> object:
        """A DataFrame of these files, in the client's process."""
        frames = dataframes(self._who)
        session = frames.session(self._who, self._session if spark is None else spark)
        locations = sorted(each.location for each in files)
        return frames.read_parquet(session, locations, self.schema())

    @abstractmethod
    def client_handler(self) -> Callable[[int, Sequence[Any]], None]: ...

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}


class DataFrameSink(_StagingSink):
    """Collects the files of a bounded stream; `result` is a DataFrame of them."""

    def __init__(self, row_type: TypeInformation | None, staging: str | None = None) -> None:
        super().__init__("to_spark", row_type, staging)
        self._files: list[StagedFile] = []

    def create_committer(self, context: SinkWriterContext) -> Committer:
        return _ToClient(context.to_client)

    def client_handler(self) -> Callable[[int, Sequence[Any]], None]:
        def take(subtask: int, values: Sequence[Any]) -> None:
            del subtask
            self._files += values

        return take

    def release(self, *, finished: bool) -> None:
        if self._staging is not None and not finished:
            self._staging.remove()

    def result(self, spark: object | None) -> object:
        """The records of a job that finished; the files stay until this process ends."""
        assert self._staging is not None  # noqa: S101  (the job has run)
        atexit.register(self._staging.remove)
        return self.frame(self._files, spark)


class ForeachBatchSink(_StagingSink):
    """Calls a function with the records of each checkpoint as a DataFrame, in the client's process.

    When a checkpoint is complete, ``fn(frame, number)`` is called with the records between it and the one
    before, and with its number. Numbers grow, not always by one, and a checkpoint without records is left
    out. Without checkpoints there is one call, when the stream ends.

    A batch reaches the process once. If that process dies and another goes on with the job, the last
    batch may come a second time, with the same number and the same records: as in Structured Streaming,
    a function that must not do its work twice remembers the number together with its work.

    Args:
        fn: called with a ``pyspark.sql.DataFrame`` that is valid during the call, and the number.
        row_type: the type of the records, which becomes the DataFrame's columns.
        staging: the folder for records on their way; beside the checkpoints if there is none.
    """

    commits_globally: ClassVar[bool] = True

    def __init__(
        self, fn: FrameFunction, row_type: TypeInformation | None, staging: str | None = None
    ) -> None:
        if not callable(fn):
            raise TypeError(
                f"for_each_batch: got {fn!r}; expected a callable of a DataFrame and a number"
            )
        super().__init__("for_each_batch", row_type, staging)
        self._fn: FrameFunction | None = fn
        self._last: StagedBatch | None = None

    def create_global_committer(self, context: SinkWriterContext) -> GlobalCommitter:
        return _BatchToClient(context.to_client)

    def client_handler(self) -> Callable[[int, Sequence[Any]], None]:
        def take(subtask: int, values: Sequence[Any]) -> None:
            del subtask
            for batch in values:
                self._deliver(batch)

        return take

    def release(self, *, finished: bool) -> None:
        # A job that goes on from a checkpoint of this one hands the last batch over again.
        if self._staging is not None and finished:
            self._staging.remove()

    def _deliver(self, batch: StagedBatch) -> None:
        assert self._fn is not None and self._staging is not None  # noqa: S101, PT018  (of the client)
        self._fn(self.frame(batch.files), batch.number)
        # No checkpoint that a job would go on from has the batch before: it was delivered.
        gone, self._last = self._last, batch
        for file in () if gone is None else gone.files:
            self._staging.store.delete(file.location)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_fn": None}


class _StagedWriter(SinkWriter[Any]):
    def __init__(self, staging: Staging, layout: ColumnLayout, subtask: int) -> None:
        self._layout = layout
        self._schema = table_schema(layout)
        self._rolling: RollingParquet = StagedFiles(staging, subtask).rolling(self._schema)

    def write(self, value: Any, timestamp: int | None) -> None:
        self.write_run([value], None if timestamp is None else [timestamp])

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        self._rolling.add((), table_batch(self._layout.run_of(values), self._schema))

    def prepare_commit(self) -> list[Any]:
        return self._rolling.close_all()

    def close(self) -> None:
        self._rolling.abandon()


class _ToClient(Committer):
    def __init__(self, to_client: ClientChannel) -> None:
        self._to_client = to_client

    def commit(self, committables: Sequence[Committable]) -> None:
        for committable in committables:
            self._to_client.send([committable.value], committable.id)


class _BatchToClient(GlobalCommitter):
    def __init__(self, to_client: ClientChannel) -> None:
        self._to_client = to_client

    def commit(self, checkpoint: int, committables: Sequence[Any]) -> None:
        self._to_client.send([StagedBatch(checkpoint, tuple(committables))], str(checkpoint))
