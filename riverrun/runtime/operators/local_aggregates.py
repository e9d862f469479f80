"""The first phase of window aggregates on columns: what the records of a run come to, before they travel.

A run of ten thousand records with a thousand keys leaves as a thousand rows. Nothing is kept from one run to
the next, so there is no state, and a watermark or a barrier finds everything sent that came before it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from riverrun.api.column_folds import AggregateOverflow
from riverrun.api.partial_aggregates import partial_rows
from riverrun.graph.column_specs import LocalAggregateSpec
from riverrun.runtime.columns.accumulators import partial_accumulators_of
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.operators.slice_times import SliceTimes
from riverrun.serde.column_groups import grouped, index_of
from riverrun.serde.columns import ColumnRun, Indices, known_layout
from riverrun.serde.empty_columns import nulls

_WORTH: Final = 2
"""So many records at least should come together in a row, or it costs more than it saves."""
_REST: Final = 15
"""Runs that pass record by record before it is tried again."""


class Worthwhile:
    """Whether to look for records with the same key: not for a while after a run that had hardly any.

    >>> worthwhile = Worthwhile()
    >>> worthwhile.saw(100, 90)
    >>> [worthwhile.next() for _ in range(16)].count(False)
    15
    """

    def __init__(self) -> None:
        self._resting = 0

    def next(self) -> bool:
        """Whether to look in the next run."""
        if self._resting:
            self._resting -= 1
            return False
        return True

    def saw(self, records: int, rows: int) -> None:
        """A run with so many records had so many different keys and slices."""
        if rows * _WORTH > records:
            self._resting = _REST


class LocalAggregateOperator(Operator):
    """A run of records in, a run of partial aggregates out; see ``api.partial_aggregates``."""

    takes_columns = True

    def __init__(self, spec: LocalAggregateSpec) -> None:
        self._spec = spec
        self._times = SliceTimes(spec.window, spec.assigner)
        self._worthwhile = Worthwhile()

    def open(self, context: OperatorContext) -> None:
        del context
        spec, layout = self._spec, known_layout(self._spec.input_type)
        partial = partial_rows(spec.aggregates, layout, spec.key)
        assert partial is not None  # noqa: S101  (found out when the program was compiled)
        self._layout, self._partial = layout, partial
        self._made = known_layout(partial.type_info)
        self._accumulators = partial_accumulators_of(spec.aggregates, layout)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        run = self._layout.run_of(values)
        if not len(run):
            return
        starts = self._times.starts(self._times.event_times(run, timestamps))
        emit(self._aggregated(run, starts), None)

    def _aggregated(self, run: ColumnRun, starts: Indices) -> ColumnRun:
        records = len(run)
        if self._spec.always or self._worthwhile.next():
            cells, count = self._cells(run, starts)
            self._worthwhile.saw(records, count)
            try:
                return self._rows(run, starts, cells, count)
            except AggregateOverflow:
                pass  # what the window holds may bring the sum back into range; it will say if not
        return self._records(run, starts)

    def _cells(self, run: ColumnRun, starts: Indices) -> tuple[Indices, int]:
        """A number for each key and slice: each row's, and how many there are."""
        groups = grouped(run, self._spec.key)
        width = len(groups.keys)
        slices, places = self._times.indexed(starts)
        if len(slices) == 1:
            return groups.codes, width
        pairs, cells = index_of(places * width + groups.codes, len(slices) * width)
        return cells, len(pairs)

    def _rows(self, run: ColumnRun, starts: Indices, cells: Indices, count: int) -> ColumnRun:
        """One row for each cell."""
        one_of = np.zeros(count, np.int64)
        one_of[cells] = np.arange(len(run))
        places = pa.array(one_of)
        columns: list[pa.Array] = [run.column(at).take(places) for at in self._partial.key]
        columns.append(pa.array(starts[one_of]))
        columns += self._nothing(len(columns), self._partial.rows, count)
        columns.append(pa.array(np.bincount(cells, minlength=count).astype(np.int32)))
        for position, kind in self._accumulators:
            accumulator = kind.fresh()
            accumulator.grow(count)
            accumulator.update(cells, run.column(max(position, 0)), cells)
            columns += accumulator.parts()
        return self._run(columns)

    def _records(self, run: ColumnRun, starts: Indices) -> ColumnRun:
        """One row for each record."""
        partial = self._partial
        columns = [run.column(position) for position in partial.key]
        columns.append(pa.array(starts))
        columns += [run.column(at) for at, place in partial.read.items() if place > partial.start]
        columns += self._nothing(len(columns), len(self._made.schema), len(run))
        return self._run(columns)

    def _nothing(self, first: int, last: int, count: int) -> list[pa.Array]:
        """Columns without a value."""
        return [nulls(self._made.schema.field(place).type, count) for place in range(first, last)]

    def _run(self, columns: list[pa.Array]) -> ColumnRun:
        return ColumnRun(self._made, pa.RecordBatch.from_arrays(columns, schema=self._made.schema))
