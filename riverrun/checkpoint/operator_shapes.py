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
from riverrun.checkpoint.saved_operators import RestoreRefused, SavedOperator
from riverrun.graph.column_specs import ColumnAggregateSpec, ColumnWindowSpec
from riverrun.graph.deployment import ChainedOperator
from riverrun.graph.specs import IntervalJoinSpec, OperatorSpec, ReduceSpec, WindowSpec
from riverrun.serde.arrow_types import fields_of
from riverrun.serde.type_info import TypeInformation

_FIXED: Final = (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
_SESSIONS: Final = "sessions"
_BY_WINDOW: Final = ("all records", "reduce", "aggregate")
"""Contents that each window may keep for itself."""
_SLICES: Final = "_window.slices"
"""The state in which windows share what they have in common."""


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


def check_shape(operator: ChainedOperator, saved: SavedOperator) -> None:
    """Refuse an operator that cannot go on with what another kept under its uid.

    Raises:
        RestoreRefused: contents would be lost or counted wrongly.
    """
    was, now = saved.shape, shape_of(operator.spec)
    names = {meta.name for keyed in saved.keyed if keyed.parts for meta in keyed.states}
    if was == now or not was or not names or _goes_on(was, now, shared=_SLICES in names):
        return
    raise RestoreRefused(
        f"operator {operator.name!r} (uid {operator.uid!r}): the checkpoint holds what it kept as "
        f"({was}), and in the program it is ({now or 'an operator of another kind'}), which cannot take "
        f"that over; leave it as it was, or give it another uid and leave the state out with "
        f"--allowNonRestoredState (windows that are open can be emptied first: stop with drain)"
    )


def _goes_on(was: str, now: str, *, shared: bool) -> bool:
    before, after = was.split("; "), now.split("; ")
    if len(before) != len(after) or before[1:2] != after[1:2] or before[1:2] == []:
        return False
    sessions = [each[0] == _SESSIONS for each in (before, after)]
    return before[1] in _BY_WINDOW and sessions[0] == sessions[1] and not shared


def _assigner(spec: WindowSpec) -> str:
    if isinstance(spec.assigner, MergingWindowAssigner):
        return _SESSIONS
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
