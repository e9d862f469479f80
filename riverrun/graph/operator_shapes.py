"""What an operator keeps on its own account: part of a checkpoint, so that it shows where that has changed.

A window that keeps its records or its accumulator for itself is found again whatever became of the others.
Windows that overlap share what is in the slices between their ends, sessions know what they were merged
of, and aggregates on columns are kept in an order of their own: nobody else can take these over.

A shape is text for people, in parts: ``assigner; contents; trigger``, or as much of it as there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from riverrun.api.column_aggregates import Aggregate
from riverrun.api.functions import AggregateFunction
from riverrun.api.window_assigner import MergingWindowAssigner
from riverrun.api.window_assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.graph.column_specs import ColumnAggregateSpec, ColumnWindowSpec
from riverrun.graph.specs import IntervalJoinSpec, OperatorSpec, ReduceSpec, WindowSpec
from riverrun.serde.arrow_types import fields_of
from riverrun.serde.type_info import TypeInformation

_FIXED: Final = (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
SESSIONS: Final = "sessions"


def shape_of(spec: OperatorSpec) -> str:
    """What an operator keeps, in words; nothing for one that keeps what its function asks for."""
    match spec:
        case ColumnWindowSpec(assigner=assigner):
            return f"{assigner!r}; {_aggregates(spec.aggregates, spec.input_type)}"
        case ColumnAggregateSpec():
            return f"rolling; {_aggregates(spec.aggregates, spec.input_type)}"
        case WindowSpec():
            evicted = "" if spec.evictor is None else " and an evictor"
            return f"{_assigner(spec)}; {_contents(spec)}; {type(spec.trigger).__name__}{evicted}"
        case ReduceSpec():
            return "rolling; reduce"
        case IntervalJoinSpec():
            return "interval join"
        case _:
            return ""


def _assigner(spec: WindowSpec) -> str:
    if isinstance(spec.assigner, MergingWindowAssigner):
        return SESSIONS
    # How others show themselves may differ from run to run.
    known = type(spec.assigner) in _FIXED
    return repr(spec.assigner) if known else type(spec.assigner).__name__


def _contents(spec: WindowSpec) -> str:
    if spec.aggregate is None:
        return "all records"
    return "aggregate" if isinstance(spec.aggregate, AggregateFunction) else "reduce"


def _aggregates(aggregates: Sequence[Aggregate], records: TypeInformation) -> str:
    """Their names do not count: those are for what comes out."""
    return f"columns [{', '.join(_aggregate(each, records) for each in aggregates)}]"


def _aggregate(aggregate: Aggregate, records: TypeInformation) -> str:
    if aggregate.column is None:
        return aggregate.kind.value
    return f"{aggregate.kind.value}({aggregate.column} {_type_of(aggregate.column, records)!r})"


def _type_of(column: str | int, records: TypeInformation) -> TypeInformation:
    fields = fields_of(records)
    if fields is None:
        return records
    place = column if isinstance(column, int) else list(fields.names).index(column)
    return fields.types[place]
