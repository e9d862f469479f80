"""What operators on columns do, as frozen data; ``input_type`` says which columns there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.api.batch_functions import BatchFormat, BatchFunction
from riverrun.api.column_aggregates import Aggregate
from riverrun.api.columns import Column
from riverrun.api.window_assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.serde.type_info import TypeInformation

FixedWindows: TypeAlias = (
    TumblingEventTimeWindows[Any]
    | TumblingProcessingTimeWindows[Any]
    | SlidingEventTimeWindows[Any]
    | SlidingProcessingTimeWindows[Any]
)
BatchCallable: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class MapBatchesSpec:
    """A batch of columns in, a batch of columns out.

    ``timestamps`` names the column that has the event times, in what goes in and in what comes out.
    """

    fn: BatchFunction | BatchCallable
    input_type: TypeInformation
    format: BatchFormat
    timestamps: str | None = None


@dataclass(frozen=True, slots=True)
class FilterBatchesSpec:
    """Keep the records for which the mask of a batch is true."""

    fn: BatchFunction | BatchCallable | Column
    input_type: TypeInformation
    format: BatchFormat


@dataclass(frozen=True, slots=True)
class ColumnAggregateSpec:
    """Rolling aggregates per key: the key and its aggregates so far for each record.

    With ``per_run`` only the last of them for each key of a run; with ``final_only`` (BATCH execution
    mode) each key's last one, at the end of input.
    """

    aggregates: tuple[Aggregate, ...]
    input_type: TypeInformation
    per_run: bool = False
    final_only: bool = False


@dataclass(frozen=True, slots=True)
class ColumnWindowSpec:
    """Aggregates per key and time window; windows follow each other or overlap, and fire when they are over.

    ``keyed`` says whether the key is a part of what comes out.
    """

    aggregates: tuple[Aggregate, ...]
    input_type: TypeInformation
    assigner: FixedWindows
    allowed_lateness_ms: int = 0
    late_tag: str | None = None
    keyed: bool = True
    fire_open_at_end: bool = False
    """Whether windows of the wall clock that are open at the end of input fire then (BATCH mode)."""
    partial_key: tuple[int, ...] | None = None
    """If partial aggregates come in instead of records: which columns of the records are the key."""


@dataclass(frozen=True, slots=True)
class LocalAggregateSpec:
    """Partial aggregates of the records of a run, for the window operator that reads them.

    ``key`` are the columns of its key. Unless ``always``, runs in which hardly any two records have the
    same key pass one by one.
    """

    aggregates: tuple[Aggregate, ...]
    input_type: TypeInformation
    assigner: FixedWindows
    key: tuple[int, ...]
    window: str
    always: bool = False


ColumnSpec: TypeAlias = (
    MapBatchesSpec | FilterBatchesSpec | ColumnAggregateSpec | ColumnWindowSpec | LocalAggregateSpec
)
