"""The ends of streams: where records leave the program."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, overload

from riverrun.api.functions import SinkFunction
from riverrun.api.serialization import SerializationSchema
from riverrun.api.sink import Sink
from riverrun.api.unusable import refuse_unusable
from riverrun.connectors.base.global_commit import GlobalCommitSink
from riverrun.connectors.collect import CollectSink
from riverrun.connectors.function_sink import FunctionSink
from riverrun.connectors.print import PrintSink
from riverrun.connectors.sockets.sink import SocketSink
from riverrun.datastream.collect import CloseableIterator, ResultBuffer
from riverrun.datastream.data_stream_sink import DataStreamSink
from riverrun.datastream.program import Program
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
