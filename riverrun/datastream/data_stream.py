"""Streams: what a program calls to define its operators.

``DataStream`` and ``KeyedStream`` stand together because each gives the other. They only describe:
every method adds to the ``Program`` and returns at once.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, TypeAlias, overload

from riverrun.api.aggregations import Aggregation, aggregation
from riverrun.api.columns import Column, Field, Name
from riverrun.api.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from riverrun.api.output_tag import OutputTag
from riverrun.api.resolve import (
    Callable1,
    Callable2,
    filter_callable,
    flat_map_callable,
    key_callable,
    map_callable,
    reduce_callable,
)
from riverrun.api.state import MapStateDescriptor
from riverrun.api.watermark_strategy import AssignerWithPeriodicWatermarksWrapper, WatermarkStrategy
from riverrun.api.window_assigner import WindowAssigner
from riverrun.core.errors import ProgramError
from riverrun.datastream.broadcast import BroadcastConnectedStream, BroadcastStream
from riverrun.datastream.collect import CloseableIterator
from riverrun.datastream.column_streams import ColumnMethods, KeyedColumnMethods
from riverrun.datastream.connected import ConnectedStreams, Keys
from riverrun.datastream.execution_config import ExecutionConfig, check_positive
from riverrun.datastream.interval_join import IntervalJoin
from riverrun.datastream.keyed_refusals import KeyedRefusals
from riverrun.datastream.operator_settings import OperatorSettings
from riverrun.datastream.output_types import output_type_of
from riverrun.datastream.program import Environment, Program
from riverrun.datastream.projection import KeyAndValue, Projection, projected_type
from riverrun.datastream.stream_ends import StreamEnds
from riverrun.datastream.stream_partitions import StreamPartitions
from riverrun.datastream.watermark_strategies import strategy_within
from riverrun.datastream.window_join import CoGroupedStreams, JoinedStreams
from riverrun.datastream.windowed import AllWindowedStream, WindowedStream, count_windows
from riverrun.graph.partitioning import (
    Broadcast,
    Hash,
    Partitioning,
)
from riverrun.graph.specs import (
    FilterSpec,
    FlatMapSpec,
    KeyedProcessSpec,
    MapSpec,
    OperatorSpec,
    ProcessSpec,
    ReduceSpec,
    TimestampsAndWatermarksSpec,
)
from riverrun.graph.transformations import (
    Chaining,
    PartitionTransformation,
    SideOutputTransformation,
    UnionTransformation,
    Upstream,
)
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["CachedDataStream", "DataStream", "KeyedStream"]

Type: TypeAlias = TypeInformation | None


class DataStream(StreamPartitions, StreamEnds, OperatorSettings, ColumnMethods["DataStream"]):
    """A stream of records.

    A function may be an object of its function class (with ``open`` and ``close``) or a plain
    callable. ``output_type`` declares the records' type; without it the type comes from the
    function's annotations, and records of unknown type travel pickled.
    """

    def __init__(self, program: Program, upstream: Upstream, output_type: Type = None) -> None:
        self._program = program
        self._upstream = upstream
        self._type = output_type

    def get_type(self) -> TypeInformation:
        """The type of the records; Types.PICKLED_BYTE_ARRAY() stands for any Python value."""
        return Types.PICKLED_BYTE_ARRAY() if self._type is None else self._type

    def get_execution_environment(self) -> Environment:
        """The environment that this stream belongs to."""
        environment = self._program.environment
        if environment is None:
            raise ProgramError("get_execution_environment: this stream was made without one")
        return environment

    def get_execution_config(self) -> ExecutionConfig:
        """The settings of the program."""
        return ExecutionConfig(self._program.config)

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups: the most subtasks the operator can ever be rescaled to."""
        check_positive("max parallelism", max_parallelism)
        self._operator("set_max_parallelism").max_parallelism = max_parallelism
        return self

    def force_non_parallel(self) -> Self:
        """Run the operator in one subtask, whatever else is set."""
        self._operator("force_non_parallel").forced_parallelism = 1
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Let the operator's output wait this long for more; 0: not at all, -1: until a buffer is full."""
        if timeout_millis < -1:
            raise ValueError(f"buffer timeout: is {timeout_millis!r} ms; expected -1 or more")
        self._operator("set_buffer_timeout").buffer_timeout_ms = timeout_millis
        return self

    def start_new_chain(self) -> Self:
        """Begin a new task with this operator."""
        self._operator("start_new_chain").chaining = Chaining.HEAD
        return self

    def map(self, func: MapFunction | Callable1, output_type: Type = None) -> DataStream:
        """One record out for each record in."""
        type_info = output_type_of("map", output_type, map_callable(func))
        return self._then("Map", MapSpec(func), type_info, declared=output_type is not None)

    def flat_map(self, func: FlatMapFunction | Callable1, output_type: Type = None) -> DataStream:
        """Any number of records out for each record in: what the iterable that ``func`` gives holds."""
        bare = flat_map_callable(func)
        type_info = output_type_of("flat_map", output_type, bare, element=True)
        declared = output_type is not None
        return self._then("FlatMap", FlatMapSpec(func), type_info, declared=declared)

    def filter(self, func: FilterFunction | Callable1) -> DataStream:
        """Only the records for which ``func`` is true."""
        filter_callable(func)
        return self._then("Filter", FilterSpec(func), self._type)

    def process(self, func: ProcessFunction, output_type: Type = None) -> DataStream:
        """Any number of records out for each record in, with side outputs and the clocks at hand."""
        if isinstance(func, KeyedProcessFunction):
            raise TypeError(
                f"process: got the keyed function {func!r} on a stream without keys; "
                f"call key_by() first, or write a ProcessFunction"
            )
        if not isinstance(func, ProcessFunction):
            raise TypeError(f"process: got {func!r}; expected a ProcessFunction object")
        type_info = output_type_of("process", output_type, func.process_element, element=True)
        declared = output_type is not None
        return self._then("Process", ProcessSpec(func), type_info, declared=declared)

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy | AssignerWithPeriodicWatermarksWrapper
    ) -> DataStream:
        """The same records with timestamps and watermarks as the strategy says; those so far end here.

        Where the source can be given the strategy (``from_source``) that is better: it has watermarks
        per split then.
        """
        strategy = strategy_within("assign_timestamps_and_watermarks", watermark_strategy)
        spec = TimestampsAndWatermarksSpec(strategy)
        return self._then("Timestamps/Watermarks", spec, self._type)

    def project(self, *field_indexes: int) -> DataStream:
        """Only these fields of each tuple or row, in this order."""
        type_info = projected_type(self._type, field_indexes)
        return self._then("Projection", MapSpec(Projection(field_indexes, self._type)), type_info)

    def key_by(self, key_selector: KeySelector | Callable1, key_type: Type = None) -> KeyedStream:
        """The same records, those of one key together in one subtask.

        A key must be hashable and always the same for the same record. ``col("name")`` stands for the
        value of a column.
        """
        if isinstance(key_selector, Column) and key_type is None:
            return self.key_by_columns(key_selector)  # type: ignore[arg-type]  # it refuses others
        bare = key_callable(key_selector)
        return KeyedStream(self, bare, output_type_of("key_by", key_type, bare))

    def key_by_columns(self, *columns: Name | Field) -> KeyedStream:
        """The same records by the value of a column, or by the tuple of the values of several.

        Keys are found without a call for each record where records travel as columns.
        """
        key, key_type = self._column_key("key_by_columns", columns)
        return KeyedStream(self, key_callable(key), key_type)

    def union(self, *streams: DataStream) -> DataStream:
        """The records of this and of all other streams, in no particular order between them."""
        every = (self, *streams)
        for stream in every:
            self._check_own("union", stream)
        declared = [stream._type for stream in every]  # noqa: SLF001
        known = {type_info for type_info in declared if type_info is not None}
        if len(known) > 1:
            raise ProgramError(
                f"union: the streams have the types {sorted(map(repr, known))}; "
                f"map them to one type first"
            )
        together = self._type if None not in declared else None
        upstreams = tuple(stream._upstream for stream in every)  # noqa: SLF001
        return DataStream(self._program, UnionTransformation(upstreams), together)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records that the operator put out under ``output_tag``."""
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"get_side_output: got {output_tag!r}; expected an OutputTag")
        operator = self._operator("get_side_output")
        tag_id, type_info = output_tag.tag_id, output_tag.type_info
        self._program.claim_side_output(operator, tag_id, type_info)
        side = SideOutputTransformation(operator, tag_id, type_info)
        return DataStream(self._program, side, type_info)

    @overload
    def broadcast(self) -> DataStream: ...
    @overload
    def broadcast(
        self, state: MapStateDescriptor, /, *more: MapStateDescriptor
    ) -> BroadcastStream: ...

    def broadcast(
        self, *broadcast_state_descriptors: MapStateDescriptor
    ) -> DataStream | BroadcastStream:
        """Send each record to every subtask.

        With descriptors of the states that subtasks keep of them: a stream for ``connect``.
        """
        if broadcast_state_descriptors:
            return BroadcastStream(self, broadcast_state_descriptors)
        return self._partitioned(Broadcast())

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams[DataStream]: ...
    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream[DataStream]: ...

    def connect(
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams[DataStream] | BroadcastConnectedStream[DataStream]:
        """This stream beside another one or a broadcast stream, for an operator that reads both."""
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        if not isinstance(ds, DataStream):
            raise TypeError(f"connect: got {ds!r}; expected a DataStream or a BroadcastStream")
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> JoinedStreams[DataStream]:
        """Pairs of records of this and another stream that have a key and a window in common."""
        self._check_own("join", other_stream)
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams[DataStream]:
        """The records of this and of another stream side by side, by key and window."""
        self._check_own("co_group", other_stream)
        return CoGroupedStreams(self, other_stream)

    def window_all(
        self, window_assigner: WindowAssigner[Any, Any]
    ) -> AllWindowedStream[DataStream]:
        """All records by windows, whatever their keys; one subtask does the work."""
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[DataStream]:
        """All records by windows of ``size`` records; one begins every ``slide`` records, if given."""
        return self.window_all(count_windows(size, slide))

    def cache(self) -> CachedDataStream:
        """The same records, for programs that ask to keep them for a later run."""
        return CachedDataStream(self._program, self._upstream, self._type)

    def _is_keyed(self) -> bool:
        return False

    def _keys(self) -> Keys | None:
        return None

    def _then(
        self,
        name: str,
        spec: OperatorSpec,
        output_type: Type,
        *,
        declared: bool = False,
        second: Upstream | None = None,
    ) -> DataStream:
        """The stream of a new operator that reads this one; a declared type is enforced."""
        inputs = [self._upstream] if second is None else [self._upstream, second]
        operator = self._program.add(
            name, spec, inputs, output_type=output_type, enforce_type=declared
        )
        return DataStream(self._program, operator, output_type)

    def _partitioned(self, partitioning: Partitioning) -> DataStream:
        partitioned = PartitionTransformation(self._upstream, partitioning)
        return DataStream(self._program, partitioned, self._type)

    def _check_own(self, method: str, stream: Any) -> None:
        if not isinstance(stream, DataStream):
            raise TypeError(f"{method}: got {stream!r}; expected a DataStream")
        if stream._program is not self._program:  # noqa: SLF001
            raise ProgramError(
                f"{method}: the streams come from different environments; "
                f"make them all with the same StreamExecutionEnvironment"
            )


class CachedDataStream(DataStream):
    """What ``DataStream.cache`` gives: the same records.

    Flink keeps them on the cluster for later jobs of the environment and works them out again where
    they are gone. Here they are always worked out again, so results are the same.
    """

    def invalidate(self) -> None:
        """Forget what was kept, which is nothing."""


class KeyedStream(KeyedRefusals, KeyedColumnMethods[DataStream], DataStream):
    """A stream partitioned by key: its operators see one key's records in one place and in order."""

    AccumulateType: ClassVar = Aggregation

    def __init__(self, origin: DataStream, key_selector: Callable1, key_type: Type) -> None:
        partitioned = PartitionTransformation(origin._upstream, Hash(key_selector))  # noqa: SLF001
        super().__init__(origin._program, partitioned, origin._type)  # noqa: SLF001
        self._key_selector = key_selector
        self._key_type = key_type

    def get_key_type(self) -> TypeInformation:
        """The type of the keys; Types.PICKLED_BYTE_ARRAY() stands for any Python value."""
        return Types.PICKLED_BYTE_ARRAY() if self._key_type is None else self._key_type

    def _is_keyed(self) -> bool:
        return True

    def _keys(self) -> Keys:
        return self._key_selector, self._key_type

    def process(  # type: ignore[override]  # the keyed contract, as in Flink
        self, func: KeyedProcessFunction, output_type: Type = None
    ) -> DataStream:
        """Any number of records out for each record in, with the current key at hand."""
        if not isinstance(func, KeyedProcessFunction):
            raise TypeError(
                f"process: got {func!r} on a keyed stream; expected a KeyedProcessFunction object"
            )
        type_info = output_type_of("process", output_type, func.process_element, element=True)
        declared = output_type is not None
        return self._then("KeyedProcess", KeyedProcessSpec(func), type_info, declared=declared)

    def reduce(self, func: ReduceFunction | Callable2) -> DataStream:
        """Fold each key's records: every record in gives the key's value so far out.

        In BATCH mode only the last value of each key comes out, at the end of input.
        """
        reduce_callable(func)
        return self._then("Reduce", ReduceSpec(func), self._type)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Each key's first record with the field replaced by its sum so far."""
        return self._aggregate(Aggregation.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Each key's first record with the field replaced by the least so far."""
        return self._aggregate(Aggregation.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Each key's first record with the field replaced by the greatest so far."""
        return self._aggregate(Aggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Each key's record with the least field so far; the first of several."""
        return self._aggregate(Aggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Each key's record with the greatest field so far; the first of several."""
        return self._aggregate(Aggregation.MAX_BY, position_to_max_by)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream[DataStream]:
        """Each key's records by windows."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[DataStream]:
        """Each key's records by windows of ``size``; one begins every ``slide`` records, if given.

        A window fires when it is full: the last records of a bounded stream may not fill one.
        """
        return self.window(count_windows(size, slide))

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin[DataStream]:
        """Join this stream with another keyed one, by how far apart records are in event time."""
        if not isinstance(other_stream, KeyedStream):
            raise TypeError(
                f"interval_join: got {other_stream!r}; expected a KeyedStream: call key_by() on it"
            )
        return IntervalJoin(self, other_stream)

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None) -> CloseableIterator: ...
    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...
    @overload
    def execute_and_collect(self, *, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and give ``Row(f0=key, f1=record)`` for each record while it runs."""
        pairs = self._then("Key and Value", MapSpec(KeyAndValue(self._key_selector)), None)
        if limit is None:
            return pairs.execute_and_collect(job_execution_name)
        return pairs.execute_and_collect(job_execution_name, limit)

    def _aggregate(self, kind: Aggregation, position: int | str) -> DataStream:
        name = kind.value.title().replace("_", "")
        return self._then(name, ReduceSpec(aggregation(kind, position)), self._type)

    def _then(
        self,
        name: str,
        spec: OperatorSpec,
        output_type: Type,
        *,
        declared: bool = False,
        second: Upstream | None = None,
    ) -> DataStream:
        stream = super()._then(name, spec, output_type, declared=declared, second=second)
        operator = stream._operator(name)  # noqa: SLF001
        operator.key_selector, operator.key_type = self._key_selector, self._key_type
        return stream

    def _operator(self, method: str) -> NoReturn:
        raise ProgramError(
            f"{method}: a keyed stream is not an operator; "
            f"call {method}() before key_by() or on the next operator"
        )


for _stream in (DataStream, KeyedStream):
    # Java's name, which Python's grammar reserves: reachable by getattr only.
    setattr(_stream, "global", _stream.global_)
