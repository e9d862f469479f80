"""Which accumulator computes which aggregate of which type."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from riverrun.api.column_aggregates import Aggregate, AggregateKind
from riverrun.api.column_folds import fold_of
from riverrun.api.partial_aggregates import is_big, is_native
from riverrun.runtime.columns.accumulator import Accumulator, PartialAccumulator
from riverrun.runtime.columns.numbers import (
    CountAccumulator,
    ExtremeAccumulator,
    TotalAccumulator,
)
from riverrun.runtime.columns.objects import (
    CollectAccumulator,
    DistinctAccumulator,
    EndAccumulator,
    FoldAccumulator,
)
from riverrun.serde.arrow_columns import Column
from riverrun.serde.columns import ColumnLayout
from riverrun.serde.type_info import TypeInformation

__all__ = ["accumulators_of", "partial_accumulators_of"]


def accumulators_of(
    aggregates: Sequence[Aggregate], layout: ColumnLayout, made: Sequence[Column]
) -> list[tuple[int, Accumulator]]:
    """For each aggregate the column that it reads (-1: none) and its accumulator; ``made`` are its results' columns."""
    return [
        _accumulator(each, layout, column) for each, column in zip(aggregates, made, strict=True)
    ]


def partial_accumulators_of(
    aggregates: Sequence[Aggregate], layout: ColumnLayout
) -> list[tuple[int, PartialAccumulator]]:
    """The same for aggregates all of which can be made in parts."""
    made = []
    for each in aggregates:
        position = -1 if each.column is None else layout.position(each.column)
        accumulator = _in_parts(each, None if position < 0 else layout.columns[position])
        made.append((position, accumulator))
    return made


def _accumulator(
    aggregate: Aggregate, layout: ColumnLayout, made: Column
) -> tuple[int, Accumulator]:
    if aggregate.column is None:
        return -1, _in_parts(aggregate, None)
    position = layout.position(aggregate.column)
    column, type_info = layout.columns[position], layout.types[position]
    return position, _of_column(aggregate, column, type_info, made)


def _of_column(
    aggregate: Aggregate, column: Column, type_info: TypeInformation, made: Column
) -> Accumulator:
    kind = aggregate.kind
    match kind:
        case AggregateKind.COUNT:
            return _in_parts(aggregate, column)
        case AggregateKind.SUM | AggregateKind.MEAN | AggregateKind.MIN | AggregateKind.MAX if (
            is_native(column.arrow_type, type_info)
        ):
            return _in_parts(aggregate, column)
        case AggregateKind.FIRST | AggregateKind.LAST:
            return EndAccumulator(column, last=kind is AggregateKind.LAST)
        case AggregateKind.COLLECT:
            return CollectAccumulator(column, made)
        case AggregateKind.APPROX_DISTINCT:
            return DistinctAccumulator(column, hashed=not is_big(type_info))
        case _:
            return FoldAccumulator(fold_of(aggregate, type_info), column, made)


def _in_parts(aggregate: Aggregate, column: Column | None) -> PartialAccumulator:
    """Of a column of numbers, or of no column."""
    if column is None or aggregate.kind is AggregateKind.COUNT:
        return CountAccumulator(only_values=column is not None)
    kind = column.arrow_type
    if aggregate.kind in (AggregateKind.SUM, AggregateKind.MEAN):
        return TotalAccumulator(
            aggregate.name,
            floats=pa.types.is_floating(kind),
            is_mean=aggregate.kind is AggregateKind.MEAN,
        )
    return ExtremeAccumulator(kind, greatest=aggregate.kind is AggregateKind.MAX)
