"""Cells: the places of keys in the accumulators of all aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from riverrun.api.column_aggregates import Aggregate
from riverrun.api.partial_aggregates import PartialRows
from riverrun.runtime.columns.accumulator import Accumulator, grown
from riverrun.runtime.columns.accumulators import accumulators_of
from riverrun.runtime.columns.numbers import (
    CountAccumulator,
    ExtremeAccumulator,
    TotalAccumulator,
)
from riverrun.serde.arrow_columns import Column
from riverrun.serde.columns import ColumnLayout, ColumnRun, Indices

__all__ = ["Cells"]

_FIRST: Final = 64


class Cells:
    """Accumulators of one operator's aggregates, and which of their cells are in use."""

    def __init__(
        self,
        columns: Sequence[int],
        accumulators: Sequence[Accumulator],
        partial: PartialRows | None = None,
    ) -> None:
        self._columns = columns
        self._partial = partial
        self._accumulators = accumulators
        self._capacity = 0
        self._free: list[Indices] = []
        self._free_count = 0
        self.group = np.zeros(0, np.int32)
        """The key group of each cell."""
        self.dirty = np.zeros(0, np.bool_)
        """Whether a cell was written since its owner saved it."""

    @staticmethod
    def of(
        aggregates: Sequence[Aggregate],
        layout: ColumnLayout,
        made: Sequence[Column],
        partial: PartialRows | None = None,
    ) -> Cells:
        """For aggregates of records of ``layout``; ``made`` are the columns of their results.

        With ``partial`` runs are rows of that kind instead of records.
        """
        columns, accumulators = zip(*accumulators_of(aggregates, layout, made), strict=True)
        if partial is not None:
            columns = tuple(partial.read.get(column, -1) for column in columns)
        return Cells(columns, accumulators, partial)

    @property
    def in_use(self) -> int:
        """How many cells are in use."""
        return self._capacity - self._free_count

    def allocate(self, count: int) -> Indices:
        """So many cells that have seen nothing."""
        while self._free_count < count:
            self._grow(max(_FIRST, 2 * self._capacity))
        taken: list[Indices] = []
        missing = count
        while missing:
            piece = self._free.pop()
            taken.append(piece[:missing])
            if len(piece) > missing:
                self._free.append(piece[missing:])
            missing -= len(taken[-1])
        self._free_count -= count
        return np.concatenate(taken) if taken else np.zeros(0, np.int64)

    def release(self, cells: Indices) -> None:
        """These cells are no longer used."""
        if len(cells):
            for accumulator in self._accumulators:
                accumulator.reset(cells)
            self.dirty[cells] = False
            self._free.append(cells)
            self._free_count += len(cells)

    def update(self, cells: Indices, run: ColumnRun, sequence: Indices) -> None:
        """Take a run in, of which row i belongs to ``cells[i]``."""
        if self._partial is None:
            self._add_records(cells, run, sequence)
            return
        of_records = run.column(self._partial.rows)
        if of_records.null_count == 0:
            self._add_parts(self._partial, cells, run)
        elif of_records.null_count == len(run):
            self._add_records(cells, run, sequence)
        else:
            single = of_records.is_null().to_numpy(zero_copy_only=False)
            for rows in (np.flatnonzero(single), np.flatnonzero(~single)):
                self.update(cells[rows], run.take(rows), sequence[rows])

    def _add_records(self, cells: Indices, run: ColumnRun, sequence: Indices) -> None:
        for position, accumulator in zip(self._columns, self._accumulators, strict=True):
            column = run.column(max(position, 0))
            accumulator.update(cells, column, sequence)

    def _add_parts(self, partial: PartialRows, cells: Indices, run: ColumnRun) -> None:
        rows: Indices = run.column(partial.rows).to_numpy()
        at = partial.parts
        for accumulator in self._accumulators:
            assert isinstance(accumulator, CountAccumulator | TotalAccumulator | ExtremeAccumulator)  # noqa: S101
            parts = [run.column(at + part) for part in range(accumulator.width)]
            accumulator.add_parts(cells, rows, parts)
            at += accumulator.width

    def running(self, cells: Indices, run: ColumnRun, sequence: Indices) -> list[pa.Array]:
        """The same, and the results after each row, a column an aggregate."""
        return [
            accumulator.running(cells, run.column(max(position, 0)), sequence)
            for position, accumulator in zip(self._columns, self._accumulators, strict=True)
        ]

    def results(self, cells: Indices) -> list[pa.Array]:
        """The results of some cells, a column an aggregate."""
        return [accumulator.results(cells) for accumulator in self._accumulators]

    def merged_results(self, groups: Indices, cells: Indices, count: int) -> list[pa.Array]:
        """The results of ``count`` groups of cells: ``cells[i]`` is in ``groups[i]``."""
        made = []
        every = np.arange(count)
        for accumulator in self._accumulators:
            together = accumulator.fresh()
            together.grow(count)
            together.absorb(groups, accumulator, cells)
            made.append(together.results(every))
        return made

    def save(self, cells: Indices) -> list[list[Any]]:
        """The states of some cells as plain values, a list an aggregate."""
        return [accumulator.save(cells) for accumulator in self._accumulators]

    def load(self, cells: Indices, saved: Sequence[Sequence[Any]]) -> None:
        """Give cells the states that ``save`` gave."""
        for accumulator, states in zip(self._accumulators, saved, strict=True):
            accumulator.load(cells, states)

    def _grow(self, capacity: int) -> None:
        for accumulator in self._accumulators:
            accumulator.grow(capacity)
        self.group = grown(self.group, capacity, 0)
        self.dirty = grown(self.dirty, capacity, fill=False)
        self._free.append(np.arange(self._capacity, capacity))
        self._free_count += capacity - self._capacity
        self._capacity = capacity
