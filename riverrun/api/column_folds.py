"""Aggregates of columns, one value at a time.

Windows that have no way of their own to work on columns (sessions, counts, custom triggers) fold the
records with these, and so does the work on columns for values that are no plain numbers.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, Protocol

from riverrun.api.column_aggregates import Aggregate, AggregateKind
from riverrun.api.columns import Field
from riverrun.api.functions import AggregateFunction
from riverrun.api.hyperloglog import MINUS_ONE, HyperLogLog
from riverrun.core.errors import UserCodeError
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.columns import ColumnLayout, plain_type
from riverrun.serde.stable_hash import stable_hash
from riverrun.serde.type_info import TypeInformation

__all__ = ["AggregateOverflow", "Fold", "RowAggregates", "fold_of"]

_EXACT: Final = decimal.Context(
    prec=4096, Emax=999_999, Emin=-999_999, traps=[decimal.Inexact, decimal.InvalidOperation]
)
_MEAN_DIGITS: Final = 38
LONGS: Final = range(-(1 << 63), 1 << 63)


class AggregateOverflow(UserCodeError, ArithmeticError):  # noqa: N818  (the name says what happened)
    """A sum does not fit its type."""

    def __init__(self, aggregate: str, total: str) -> None:
        super().__init__(aggregate, total)
        self.aggregate, self.total = aggregate, total

    def __str__(self) -> str:
        return (
            f"aggregate {self.aggregate!r}: the sum {self.total} does not fit 64 bits; declare the "
            f"column as Types.BIG_INT() or Types.BIG_DEC(), or sum a float"
        )


class Fold(Protocol):
    """How one aggregate takes in values that are not None."""

    def zero(self) -> Any:
        """The state before the first value."""

    def add(self, state: Any, value: Any) -> Any:
        """The state after one more value; ``state`` may be changed."""

    def merge(self, first: Any, second: Any) -> Any:
        """The state after the values of both; ``first`` may be changed."""

    def result(self, state: Any) -> Any:
        """What the state stands for."""


class _Count:
    def zero(self) -> int:
        return 0

    def add(self, state: int, value: Any) -> int:
        del value
        return state + 1

    def merge(self, first: int, second: int) -> int:
        return first + second

    def result(self, state: int) -> int:
        return state


class _Sum:
    def __init__(self, name: str, basic: BasicType) -> None:
        self._name = name
        self._exact = basic is BasicType.BIG_DEC
        self._float = basic in (BasicType.FLOAT, BasicType.DOUBLE)
        self._bounded = not self._exact and not self._float and basic is not BasicType.BIG_INT

    def zero(self) -> Any:
        return None

    def add(self, state: Any, value: Any) -> Any:
        if state is None:
            return float(value) if self._float else value
        return exact_sum(state, value) if self._exact else state + value

    def merge(self, first: Any, second: Any) -> Any:
        return first if second is None else self.add(first, second)

    def result(self, state: Any) -> Any:
        if self._bounded and state is not None and state not in LONGS:
            raise AggregateOverflow(self._name, str(state))
        return state


class _Mean:
    def __init__(self, name: str, basic: BasicType) -> None:
        self._sum = _Sum(name, basic)

    def zero(self) -> tuple[Any, int]:
        return None, 0

    def add(self, state: tuple[Any, int], value: Any) -> tuple[Any, int]:
        total, count = state
        return self._sum.add(total, value), count + 1

    def merge(self, first: tuple[Any, int], second: tuple[Any, int]) -> tuple[Any, int]:
        return self._sum.merge(first[0], second[0]), first[1] + second[1]

    def result(self, state: tuple[Any, int]) -> Any:
        total, count = state
        return mean(self._sum.result(total), count)


class _Least:
    def zero(self) -> Any:
        return None

    def add(self, state: Any, value: Any) -> Any:
        if state is None or state != state:  # noqa: PLR0124  (NaN, which is greater than all)
            return value
        return min(state, value)

    def merge(self, first: Any, second: Any) -> Any:
        return first if second is None else self.add(first, second)

    def result(self, state: Any) -> Any:
        return state


class _Greatest(_Least):
    def add(self, state: Any, value: Any) -> Any:
        if state is None or value != value:  # noqa: PLR0124  (NaN, which is greater than all)
            return value
        return max(state, value)


class _First(_Least):
    def add(self, state: Any, value: Any) -> Any:
        return (value,) if state is None else state

    def merge(self, first: Any, second: Any) -> Any:
        return second if first is None else first

    def result(self, state: Any) -> Any:
        return None if state is None else state[0]


class _Last(_First):
    def add(self, state: Any, value: Any) -> Any:
        del state
        return (value,)

    def merge(self, first: Any, second: Any) -> Any:
        return first if second is None else second


class _Collect:
    def zero(self) -> list[Any]:
        return []

    def add(self, state: list[Any], value: Any) -> list[Any]:
        state.append(value)
        return state

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        return [*first, *second]

    def result(self, state: list[Any]) -> list[Any]:
        return list(state)


class _Distinct:
    def zero(self) -> HyperLogLog:
        return HyperLogLog()

    def add(self, state: HyperLogLog, value: Any) -> HyperLogLog:
        state.add(MINUS_ONE if value == -1 else stable_hash(value))
        return state

    def merge(self, first: HyperLogLog, second: HyperLogLog) -> HyperLogLog:
        first.merge(second)
        return first

    def result(self, state: HyperLogLog) -> int:
        return state.estimate()


def fold_of(aggregate: Aggregate, type_info: TypeInformation | None) -> Fold:  # noqa: PLR0911  (one each)
    """How ``aggregate`` folds values of a column of this type (None: whole records)."""
    plain = None if type_info is None else plain_type(type_info)
    basic = plain.basic_type if isinstance(plain, BasicTypeInfo) else BasicType.BIG_INT
    match aggregate.kind:
        case AggregateKind.COUNT:
            return _Count()
        case AggregateKind.SUM:
            return _Sum(aggregate.name, basic)
        case AggregateKind.MEAN:
            return _Mean(aggregate.name, basic)
        case AggregateKind.MIN:
            return _Least()
        case AggregateKind.MAX:
            return _Greatest()
        case AggregateKind.FIRST:
            return _First()
        case AggregateKind.LAST:
            return _Last()
        case AggregateKind.COLLECT:
            return _Collect()
        case AggregateKind.APPROX_DISTINCT:
            return _Distinct()


class RowAggregates(AggregateFunction):
    """All aggregates over records, one after the other; the accumulator is a list of their states."""

    def __init__(self, aggregates: Sequence[Aggregate], layout: ColumnLayout) -> None:
        self._folds: list[Fold] = []
        self._fields: list[Field | None] = []
        for each in aggregates:
            position = None if each.column is None else layout.position(each.column)
            self._folds.append(fold_of(each, None if position is None else layout.types[position]))
            self._fields.append(None if each.column is None else Field(each.column, position))

    def create_accumulator(self) -> list[Any]:
        return [fold.zero() for fold in self._folds]

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        states = []
        for fold, field, state in zip(self._folds, self._fields, accumulator, strict=True):
            found = value if field is None else field.of_record(value)
            states.append(state if found is None and field is not None else fold.add(state, found))
        return states

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return [fold.result(state) for fold, state in zip(self._folds, accumulator, strict=True)]

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return [
            fold.merge(first, second)
            for fold, first, second in zip(self._folds, acc_a, acc_b, strict=True)
        ]


def exact_sum(first: Decimal, second: Decimal) -> Decimal:
    """The sum of two decimals with all its digits."""
    try:
        return _EXACT.add(first, second)
    except decimal.Inexact:
        raise ArithmeticError(
            f"the sum of {first!r} and {second!r} has more than {_EXACT.prec} digits; "
            f"round the values before"
        ) from None


def mean(total: Any, count: int) -> Any:
    """The mean of ``count`` numbers with this sum."""
    if total is None:
        return None
    if isinstance(total, Decimal):
        return decimal.Context(prec=_MEAN_DIGITS).divide(total, Decimal(count))
    return total / count
