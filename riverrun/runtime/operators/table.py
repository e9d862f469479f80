"""Which operator runs which spec: a new operator is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from riverrun.graph.column_specs import (
    ColumnAggregateSpec,
    ColumnWindowSpec,
    FilterBatchesSpec,
    LocalAggregateSpec,
    MapBatchesSpec,
)
from riverrun.graph.specs import (
    AsyncWaitSpec,
    BroadcastProcessSpec,
    CoFlatMapSpec,
    CoMapSpec,
    CoProcessSpec,
    FilterSpec,
    FlatMapSpec,
    IntervalJoinSpec,
    KeyedBroadcastProcessSpec,
    KeyedCoProcessSpec,
    KeyedProcessSpec,
    MapSpec,
    OperatorSpec,
    ProcessSpec,
    ReduceSpec,
    SinkSpec,
    SinkWriterSpec,
    TimestampsAndWatermarksSpec,
    WindowSpec,
)
from riverrun.runtime.operators.async_wait import AsyncWaitOperator
from riverrun.runtime.operators.batches import FilterBatchesOperator, MapBatchesOperator
from riverrun.runtime.operators.broadcast import (
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from riverrun.runtime.operators.co_map import CoFlatMapOperator, CoMapOperator
from riverrun.runtime.operators.co_process import CoProcessOperator, KeyedCoProcessOperator
from riverrun.runtime.operators.column_aggregates import ColumnAggregateOperator
from riverrun.runtime.operators.column_windows import ColumnWindowOperator
from riverrun.runtime.operators.function_operators import (
    FilterOperator,
    FlatMapOperator,
    MapOperator,
)
from riverrun.runtime.operators.interval_join import IntervalJoinOperator
from riverrun.runtime.operators.keyed_process import KeyedProcessOperator
from riverrun.runtime.operators.local_aggregates import LocalAggregateOperator
from riverrun.runtime.operators.operator import Operator
from riverrun.runtime.operators.process import ProcessOperator
from riverrun.runtime.operators.reduce import FinalReduceOperator, ReduceOperator
from riverrun.runtime.operators.sink import SinkOperator
from riverrun.runtime.operators.sink_writer import SinkWriterOperator
from riverrun.runtime.operators.timestamps import TimestampsAndWatermarksOperator
from riverrun.runtime.operators.windows import build_window_operator

OPERATORS: Final[Mapping[type, Callable[[Any], Operator]]] = {
    MapSpec: MapOperator,
    FlatMapSpec: FlatMapOperator,
    FilterSpec: FilterOperator,
    ProcessSpec: ProcessOperator,
    KeyedProcessSpec: KeyedProcessOperator,
    BroadcastProcessSpec: BroadcastProcessOperator,
    KeyedBroadcastProcessSpec: KeyedBroadcastProcessOperator,
    CoMapSpec: CoMapOperator,
    CoFlatMapSpec: CoFlatMapOperator,
    CoProcessSpec: CoProcessOperator,
    KeyedCoProcessSpec: KeyedCoProcessOperator,
    IntervalJoinSpec: IntervalJoinOperator,
    ReduceSpec: lambda spec: (FinalReduceOperator if spec.final_only else ReduceOperator)(spec),
    WindowSpec: build_window_operator,
    AsyncWaitSpec: AsyncWaitOperator,
    TimestampsAndWatermarksSpec: TimestampsAndWatermarksOperator,
    MapBatchesSpec: MapBatchesOperator,
    FilterBatchesSpec: FilterBatchesOperator,
    ColumnAggregateSpec: ColumnAggregateOperator,
    ColumnWindowSpec: ColumnWindowOperator,
    LocalAggregateSpec: LocalAggregateOperator,
    SinkSpec: SinkOperator,
    SinkWriterSpec: SinkWriterOperator,
}


def build(spec: OperatorSpec) -> Operator:
    """The live operator for ``spec`` (sources are driven, not fed: see ``runtime.source``)."""
    return OPERATORS[type(spec)](spec)
