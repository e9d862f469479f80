"""Aggregates declared on columns: what to compute, and of which type it is.

Nulls are left out by all of them, as in SQL; where only nulls were seen the result is None (0 for counts,
an empty list for ``collect``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from riverrun.api.columns import Field, Name, position_of
from riverrun.core.errors import ProgramError
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import PrimitiveArrayTypeInfo
from riverrun.serde.columns import ColumnLayout, plain_type
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["Agg", "Aggregate", "AggregateKind"]


class AggregateKind(Enum):
    """What is computed."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"
    FIRST = "first"
    LAST = "last"
    COLLECT = "collect"
    APPROX_DISTINCT = "approx_distinct"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of one column (of whole records: ``column`` is None), and what it is called."""

    kind: AggregateKind
    column: Name | None
    name: str

    def alias(self, name: str) -> Aggregate:
        """The same under another name."""
        return replace(self, name=name)


class Agg:
    """The aggregates that columns have; each takes a column by name, by position or as ``col(...)``."""

    @staticmethod
    def count(column: Name | Field | None = None) -> Aggregate:
        """How many records there are, or how many of them have a value in ``column``."""
        if column is None:
            return Aggregate(AggregateKind.COUNT, None, "count")
        return _aggregate(AggregateKind.COUNT, column)

    @staticmethod
    def sum(column: Name | Field) -> Aggregate:
        """The sum; whole numbers are added exactly, and a sum beyond 64 bits is an error."""
        return _aggregate(AggregateKind.SUM, column)

    @staticmethod
    def min(column: Name | Field) -> Aggregate:
        """The least value; NaN counts as the greatest of all."""
        return _aggregate(AggregateKind.MIN, column)

    @staticmethod
    def max(column: Name | Field) -> Aggregate:
        """The greatest value; NaN counts as the greatest of all."""
        return _aggregate(AggregateKind.MAX, column)

    @staticmethod
    def mean(column: Name | Field) -> Aggregate:
        """The mean, a float (of decimals: a decimal)."""
        return _aggregate(AggregateKind.MEAN, column)

    @staticmethod
    def first(column: Name | Field) -> Aggregate:
        """The value of the record that came first."""
        return _aggregate(AggregateKind.FIRST, column)

    @staticmethod
    def last(column: Name | Field) -> Aggregate:
        """The value of the record that came last."""
        return _aggregate(AggregateKind.LAST, column)

    @staticmethod
    def collect(column: Name | Field) -> Aggregate:
        """All values in a list, in the order in which they came."""
        return _aggregate(AggregateKind.COLLECT, column)

    @staticmethod
    def approx_distinct(column: Name | Field) -> Aggregate:
        """How many different values there are: exact up to 512, beyond that by 1.6 % (one sigma)."""
        return _aggregate(AggregateKind.APPROX_DISTINCT, column)


def result_types(
    method: str, layout: ColumnLayout, aggregates: Sequence[Aggregate]
) -> list[TypeInformation]:
    """The types of the results, in order.

    Raises:
        ProgramError: there is nothing to compute, two results have one name, a column does not exist,
            or has a type that cannot be aggregated so.
    """
    if not aggregates:
        raise ProgramError(f"{method}: got no aggregates; expected at least one, as Agg.count()")
    for aggregate in aggregates:
        if not isinstance(aggregate, Aggregate):
            raise TypeError(
                f'{method}: got {aggregate!r}; expected aggregates, such as Agg.sum("amount")'
            )
    return [_result_type(method, layout, aggregate) for aggregate in aggregates]


def _aggregate(kind: AggregateKind, column: Name | Field) -> Aggregate:
    name = column.name if isinstance(column, Field) else column
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise TypeError(
            f"{kind.value}: got {name!r}; expected a column by name, by position or as col(...)"
        )
    return Aggregate(kind, name, f"{kind.value}_{name}")


def _result_type(  # noqa: PLR0911  (a rule each)
    method: str, layout: ColumnLayout, aggregate: Aggregate
) -> TypeInformation:
    kind = aggregate.kind
    if aggregate.column is None:
        return Types.LONG()
    type_info = layout.types[position_of(method, layout, aggregate.column)]
    plain = plain_type(type_info)
    basic = plain.basic_type if isinstance(plain, BasicTypeInfo) else None
    if kind is AggregateKind.COUNT:
        return Types.LONG()
    if kind in (AggregateKind.FIRST, AggregateKind.LAST):
        return type_info
    if kind is AggregateKind.COLLECT:
        return Types.LIST(type_info)
    if kind is AggregateKind.SUM and basic in _SUMS:
        return _SUMS[basic]
    if kind is AggregateKind.MEAN and basic in _SUMS:
        return Types.BIG_DEC() if basic is BasicType.BIG_DEC else Types.DOUBLE()
    if kind in (AggregateKind.MIN, AggregateKind.MAX) and _is_ordered(plain):
        return type_info
    if kind is AggregateKind.APPROX_DISTINCT and _is_ordered(plain):
        return Types.LONG()
    numbers = kind in (AggregateKind.SUM, AggregateKind.MEAN)
    raise ProgramError(
        f"{method}: {kind.value} of column {aggregate.column!r}: the column has the type {type_info!r}; "
        f"expected {'a number' if numbers else 'a number, a text or a time'}"
    )


def _is_ordered(plain: TypeInformation) -> bool:
    if isinstance(plain, BasicTypeInfo):
        return plain.basic_type is not BasicType.INSTANT
    if isinstance(plain, PrimitiveArrayTypeInfo):
        return plain.is_bytes
    return isinstance(plain, DateTypeInfo | TimeTypeInfo | TimestampTypeInfo | LocalTimeTypeInfo)


_SUMS: Final = {
    BasicType.BYTE: Types.LONG(),
    BasicType.SHORT: Types.LONG(),
    BasicType.INT: Types.LONG(),
    BasicType.LONG: Types.LONG(),
    BasicType.BIG_INT: Types.BIG_INT(),
    BasicType.FLOAT: Types.DOUBLE(),
    BasicType.DOUBLE: Types.DOUBLE(),
    BasicType.BIG_DEC: Types.BIG_DEC(),
}
