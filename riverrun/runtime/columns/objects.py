"""Accumulators of any Python values: texts, decimals, first and last values, lists, counts of different ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from riverrun.api.column_folds import Fold
from riverrun.api.hyperloglog import MINUS_ONE, Hashes, HyperLogLog
from riverrun.runtime.columns.accumulator import grown, is_present, segments
from riverrun.serde.arrow_columns import Column
from riverrun.serde.column_hash import hash_column, hash_keys
from riverrun.serde.columns import Indices

__all__ = ["CollectAccumulator", "DistinctAccumulator", "EndAccumulator", "FoldAccumulator"]

_NEVER: Final = -1


class FoldAccumulator:
    """Folds values one by one."""

    def __init__(self, fold: Fold, column: Column, made: Column) -> None:
        self._fold = fold
        self._column = column
        self._made = made
        self._states: list[Any] = []

    def grow(self, capacity: int) -> None:
        self._states += [self._fold.zero() for _ in range(capacity - len(self._states))]

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        del sequence
        states, add = self._states, self._fold.add
        for cell, value in zip(cells.tolist(), self._column.from_array(values), strict=True):
            if value is not None:
                states[cell] = add(states[cell], value)

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        del sequence
        states, add, result = self._states, self._fold.add, self._fold.result
        results = []
        for cell, value in zip(cells.tolist(), self._column.from_array(values), strict=True):
            if value is not None:
                states[cell] = add(states[cell], value)
            results.append(result(states[cell]))
        return self._made.to_array(results)

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        merge = self._fold.merge
        for target, cell in zip(into.tolist(), cells.tolist(), strict=True):
            self._states[target] = merge(self._states[target], other._states[cell])

    def fresh(self) -> Self:
        return type(self)(self._fold, self._column, self._made)

    def results(self, cells: Indices) -> pa.Array:
        return self._made.to_array([self._fold.result(self._states[cell]) for cell in cells])

    def reset(self, cells: Indices) -> None:
        for cell in cells.tolist():
            self._states[cell] = self._fold.zero()

    def save(self, cells: Indices) -> list[Any]:
        return [self._states[cell] for cell in cells.tolist()]

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        for cell, state in zip(cells.tolist(), saved, strict=True):
            self._states[cell] = state


class EndAccumulator:
    """The value that came first, or last; a Python value is made of the winners of a run only."""

    def __init__(self, column: Column, *, last: bool) -> None:
        self._column = column
        self._last = last
        self._sequence = np.zeros(0, np.int64)
        self._values: list[Any] = []

    def grow(self, capacity: int) -> None:
        self._sequence = grown(self._sequence, capacity, _NEVER)
        self._values += [None] * (capacity - len(self._values))

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        rows = np.flatnonzero(is_present(values)) if values.null_count else np.arange(len(cells))
        if not self._last:
            rows = rows[self._sequence[cells[rows]] == _NEVER][::-1]
        if not len(rows):
            return
        # Of several rows of a cell the last one assigned stays.
        winners = np.full(int(cells[rows].max()) + 1, _NEVER)
        winners[cells[rows]] = rows
        chosen = np.flatnonzero(winners != _NEVER)
        rows = winners[chosen]
        self._sequence[chosen] = sequence[rows]
        made = self._column.from_array(values.take(pa.array(rows)))
        for cell, value in zip(chosen.tolist(), made, strict=True):
            self._values[cell] = value

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        results = []
        each = zip(cells.tolist(), self._column.from_array(values), sequence.tolist(), strict=True)
        for cell, value, number in each:
            if value is not None and (self._last or self._sequence[cell] == _NEVER):
                self._values[cell] = value
                self._sequence[cell] = number
            results.append(self._values[cell])
        return self._column.to_array(results)

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        each = zip(into.tolist(), cells.tolist(), other._sequence[cells].tolist(), strict=True)
        for target, cell, number in each:
            have = self._sequence[target]
            better = number > have if self._last else number < have
            if number != _NEVER and (have == _NEVER or better):
                self._sequence[target] = number
                self._values[target] = other._values[cell]

    def fresh(self) -> Self:
        return type(self)(self._column, last=self._last)

    def results(self, cells: Indices) -> pa.Array:
        return self._column.to_array([self._values[cell] for cell in cells.tolist()])

    def reset(self, cells: Indices) -> None:
        self._sequence[cells] = _NEVER
        for cell in cells.tolist():
            self._values[cell] = None

    def save(self, cells: Indices) -> list[Any]:
        values = (self._values[cell] for cell in cells.tolist())
        return list(zip(self._sequence[cells].tolist(), values, strict=True))

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        for cell, (number, value) in zip(cells.tolist(), saved, strict=True):
            self._sequence[cell] = number
            self._values[cell] = value


class CollectAccumulator:
    """All values in the order in which they came."""

    def __init__(self, column: Column, made: Column) -> None:
        self._column = column
        self._made = made
        self._lists: list[list[tuple[int, Any]] | None] = []

    def grow(self, capacity: int) -> None:
        self._lists += [None] * (capacity - len(self._lists))

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        each = zip(cells.tolist(), self._column.from_array(values), sequence.tolist(), strict=True)
        for cell, value, number in each:
            if value is not None:
                self._of(cell).append((number, value))

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        results = []
        each = zip(cells.tolist(), self._column.from_array(values), sequence.tolist(), strict=True)
        for cell, value, number in each:
            if value is not None:
                self._of(cell).append((number, value))
            results.append(_values(self._lists[cell]))
        return self._made.to_array(results)

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        for target, cell in zip(into.tolist(), cells.tolist(), strict=True):
            both = [*(self._lists[target] or ()), *(other._lists[cell] or ())]
            both.sort(key=_number)
            self._lists[target] = both

    def fresh(self) -> Self:
        return type(self)(self._column, self._made)

    def results(self, cells: Indices) -> pa.Array:
        return self._made.to_array([_values(self._lists[cell]) for cell in cells.tolist()])

    def reset(self, cells: Indices) -> None:
        for cell in cells.tolist():
            self._lists[cell] = None

    def save(self, cells: Indices) -> list[Any]:
        # A snapshot is written while records go on, and these lists grow.
        return [list(self._lists[cell] or ()) for cell in cells.tolist()]

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        for cell, state in zip(cells.tolist(), saved, strict=True):
            self._lists[cell] = list(state)

    def _of(self, cell: int) -> list[tuple[int, Any]]:
        found = self._lists[cell]
        if found is None:
            found = self._lists[cell] = []
        return found


class DistinctAccumulator:
    """About how many different values there are; ``hashed`` says whether Arrow's values hash as ours."""

    def __init__(self, column: Column, *, hashed: bool) -> None:
        self._column = column
        self._hashed = hashed
        self._sketches: list[HyperLogLog | None] = []

    def grow(self, capacity: int) -> None:
        self._sketches += [None] * (capacity - len(self._sketches))

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        del sequence
        if values.null_count:
            cells, values = cells[is_present(values)], values.drop_null()
        if not len(cells):
            return
        hashes = self._hashes(values)
        order, starts = segments(cells)
        hashes, owners = hashes[order], cells[order[starts]].tolist()
        ends = [*starts[1:].tolist(), len(cells)]
        for cell, start, end in zip(owners, starts.tolist(), ends, strict=True):
            self._of(cell).add_all(hashes[start:end])

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        del sequence
        present = is_present(values).tolist()
        hashes = iter(self._hashes(values.drop_null()).tolist())
        results = []
        for cell, there in zip(cells.tolist(), present, strict=True):
            if there:
                self._of(cell).add(next(hashes))
            results.append(self._estimate(cell))
        return pa.array(results, pa.int64())

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        for target, cell in zip(into.tolist(), cells.tolist(), strict=True):
            found = other._sketches[cell]
            if found is not None:
                self._of(target).merge(found)

    def fresh(self) -> Self:
        return type(self)(self._column, hashed=self._hashed)

    def results(self, cells: Indices) -> pa.Array:
        return pa.array([self._estimate(cell) for cell in cells.tolist()], pa.int64())

    def reset(self, cells: Indices) -> None:
        for cell in cells.tolist():
            self._sketches[cell] = None

    def save(self, cells: Indices) -> list[Any]:
        found = (self._sketches[cell] for cell in cells.tolist())
        return [None if sketch is None else sketch.to_bytes() for sketch in found]

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        for cell, state in zip(cells.tolist(), saved, strict=True):
            self._sketches[cell] = None if state is None else HyperLogLog.from_bytes(state)

    def _of(self, cell: int) -> HyperLogLog:
        found = self._sketches[cell]
        if found is None:
            found = self._sketches[cell] = HyperLogLog()
        return found

    def _estimate(self, cell: int) -> int:
        found = self._sketches[cell]
        return 0 if found is None else found.estimate()

    def _hashes(self, values: pa.Array) -> Hashes:
        if not self._hashed:
            numbers = self._column.from_array(values)
            hashes = hash_keys(numbers)
            hashes[[number == -1 for number in numbers]] = MINUS_ONE
            return hashes
        hashes = hash_column(values)
        if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
            hashes[values.to_numpy() == -1] = MINUS_ONE
        return hashes


def _values(pairs: list[tuple[int, Any]] | None) -> list[Any]:
    return [value for _, value in pairs or ()]


def _number(pair: tuple[int, Any]) -> int:
    return pair[0]
