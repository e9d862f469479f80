"""Rolling aggregates per key, declared on columns.

The accumulators of keys that were met are in arrays. Keyed state holds them by key and is written back
when a snapshot is taken; where there is a disk, keys leave memory when there are too many.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa

from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.core import options
from riverrun.graph.column_specs import ColumnAggregateSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.columns.accumulator import grown
from riverrun.runtime.columns.cells import Cells
from riverrun.runtime.columns.keys import KeyColumns
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.serde.column_views import kinds
from riverrun.serde.columns import (
    ColumnRun,
    Indices,
    TimeColumn,
    known_layout,
    time_array,
)
from riverrun.state.backend import NO_KEY

STATE: Final = "_aggregates"
_MOST_CELLS: Final = 1 << 20
"""Keys in memory, where there is a disk to go to."""


class ColumnAggregateOperator(Operator):
    """Gives the aggregates so far: for each record, for each key of a run, or at the end of input."""

    takes_columns = True

    def __init__(self, spec: ColumnAggregateSpec) -> None:
        self._spec = spec
        self._index: dict[Any, int] = {}
        """The cell of each key in memory."""
        self._key_of: dict[int, Any] = {}
        self._sequence = 0
        self._latest = np.zeros(0, np.int64)
        """The greatest timestamp of each cell, for results at the end."""
        self._timed = False

    def open(self, context: OperatorContext) -> None:
        assert context.key_selector is not None  # noqa: S101  (exists on keyed streams only)
        spec = self._spec
        self._layout, self._made = known_layout(spec.input_type), known_layout(context.value_type)
        shown = len(self._made.names) - len(spec.aggregates)
        self._keys = KeyColumns(context.key_selector, self._layout, self._made.columns[:shown])
        made = self._made.columns[shown : len(self._made.names)]
        self._cells = Cells.of(spec.aggregates, self._layout, made)
        self._backend = context.states.keyed
        self._state = cast("ValueState[Any]", self._backend.state(ValueStateDescriptor(STATE)))
        self._on_disk = options.STATE_BACKEND.get(context.config) == "rocksdb"

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        run = self._layout.run_of(values)
        if not len(run):
            return
        codes, keys = self._keys.of(run)
        located = self._locate(keys)
        cells = located[codes]
        sequence = np.arange(self._sequence, self._sequence + len(run))
        self._sequence += len(run)
        self._cells.dirty[located] = True
        if self._spec.final_only:
            self._cells.update(cells, run, sequence)
            self._note_times(cells, timestamps)
        elif self._spec.per_run:
            self._cells.update(cells, run, sequence)
            self._emit_touched(codes, keys, located, timestamps, emit)
        else:
            results = self._cells.running(cells, run, sequence)
            rows = pa.array(codes)
            shown = [column.take(rows) for column in self._keys.columns(keys)]
            emit(self._run([*shown, *results]), timestamps)
        if self._on_disk and not self._spec.final_only and self._cells.in_use > _MOST_CELLS:
            self._leave_memory()

    def finish(self, emit: Emit) -> None:
        if self._spec.final_only and self._index:
            cells = np.fromiter(self._index.values(), np.int64)
            times = TimeColumn(self._latest[cells]) if self._timed else None
            self._emit_cells(list(self._index), cells, times, emit)

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        del checkpoint, timestamp
        if not self._spec.final_only:  # batch jobs start over after a failure
            self._save()

    def _locate(self, keys: list[Any]) -> Indices:
        cells = np.array(list(map(self._index.get, keys, repeat(-1))), np.int64)
        missing = np.flatnonzero(cells < 0).tolist()
        if missing:
            fresh = list(dict.fromkeys(keys[row] for row in missing))
            made = self._cells.allocate(len(fresh))
            self._index.update(zip(fresh, made.tolist(), strict=True))
            self._key_of.update(zip(made.tolist(), fresh, strict=True))
            cells[missing] = [self._index[keys[row]] for row in missing]
            if not self._spec.final_only:
                self._load(fresh, made)
        return cells

    def _load(self, keys: list[Any], cells: Indices) -> None:
        """Give new cells what state knows of their keys."""
        backend, state = self._backend, self._state
        known, saved = [], []
        for key, cell in zip(keys, cells.tolist(), strict=True):
            backend.key = key
            found = state.value()
            if found is not None:
                known.append(cell)
                saved.append(found)
        backend.key = NO_KEY
        if known:
            self._cells.load(np.array(known), list(zip(*saved, strict=True)))

    def _save(self) -> None:
        backend, state = self._backend, self._state
        cells = np.flatnonzero(self._cells.dirty)
        saved = self._cells.save(cells)
        for cell, states in zip(cells.tolist(), zip(*saved, strict=True), strict=True):
            backend.key = self._key_of[cell]
            state.update(states)
        backend.key = NO_KEY
        self._cells.dirty[cells] = False

    def _leave_memory(self) -> None:
        self._save()
        self._cells.release(np.fromiter(self._index.values(), np.int64))
        self._index.clear()
        self._key_of.clear()

    def _note_times(self, cells: Indices, timestamps: list[int] | None) -> None:
        if timestamps is None:
            return
        self._timed = True
        size = len(self._cells.dirty)
        if len(self._latest) < size:
            self._latest = grown(self._latest, size, MIN_TIMESTAMP)
        np.maximum.at(self._latest, cells, time_array(timestamps))

    def _emit_touched(
        self,
        codes: Indices,
        keys: list[Any],
        located: Indices,
        timestamps: list[int] | None,
        emit: Emit,
    ) -> None:
        """The aggregates of each key of a run, with the timestamp of its last record."""
        last = np.zeros(len(keys), np.int64)
        last[codes] = np.arange(len(codes))  # of several rows the last one assigned stays
        rows = np.sort(last)
        order = codes[rows]
        times = None if timestamps is None else TimeColumn(time_array(timestamps)[rows])
        self._emit_cells([keys[code] for code in order.tolist()], located[order], times, emit)

    def _emit_cells(
        self, keys: list[Any], cells: Indices, times: TimeColumn | None, emit: Emit
    ) -> None:
        emit(self._run([*self._keys.columns(keys), *self._cells.results(cells)]), times)

    def _run(self, arrays: list[pa.Array]) -> ColumnRun:
        arrays.append(kinds(len(arrays[0])))
        return ColumnRun(self._made, pa.RecordBatch.from_arrays(arrays, schema=self._made.schema))
