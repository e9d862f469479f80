"""Accumulators of numbers, dates and times: arrays, and one array operation per run.

``ufunc.at`` takes rows one after the other, so that sums of floats are those of a loop over the records,
however these are cut into runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from riverrun.api.column_folds import LONGS, AggregateOverflow, mean
from riverrun.runtime.columns.accumulator import grown, is_present, segments
from riverrun.serde.columns import Indices

__all__ = ["CountAccumulator", "ExtremeAccumulator", "TotalAccumulator", "numbers_of"]

_LARGEST: Final = (1 << 63) - 1
_EXACT_IN_DOUBLE: Final = 1 << 53


def numbers_of(values: pa.Array) -> npt.NDArray[Any]:
    """A column without nulls as int64 or float64; dates and times count as numbers."""
    kind = values.type
    floats = pa.types.is_floating(kind)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not floats and not pa.types.is_integer(kind):
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())  # noqa: PLR2004
    numbers: npt.NDArray[Any] = values.to_numpy()
    return numbers.astype(np.float64 if floats else np.int64, copy=False)


def column_of(numbers: npt.NDArray[Any], kind: pa.DataType, present: npt.NDArray[np.bool_]) -> Any:
    """A column of numbers, null where nothing is present; the reverse of ``numbers_of``."""
    mask = None if present.all() else ~present
    if pa.types.is_floating(kind):
        return pa.array(numbers, kind, mask=mask)
    if mask is not None:
        numbers = np.where(present, numbers, 0)
    if pa.types.is_boolean(kind):
        return pa.array(numbers.astype(np.bool_), mask=mask)
    if pa.types.is_integer(kind):
        return pa.array(numbers.astype(kind.to_pandas_dtype()), mask=mask)
    stored = np.int32 if kind.bit_width == 32 else np.int64  # noqa: PLR2004
    return pa.array(numbers.astype(stored), mask=mask).view(kind)


class CountAccumulator:
    """How many rows there are; with ``only_values`` those that are not null."""

    def __init__(self, *, only_values: bool) -> None:
        self._only_values = only_values
        self.width = 1 if only_values else 0
        self._count = np.zeros(0, np.int64)

    def grow(self, capacity: int) -> None:
        self._count = grown(self._count, capacity, 0)

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        del sequence
        if self._only_values and values.null_count:
            cells = cells[is_present(values)]
        np.add.at(self._count, cells, 1)

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        ones = np.ones(len(cells), np.int64)
        if self._only_values and values.null_count:
            ones = is_present(values).astype(np.int64)
        counts = _running(self._count, cells, ones, np.add.accumulate)
        self.update(cells, values, sequence)
        return pa.array(counts)

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        np.add.at(self._count, into, other._count[cells])

    def parts(self) -> list[pa.Array]:
        return [pa.array(self._count.astype(np.int32))] if self._only_values else []

    def add_parts(self, cells: Indices, rows: Indices, parts: Sequence[pa.Array]) -> None:
        np.add.at(self._count, cells, parts[0].to_numpy() if self._only_values else rows)

    def fresh(self) -> Self:
        return type(self)(only_values=self._only_values)

    def results(self, cells: Indices) -> pa.Array:
        return pa.array(self._count[cells])

    def reset(self, cells: Indices) -> None:
        self._count[cells] = 0

    def save(self, cells: Indices) -> list[Any]:
        saved: list[Any] = self._count[cells].tolist()
        return saved

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        self._count[cells] = saved


class TotalAccumulator:
    """The sum, or the mean, of whole numbers or of floats."""

    def __init__(self, name: str, *, floats: bool, is_mean: bool) -> None:
        self._name = name
        self._floats = floats
        self._is_mean = is_mean
        self.width = 2
        self._total = np.zeros(0, np.float64 if floats else np.int64)
        self._count = np.zeros(0, np.int64)
        self._bound = 0
        """No sum is further from zero."""

    def grow(self, capacity: int) -> None:
        self._total = grown(self._total, capacity, 0)
        self._count = grown(self._count, capacity, 0)

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        del sequence
        if values.null_count:
            cells, values = cells[is_present(values)], values.drop_null()
        numbers = numbers_of(values)
        np.add.at(self._count, cells, 1)
        self._add(cells, numbers)

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        present = is_present(values)
        counts = _running(self._count, cells, present.astype(np.int64), np.add.accumulate)
        numbers = np.zeros(len(cells), self._total.dtype)
        numbers[present] = numbers_of(values.drop_null())
        before = self._total.copy()
        self.update(cells, values, sequence)  # first, because it refuses what does not fit
        totals = _running(before, cells, numbers, np.add.accumulate)
        return self._column(totals, counts)

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        np.add.at(self._count, into, other._count[cells])
        self._add(into, other._total[cells])

    def parts(self) -> list[pa.Array]:
        return [pa.array(self._total), pa.array(self._count.astype(np.int32))]

    def add_parts(self, cells: Indices, rows: Indices, parts: Sequence[pa.Array]) -> None:
        del rows
        totals, counts = parts
        np.add.at(self._count, cells, counts.to_numpy())
        self._add(cells, totals.to_numpy())

    def fresh(self) -> Self:
        return type(self)(self._name, floats=self._floats, is_mean=self._is_mean)

    def results(self, cells: Indices) -> pa.Array:
        return self._column(self._total[cells], self._count[cells])

    def reset(self, cells: Indices) -> None:
        self._total[cells] = 0
        self._count[cells] = 0

    def save(self, cells: Indices) -> list[Any]:
        return list(zip(self._total[cells].tolist(), self._count[cells].tolist(), strict=True))

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        totals, counts = zip(*saved, strict=True) if saved else ((), ())
        self._total[cells] = totals
        self._count[cells] = counts
        if not self._floats:
            self._bound = max([self._bound, *map(abs, totals)])

    def _add(self, cells: Indices, numbers: npt.NDArray[Any]) -> None:
        if not len(numbers):
            return
        if self._floats or self._fits(numbers):
            np.add.at(self._total, cells, numbers)
        else:
            self._add_each(cells, numbers)

    def _fits(self, numbers: npt.NDArray[Any]) -> bool:
        """Whether no sum can leave 64 bits, at a glance."""
        most = max(abs(int(numbers.min())), abs(int(numbers.max()))) * len(numbers)
        if self._bound + most > _LARGEST and len(self._total):
            self._bound = max(abs(int(self._total.min())), abs(int(self._total.max())))
        self._bound += most
        return self._bound <= _LARGEST

    def _add_each(self, cells: Indices, numbers: npt.NDArray[Any]) -> None:
        totals: dict[int, int] = {}
        for cell, number in zip(cells.tolist(), numbers.tolist(), strict=True):
            totals[cell] = totals.get(cell, 0) + number
        for cell, total in totals.items():
            summed = int(self._total[cell]) + total
            if summed not in LONGS:
                raise AggregateOverflow(self._name, str(summed))
            self._total[cell] = summed

    def _column(self, totals: npt.NDArray[Any], counts: Indices) -> pa.Array:
        present = counts > 0
        if not self._is_mean:
            return column_of(totals, pa.float64() if self._floats else pa.int64(), present)
        means = totals / np.maximum(counts, 1)
        if not self._floats:
            # An int of more than 53 bits is rounded before it is divided; Python divides it exactly.
            for row in np.flatnonzero(np.abs(totals.astype(np.float64)) >= _EXACT_IN_DOUBLE):
                means[row] = mean(int(totals[row]), int(counts[row]))
        return column_of(means, pa.float64(), present)


class ExtremeAccumulator:
    """The least or the greatest; NaN counts as the greatest of all."""

    def __init__(self, kind: pa.DataType, *, greatest: bool) -> None:
        self._kind = kind
        self._greatest = greatest
        self.width = 1
        floats = pa.types.is_floating(kind)
        self._none: Any
        """What changes nothing."""
        if floats:
            self._none = -np.inf if greatest else np.nan
            self._combine: np.ufunc = np.maximum if greatest else np.fmin
        else:
            limits = np.iinfo(np.int64)
            self._none = limits.min if greatest else limits.max
            self._combine = np.maximum if greatest else np.minimum
        self._value = np.full(0, self._none, np.float64 if floats else np.int64)
        self._seen = np.zeros(0, np.bool_)

    def grow(self, capacity: int) -> None:
        self._value = grown(self._value, capacity, self._none)
        self._seen = grown(self._seen, capacity, fill=False)

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        del sequence
        if values.null_count:
            cells, values = cells[is_present(values)], values.drop_null()
        self._combine.at(self._value, cells, numbers_of(values))
        self._seen[cells] = True

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        present = is_present(values)
        numbers = np.full(len(cells), self._none, self._value.dtype)
        numbers[present] = numbers_of(values.drop_null())
        extremes = _running(self._value, cells, numbers, self._combine.accumulate)
        seen = _running(self._seen, cells, present, np.logical_or.accumulate)
        self.update(cells, values, sequence)
        return column_of(extremes, self._kind, seen)

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        self._combine.at(self._value, into, other._value[cells])
        np.logical_or.at(self._seen, into, other._seen[cells])

    def parts(self) -> list[pa.Array]:
        return [column_of(self._value, self._kind, self._seen)]

    def add_parts(self, cells: Indices, rows: Indices, parts: Sequence[pa.Array]) -> None:
        self.update(cells, parts[0], rows)

    def fresh(self) -> Self:
        return type(self)(self._kind, greatest=self._greatest)

    def results(self, cells: Indices) -> pa.Array:
        return column_of(self._value[cells], self._kind, self._seen[cells])

    def reset(self, cells: Indices) -> None:
        self._value[cells] = self._none
        self._seen[cells] = False

    def save(self, cells: Indices) -> list[Any]:
        pairs = zip(self._value[cells].tolist(), self._seen[cells].tolist(), strict=True)
        return [value if seen else None for value, seen in pairs]

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        self._value[cells] = [self._none if value is None else value for value in saved]
        self._seen[cells] = [value is not None for value in saved]


def _running(
    states: npt.NDArray[Any],
    cells: Indices,
    numbers: npt.NDArray[Any],
    accumulate: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """The state of its cell after each row; the states stay as they are."""
    after = np.empty(len(cells), states.dtype)
    if not len(cells):
        return after
    order, starts = segments(cells)
    ordered = numbers[order]
    made = np.empty_like(after)
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(cells)], strict=True):
        piece = np.empty(end - start + 1, states.dtype)
        piece[0] = states[cells[order[start]]]
        piece[1:] = ordered[start:end]
        made[start:end] = accumulate(piece)[1:]
    after[order] = made
    return after
