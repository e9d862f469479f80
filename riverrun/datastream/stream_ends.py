"""The ends of streams: where records leave the program."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, overload

from riverrun.api.functions import KeySelector, SinkFunction
from riverrun.api.resolve import key_callable
from riverrun.api.serialization import SerializationSchema
from riverrun.api.sink import Sink
from riverrun.api.unusable import refuse_unusable
from riverrun.connectors.base.global_commit import GlobalCommitSink
from riverrun.connectors.collect import CollectSink
from riverrun.connectors.function_sink import FunctionSink
from riverrun.connectors.print import PrintSink
from riverrun.connectors.sockets.sink import SocketSink
from riverrun.connectors.spark.sinks import DataFrameSink, ForeachBatchSink, FrameFunction
from riverrun.connectors.view import UpsertView
from riverrun.connectors.view_sink import ViewSink
from riverrun.core.errors import ProgramError
from riverrun.datastream.collect import CloseableIterator, ResultBuffer
from riverrun.datastream.data_stream_sink import DataStreamSink
from riverrun.datastream.job_client import run_to_end
from riverrun.datastream.program import Program
from riverrun.graph.partitioning import Hash
from riverrun.graph.specs import (
    FilterSpec,
    ReduceSpec,
    SinkSpec,
    SinkWriterSpec,
    SourceSpec,
    TimestampsAndWatermarksSpec,
)
from riverrun.graph.transformations import (
    PartitionTransformation,
    SideOutputTransformation,
    UnionTransformation,
    Upstream,
)
from riverrun.serde.type_info import TypeInformation


def declared_type(upstream: Upstream) -> TypeInformation | None:
    """The type that the program declared for the records; ``None``: none, or one was only inferred."""
    match upstream:
        case PartitionTransformation():
            return declared_type(upstream.input)
        case SideOutputTransformation():
            return upstream.output_type
        case UnionTransformation():
            types = [declared_type(each) for each in upstream.inputs]
            return types[0] if all(each == types[0] for each in types) else None
    match upstream.spec:
        case SourceSpec(source):
            return upstream.output_type if upstream.enforce_type else source.get_produced_type()
        case FilterSpec() | ReduceSpec() | TimestampsAndWatermarksSpec():
            return declared_type(upstream.inputs[0])
    return upstream.output_type if upstream.enforce_type else None


def record_type(upstream: Upstream) -> TypeInformation | None:
    """The type of the records as far as it is known, declared or inferred."""
    match upstream:
        case PartitionTransformation():
            return record_type(upstream.input)
        case UnionTransformation():
            types = [record_type(each) for each in upstream.inputs]
            return types[0] if all(each == types[0] for each in types) else None
    return upstream.output_type


class StreamEnds:
    """The methods of a stream that end it."""

    _program: Program
    _upstream: Upstream

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print each record on the standard output of the process that runs the program."""
        sink = PrintSink(sink_identifier, declared_type(self._upstream))
        return self._into("Print to Std. Out", sink)

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print each record on the standard error of the process that runs the program."""
        sink = PrintSink(sink_identifier, declared_type(self._upstream), std_err=True)
        return self._into("Print to Std. Err", sink)

    def write_to_socket(
        self, host_name: str, port: int, schema: SerializationSchema
    ) -> DataStreamSink:
        """Send each record to a server over TCP, followed by a line feed."""
        return self._into("Socket", SocketSink(host_name, port, schema))

    def sink_to(self, sink: Sink[Any]) -> DataStreamSink:
        """Write the records to ``sink``."""
        if not isinstance(sink, Sink):
            raise TypeError(f"sink_to: got {sink!r}; expected a Sink; add_sink() takes functions")
        refuse_unusable("sink_to", sink)
        return self._into(type(sink).__name__, sink)

    def add_sink(self, sink_func: SinkFunction | Callable[[Any], Any]) -> DataStreamSink:
        """Call ``sink_func`` with each record, in the workers."""
        refuse_unusable("add_sink", sink_func)
        if isinstance(sink_func, SinkFunction) and isinstance(sink_func, Sink):
            return self.sink_to(sink_func)  # a sink that PyFlink has as a function
        return self._into("Unnamed", FunctionSink(sink_func))

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None) -> CloseableIterator: ...
    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...
    @overload
    def execute_and_collect(self, *, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and give this stream's records while it runs.

        Without ``limit`` an iterator that should be closed (it is a context manager); with it a list
        of at most that many records, after which the job is cancelled if it still runs.
        """
        results = ResultBuffer()
        self._into("Collect", CollectSink(results))
        iterator = CloseableIterator(results, self._program.submit(job_execution_name))
        if limit is None:
            return iterator
        with iterator:
            return list(islice(iterator, limit))

    def to_spark(
        self,
        spark: object | None = None,
        *,
        staging: str | None = None,
        job_name: str | None = None,
    ) -> Any:
        """Run the program, and give this stream's records as a ``pyspark.sql.DataFrame``.

        The stream must be bounded and its type declared: the fields of a record are the columns.

        Args:
            spark: the session of the DataFrame; without it the one that runs the program.
            staging: a folder for the records that is kept; without it they go away with this process.
            job_name: the job's name.
        """
        endless = self._program.unbounded_source()
        if endless is not None:
            raise ProgramError(
                f"to_spark: the source {endless!r} never ends, so there would never be a DataFrame; "
                f"use for_each_batch(), or bound the source"
            )
        sink = DataFrameSink(record_type(self._upstream), staging)
        self._into("To Spark", sink)
        run_to_end(self._program.submit(job_name))
        return sink.result(spark)

    def for_each_batch(self, fn: FrameFunction, *, staging: str | None = None) -> DataStreamSink:
        """Call ``fn(dataframe, number)`` in this process with the records of each checkpoint.

        As ``foreachBatch`` of Structured Streaming; see ``ForeachBatchSink`` for what is guaranteed. The
        type of the stream must be declared: the fields of a record are the columns.
        """
        sink = ForeachBatchSink(fn, record_type(self._upstream), staging)
        return self._into("For Each Batch", sink)

    def to_view(
        self,
        key: KeySelector | Callable[[Any], Any],
        value: Callable[[Any], Any] | None = None,
        name: str = "View",
    ) -> UpsertView:
        """The latest value of each key, as a mapping in this process that the running job keeps up to date.

        Args:
            key: the key of a record; records of one key go through one subtask.
            value: what the view holds of a record; the record itself, if not given. None, or a row of
                kind DELETE or UPDATE_BEFORE, deletes the key.
            name: of the operator, and of the view in messages.
        """
        bare = key_callable(key)
        view = UpsertView(name, declared_type(self._upstream) if value is None else None)
        by_key = PartitionTransformation(self._upstream, Hash(bare))
        self._program.add(name, SinkSpec(ViewSink(view, bare, value)), [by_key])
        return view

    def _into(self, name: str, sink: Sink[Any]) -> DataStreamSink:
        if not sink.commits_globally:
            operator = self._program.add(name, SinkSpec(sink), [self._upstream])
            return DataStreamSink(self._program, operator)
        writers = self._program.add(f"{name}: Writer", SinkWriterSpec(sink), [self._upstream])
        committer = self._program.add(
            f"{name}: Committer",
            SinkSpec(GlobalCommitSink(sink)),
            [writers],
            forced_parallelism=1,
        )
        return DataStreamSink(self._program, writers, committer)
