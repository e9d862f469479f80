"""Records with columns of many types, and what their aggregates are: computed from lists, with loops."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from riverrun.api.column_aggregates import Agg, Aggregate, AggregateKind
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.harness import OperatorHarness

NAMES = ["k", "small", "n", "x", "dec", "big", "text", "at", "flag"]
RECORD = Types.ROW_NAMED(
    NAMES,
    [
        Types.STRING(),
        Types.SHORT(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.BIG_INT(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.BOOLEAN(),
    ],
)
AGGREGATES: tuple[Aggregate, ...] = (
    Agg.count(),
    Agg.count("n"),
    Agg.sum("small"),
    Agg.sum("n"),
    Agg.sum("x"),
    Agg.sum("dec"),
    Agg.sum("big"),
    Agg.mean("n"),
    Agg.mean("x"),
    Agg.mean("dec"),
    Agg.min("n"),
    Agg.max("n"),
    Agg.min("x"),
    Agg.max("x"),
    Agg.min("text"),
    Agg.max("text"),
    Agg.max("dec"),
    Agg.min("at"),
    Agg.max("at"),
    Agg.max("flag"),
    Agg.first("n"),
    Agg.last("text"),
    Agg.first("at"),
    Agg.collect("n"),
    Agg.collect("text"),
    Agg.approx_distinct("text"),
    Agg.approx_distinct("n"),
    Agg.approx_distinct("dec"),
)
_EPOCH = datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def records() -> st.SearchStrategy[Row]:
    """Rows with few different values, so that keys and values meet; every value may be missing.

    Floats are multiples of a half: their sums are exact in any order.
    """
    return st.builds(
        lambda *values: Row(**dict(zip(NAMES, values, strict=True))),
        st.sampled_from(["a", "b", "c", "", None]),
        st.none() | st.integers(-300, 300),
        st.none() | st.integers(-5, 5) | st.sampled_from([2**53 + 1, -(2**55)]),
        st.none() | st.integers(-9, 9).map(lambda half: half / 2),
        st.none() | st.decimals(-99, 99, places=2),
        st.none() | st.integers(-(2**80), 2**80),
        st.none() | st.sampled_from(["", "x", "yy", "zebra", "Ä"]),
        st.none() | st.integers(0, 3).map(lambda hours: _EPOCH + timedelta(hours=hours)),
        st.none() | st.booleans(),
    )


def record(**values: Any) -> Row:
    """A row with these values and no others."""
    return Row(**{name: values.get(name) for name in NAMES})


def take_long_runs(harness: OperatorHarness) -> None:
    """Let the task take whole runs in hand from the start; otherwise it begins with single records."""
    harness._task._pacer.limit = 1 << 15


def aggregated(rows: Sequence[Row], aggregates: Iterable[Aggregate] = AGGREGATES) -> list[Any]:
    """The aggregates of ``rows``, which came in this order."""
    return [_aggregated(rows, aggregate) for aggregate in aggregates]


def _aggregated(rows: Sequence[Row], aggregate: Aggregate) -> Any:
    if aggregate.column is None:
        return len(rows)
    values = [row[aggregate.column] for row in rows if row[aggregate.column] is not None]
    if aggregate.kind in _OF_NOTHING:
        return _OF_NOTHING[aggregate.kind](values)
    return _OF_SOME[aggregate.kind](values) if values else None


def _mean(values: list[Any]) -> Any:
    total = sum(values[1:], values[0])
    return total / len(values) if not isinstance(total, Decimal) else _decimal_mean(values)


def _decimal_mean(values: list[Decimal]) -> Decimal:
    with decimal.localcontext(prec=38):
        return sum(values[1:], values[0]) / len(values)


_OF_NOTHING: dict[AggregateKind, Callable[[list[Any]], Any]] = {
    AggregateKind.COUNT: len,
    AggregateKind.COLLECT: list,
    AggregateKind.APPROX_DISTINCT: lambda values: len(set(values)),
}
_OF_SOME: dict[AggregateKind, Callable[[list[Any]], Any]] = {
    AggregateKind.SUM: lambda values: sum(values[1:], values[0]),
    AggregateKind.MEAN: _mean,
    AggregateKind.MIN: min,
    AggregateKind.MAX: max,
    AggregateKind.FIRST: lambda values: values[0],
    AggregateKind.LAST: lambda values: values[-1],
}
