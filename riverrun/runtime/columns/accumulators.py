"""Which accumulator computes which aggregate of which type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from riverrun.api.column_aggregates import Aggregate, AggregateKind
from riverrun.api.column_folds import fold_of
from riverrun.runtime.columns.accumulator import Accumulator
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
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.columns import ColumnLayout, plain_type
from riverrun.serde.type_info import TypeInformation

__all__ = ["accumulators_of"]

_BIG: Final = (BasicType.BIG_INT, BasicType.BIG_DEC)


def accumulators_of(
    aggregates: Sequence[Aggregate], layout: ColumnLayout, made: Sequence[Column]
) -> list[tuple[int, Accumulator]]:
    """For each aggregate the column that it reads (-1: none) and its accumulator; ``made`` are its results' columns."""
    return [
        _accumulator(each, layout, column) for each, column in zip(aggregates, made, strict=True)
    ]


def _accumulator(
    aggregate: Aggregate, layout: ColumnLayout, made: Column
) -> tuple[int, Accumulator]:
    if aggregate.column is None:
        return -1, CountAccumulator(only_values=False)
    position = layout.position(aggregate.column)
    column, type_info = layout.columns[position], layout.types[position]
    return position, _of_column(aggregate, column, type_info, made)


def _of_column(  # noqa: PLR0911  (one for each kind)
    aggregate: Aggregate, column: Column, type_info: TypeInformation, made: Column
) -> Accumulator:
    native = _is_native(column.arrow_type, type_info)
    kind = aggregate.kind
    match kind:
        case AggregateKind.COUNT:
            return CountAccumulator(only_values=True)
        case AggregateKind.SUM | AggregateKind.MEAN if native:
            return TotalAccumulator(
                aggregate.name,
                floats=pa.types.is_floating(column.arrow_type),
                is_mean=kind is AggregateKind.MEAN,
            )
        case AggregateKind.MIN | AggregateKind.MAX if native:
            return ExtremeAccumulator(column.arrow_type, greatest=kind is AggregateKind.MAX)
        case AggregateKind.FIRST | AggregateKind.LAST:
            return EndAccumulator(column, last=kind is AggregateKind.LAST)
        case AggregateKind.COLLECT:
            return CollectAccumulator(column, made)
        case AggregateKind.APPROX_DISTINCT:
            return DistinctAccumulator(column, hashed=not _is_big(type_info))
        case _:
            return FoldAccumulator(fold_of(aggregate, type_info), column, made)


def _is_native(kind: pa.DataType, type_info: TypeInformation) -> bool:
    plain_number = (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )
    return (plain_number or pa.types.is_temporal(kind)) and not _is_big(type_info)


def _is_big(type_info: TypeInformation) -> bool:
    plain = plain_type(type_info)
    return isinstance(plain, BasicTypeInfo) and plain.basic_type in _BIG
