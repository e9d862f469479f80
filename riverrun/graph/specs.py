"""What an operator does, as frozen data: it can be printed, compared and pickled.

Only a worker builds the live operator from it (``riverrun.runtime.operators``). A function is
either one of the function classes of ``riverrun.api.functions`` or a plain callable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.api.columns import Column
from riverrun.api.evictor import Evictor
from riverrun.api.functions import (
    AggregateFunction,
    AllWindowFunction,
    AsyncFunction,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.sink import Sink
from riverrun.api.source import Source
from riverrun.api.state import MapStateDescriptor
from riverrun.api.trigger import Trigger
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigner import WindowAssigner
from riverrun.graph.column_specs import (
    ColumnAggregateSpec,
    ColumnSpec,
    ColumnWindowSpec,
    FilterBatchesSpec,
    LocalAggregateSpec,
    MapBatchesSpec,
)

Callable1: TypeAlias = Callable[[Any], Any]
Callable2: TypeAlias = Callable[[Any, Any], Any]
WindowFunctions: TypeAlias = (
    WindowFunction[Any, Any, Any, Any]
    | ProcessWindowFunction[Any, Any, Any, Any]
    | AllWindowFunction[Any, Any, Any]
    | ProcessAllWindowFunction[Any, Any, Any]
)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Read from ``source``; the only kind of spec without input."""

    source: Source[Any]
    watermark_strategy: WatermarkStrategy | None = None


@dataclass(frozen=True, slots=True)
class MapSpec:
    """One record in, one record out."""

    fn: MapFunction | Callable1


@dataclass(frozen=True, slots=True)
class FlatMapSpec:
    """One record in, any number out."""

    fn: FlatMapFunction | Callable1


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """Keep the records for which the function is true."""

    fn: FilterFunction | Callable1


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process function without keys: any number out, side outputs, time."""

    fn: ProcessFunction


@dataclass(frozen=True, slots=True)
class KeyedProcessSpec:
    """A process function with a current key."""

    fn: KeyedProcessFunction


@dataclass(frozen=True, slots=True)
class ReduceSpec:
    """A rolling reduce per key: each record in gives the key's updated value out.

    With ``final_only`` (BATCH execution mode) each key's last value leaves at the end of input.
    """

    fn: ReduceFunction | Callable2
    final_only: bool = False


@dataclass(frozen=True, slots=True)
class BroadcastProcessSpec:
    """A process function over records (input 0) and broadcast records (input 1), without keys.

    Every subtask keeps the states that ``descriptors`` describe; the function may ask for no others.
    """

    fn: BroadcastProcessFunction[Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, slots=True)
class KeyedBroadcastProcessSpec:
    """A process function over keyed records (input 0) and broadcast records (input 1).

    The operator's key selector is for input 0; broadcast records have no key.
    """

    fn: KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, slots=True)
class CoMapSpec:
    """One record in from either input, one out."""

    fn: CoMapFunction


@dataclass(frozen=True, slots=True)
class CoFlatMapSpec:
    """One record in from either input, any number out."""

    fn: CoFlatMapFunction


@dataclass(frozen=True, slots=True)
class CoProcessSpec:
    """A process function over two inputs without keys."""

    fn: CoProcessFunction


@dataclass(frozen=True, slots=True)
class KeyedCoProcessSpec:
    """A process function over two keyed inputs that share state and timers of a key."""

    fn: KeyedCoProcessFunction


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec:
    """Pairs of records of two keyed inputs with ``left + lower <= right <= left + upper`` in event time.

    Exclusive bounds are one millisecond closer together already.
    """

    fn: ProcessJoinFunction[Any, Any, Any]
    lower_ms: int
    upper_ms: int
    left_late_tag: str | None = None
    right_late_tag: str | None = None


@dataclass(frozen=True, slots=True)
class TimestampsAndWatermarksSpec:
    """Give records new timestamps, and make watermarks of them; those of the input end here."""

    strategy: WatermarkStrategy


@dataclass(frozen=True, slots=True)
class AsyncWaitSpec:
    """One coroutine per record, up to ``capacity`` at once; any number of records out."""

    fn: AsyncFunction[Any, Any]
    timeout_ms: int
    capacity: int
    ordered: bool
    retry: AsyncRetryStrategy[Any] | None = None


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """Records of a key, gathered by windows, worked on when a trigger fires.

    Without ``aggregate`` a window keeps its records; with it one accumulator, whose result is what
    ``function`` is given. Without ``function`` the result is what comes out.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    aggregate: ReduceFunction | AggregateFunction | Callable2 | None
    function: WindowFunctions | None
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness_ms: int = 0
    late_tag: str | None = None
    keyed: bool = True
    """Whether ``function`` knows of keys; those of ``window_all`` do not (its records have one key)."""
    late_value: Callable1 | None = None
    """What makes of a late record the one to put out; ``None``: it goes out as it is."""
    fire_open_at_end: bool = False
    """Whether windows of the wall clock that are open at the end of input fire then (BATCH mode)."""


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Write to ``sink``; nothing comes out."""

    sink: Sink[Any]


@dataclass(frozen=True, slots=True)
class SinkWriterSpec:
    """Write to ``sink``, which has a global committer: what its writers prepare comes out."""

    sink: Sink[Any]


OperatorSpec: TypeAlias = (
    SourceSpec
    | MapSpec
    | FlatMapSpec
    | FilterSpec
    | ProcessSpec
    | KeyedProcessSpec
    | ReduceSpec
    | BroadcastProcessSpec
    | KeyedBroadcastProcessSpec
    | CoMapSpec
    | CoFlatMapSpec
    | CoProcessSpec
    | KeyedCoProcessSpec
    | IntervalJoinSpec
    | TimestampsAndWatermarksSpec
    | AsyncWaitSpec
    | WindowSpec
    | SinkSpec
    | SinkWriterSpec
    | ColumnSpec
)


def takes_columns(spec: OperatorSpec) -> bool:
    """Whether the operator works on columns, so that its input should be encoded as such."""
    match spec:
        case (
            MapBatchesSpec()
            | FilterBatchesSpec()
            | ColumnAggregateSpec()
            | ColumnWindowSpec()
            | LocalAggregateSpec()
        ):
            return True
        case TimestampsAndWatermarksSpec(strategy):
            return isinstance(strategy.timestamp_assigner, Column)
        case _:
            return False
