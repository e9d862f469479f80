"""Time windows of aggregates declared on columns.

Records are added to the accumulators of their slice of time, a run at a time; a window that is over
gives the key, the window and the aggregates of every key that had a record in it, in one run of columns.
Windows that overlap share slices, so a record is added once however many windows it is in.

Results are those of ``WindowOperator`` with an incremental function, but for this: an operator that was
restored goes on from the event time that it had when its state was saved, so that what was late then is
late now. Sums of floats in windows that overlap may differ in their last digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from riverrun.api.columns import ColumnKey
from riverrun.api.partial_aggregates import PartialRows, partial_rows
from riverrun.core import options
from riverrun.graph.column_specs import ColumnWindowSpec
from riverrun.graph.key_groups import group_range
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.columns.cells import Cells
from riverrun.runtime.columns.keys import KeyColumns
from riverrun.runtime.columns.slices import SliceStore
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.operators.slice_times import SliceTimes
from riverrun.serde.column_groups import Groups, index_of
from riverrun.serde.column_views import kinds
from riverrun.serde.columns import (
    ColumnRun,
    Indices,
    TimeColumn,
    known_layout,
)

_MOST_RESULTS: Final = 1 << 16
"""Results of one run, about."""
_MOST_CELLS: Final = 1 << 20
"""Keys of all slices in memory, where there is a disk to go to."""
_BOUNDS: Final = 2
"""Columns that say which window it is."""


class ColumnWindowOperator(Operator):
    """Keeps accumulators in arrays, by key and slice of time."""

    takes_columns = True

    def __init__(self, spec: ColumnWindowSpec) -> None:
        self._spec = spec
        self._event_time = spec.assigner.is_event_time()
        self._lateness = spec.allowed_lateness_ms if self._event_time else 0
        self._time = MIN_TIMESTAMP
        """How far the clock of the windows has come."""
        self._latest = MIN_TIMESTAMP
        """How far it has come for any key: some may have been further when state was saved."""
        self._horizon = MIN_TIMESTAMP
        """Records of this time and later belong to no window that is over for their key."""
        self._open: list[int] = []
        """A heap of the windows that have to fire, by their start."""
        self._is_open: set[int] = set()
        self._leaving: list[tuple[int, int]] = []
        """A heap of the slices: when each can be forgotten, and its start."""

    def open(self, context: OperatorContext) -> None:
        assert context.key_selector is not None  # noqa: S101  (the stream has keys, or one key for all)
        spec = self._spec
        self._clock = context.clock
        self._times = SliceTimes(context.name, spec.assigner)
        self._slicing = self._times.slicing
        layout = self._layout = known_layout(spec.input_type)
        self._partial: PartialRows | None = None
        if spec.partial_key is not None:
            self._partial = partial_rows(spec.aggregates, layout, spec.partial_key)
            assert self._partial is not None  # noqa: S101  (found out when the program was compiled)
            self._layout = known_layout(self._partial.type_info)
        self._made = known_layout(context.value_type)
        shown = len(self._made.names) - _BOUNDS - len(spec.aggregates)
        selector = context.key_selector if spec.keyed else ColumnKey(()).get_key
        self._keys = KeyColumns(selector, self._layout, self._made.columns[:shown])
        made = self._made.columns[shown + _BOUNDS : len(self._made.names)]
        self._cells = Cells.of(spec.aggregates, layout, made, self._partial)
        most = max(1, context.runtime.get_max_number_of_parallel_subtasks())
        first, last = group_range(context.subtask, context.parallelism, most)
        self._groups = range(first, last + 1)
        on_disk = options.STATE_BACKEND.get(context.config) == "rocksdb"
        self._store = SliceStore(
            self._cells, context.states.keyed, most, _MOST_CELLS if on_disk else None
        )
        self._late = None if spec.late_tag is None else context.side_output(spec.late_tag)
        self._dropped = context.runtime.get_metrics_group().counter("numLateRecordsDropped")
        self._reach(self._store.restore())
        for start in self._store.starts():
            self._expect(start)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        run = self._layout.run_of(values)
        if not len(run):
            return
        if not self._event_time:
            start, _ = self._slicing.bounds(max(self._clock.now(), self._latest + 1))
            self._add(run, np.full(len(run), start), self._sequence(len(run)))
        else:
            times = self._event_times(run, timestamps)
            if int(times.min()) < self._horizon:
                self._add_late(run, times, emit)
            else:
                self._add(run, self._times.starts(times), self._sequence(len(run)))
        self._store.make_room()

    def advance(self, watermark: int, emit: Emit) -> None:
        if self._event_time and watermark > self._time:
            self._reach(watermark)
            self._fire(emit)

    def due_at(self) -> int | None:
        if self._event_time or not self._open:
            return None
        return self._open[0] + self._slicing.size

    def run_due(self, now: int, emit: Emit) -> None:
        self._reach(max(self._time, now - 1))
        self._fire(emit)

    def finish(self, emit: Emit) -> None:
        if self._spec.fire_open_at_end:
            self._reach(MAX_WATERMARK)
            self._fire(emit)

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        del checkpoint, timestamp
        self._store.save(self._time, self._groups)

    # Records in.

    def _event_times(self, run: ColumnRun, timestamps: list[int] | None) -> Indices:
        if self._partial is None:
            return self._times.event_times(run, timestamps)
        # All records of a partial aggregate are in one slice.
        starts: Indices = run.column(self._partial.start).to_numpy()
        return starts

    def _sequence(self, count: int) -> Indices:
        first = self._store.sequence
        self._store.sequence += count
        return np.arange(first, first + count)

    def _add(self, run: ColumnRun, starts: Indices, sequence: Indices) -> None:
        """Take records of slices that are not late."""
        groups = self._keys.of(run)
        first = int(starts[0])
        if int(starts.min()) == int(starts.max()):
            located = self._locate(first, groups.keys)
            cells = located[groups.codes]
        else:
            located, cells = self._locate_all(groups, starts)
        self._cells.dirty[located] = True
        self._cells.update(cells, run, sequence)

    def _locate(self, start: int, keys: list[Any]) -> Indices:
        if start not in self._store:
            self._store.add(start)
            self._expect(start)
        return self._store.locate(start, keys)

    def _locate_all(self, groups: Groups, starts: Indices) -> tuple[Indices, Indices]:
        """The cells of several slices: all of them, and each row's."""
        slices, places = self._times.indexed(starts)
        width = len(groups.keys)
        pairs, rows = index_of(places * width + groups.codes, len(slices) * width)
        located = np.empty(len(pairs), np.int64)
        bounds = np.searchsorted(pairs, np.arange(len(slices) + 1) * width).tolist()
        for at, start in enumerate(slices.tolist()):
            mine = slice(bounds[at], bounds[at + 1])
            keys = [groups.keys[code] for code in (pairs[mine] - at * width).tolist()]
            located[mine] = self._locate(start, keys)
        return located, located[rows]

    def _add_late(self, run: ColumnRun, times: Indices, emit: Emit) -> None:
        """Take a run some of whose records belong to windows that are over."""
        starts = self._times.starts(times)
        sequence = self._sequence(len(run))
        places = list(zip(starts.tolist(), self._reached(run).tolist(), strict=True))
        known = {place: self._windows_over(*place) for place in set(places)}
        over = [known[place] for place in places]
        lost = np.array([windows is None for windows in over])
        if lost.any():
            self._lose(run.take(np.flatnonzero(lost)), times[lost])
        again = np.array([bool(windows) for windows in over])
        for row in np.flatnonzero(again).tolist():
            record = run[row : row + 1]
            self._add(record, starts[row : row + 1], sequence[row : row + 1])
            (key,) = self._keys.of(record).keys
            self._emit([(window, (key,)) for window in over[row] or ()], emit, again=True)
        rest = np.flatnonzero(~(lost | again))
        if len(rest):
            self._add(run.take(rest), starts[rest], sequence[rest])

    def _reached(self, run: ColumnRun) -> Indices:
        """How far time has come for the key of each record."""
        if self._latest == self._time:
            return np.full(len(run), self._time)
        groups = self._keys.of(run)
        of_keys = self._store.reached_by(groups.keys)
        return np.maximum(of_keys, self._time)[groups.codes]

    def _windows_over(self, start: int, time: int) -> list[int] | None:
        """The windows of a slice that are over but kept; None if the slice is late for all its windows."""
        size = self._slicing.size
        windows = self._slicing.windows(start)
        if windows[0] + size - 1 + self._lateness <= time:
            return None
        return [
            window
            for window in windows
            if window + size - 1 <= time < window + size - 1 + self._lateness
        ]

    def _lose(self, run: ColumnRun, times: Indices) -> None:
        if self._late is not None:
            self._late(run, TimeColumn(times))
        elif self._partial is None:
            self._dropped.inc(len(run))
        else:
            of_records = run.column(self._partial.rows)
            self._dropped.inc(sum(1 if rows is None else rows for rows in of_records.to_pylist()))

    # Windows out.

    def _reach(self, time: int) -> None:
        self._time = time
        self._latest = max(time, self._store.latest)
        if self._latest != MIN_TIMESTAMP:
            self._horizon = self._slicing.horizon(min(self._latest, MAX_WATERMARK - 1))

    def _expect(self, start: int) -> None:
        """A slice is there: its windows have to fire, and one day it can be forgotten."""
        size, windows = self._slicing.size, self._slicing.windows(start)
        for window in windows:
            if window not in self._is_open and window + size - 1 > self._time:
                self._is_open.add(window)
                heappush(self._open, window)
        heappush(self._leaving, (windows[0] + size - 1 + self._lateness, start))

    def _fire(self, emit: Emit) -> None:
        """Let all windows that are over fire, in the order of time, and forget what is no longer needed."""
        size, time = self._slicing.size, self._time
        due: list[tuple[int, Sequence[Any] | None]] = []
        count = 0
        while self._open and self._open[0] + size - 1 <= time:
            window = heappop(self._open)
            self._is_open.discard(window)
            due.append((window, None))
            count += sum(len(self._store.content(each)) for each in self._slicing.slices(window))
            if count >= _MOST_RESULTS:
                self._emit(due, emit)
                self._forget(window)
                due, count = [], 0
        self._emit(due, emit)
        self._forget(None)

    def _forget(self, until: int | None) -> None:
        """Drop slices that no window needs; up to the window ``until``, if others still have to fire."""
        while self._leaving and self._leaving[0][0] <= self._time:
            if until is not None and self._leaving[0][1] >= until + self._slicing.slide:
                break
            _, start = heappop(self._leaving)
            self._store.drop(start)

    def _emit(
        self,
        windows: Iterable[tuple[int, Sequence[Any] | None]],
        emit: Emit,
        *,
        again: bool = False,
    ) -> None:
        """Emit the results of windows, each for some keys or for all that it has."""
        keys: list[Any] = []
        starts: list[int] = []
        cells: list[int] = []
        groups: list[int] = []
        for window, wanted in windows:
            parts = [self._store.content(each) for each in self._slicing.slices(window)]
            parts = [part for part in parts if part]
            first = len(keys)
            if wanted is None and len(parts) == 1:
                keys += parts[0]
                cells += parts[0].values()
                groups += range(first, len(keys))
            else:
                index: dict[Any, int] = {}
                for part in parts:
                    for key in part if wanted is None else wanted:
                        if key in part:
                            groups.append(index.setdefault(key, first + len(index)))
                            cells.append(part[key])
                keys += index
            starts += [window] * (len(keys) - first)
        if keys:
            self._emit_results(_Due(keys, starts, cells, groups), emit, again=again)

    def _emit_results(self, due: _Due, emit: Emit, *, again: bool) -> None:
        keys = due.keys
        starts, cells = np.array(due.starts, np.int64), np.array(due.cells, np.int64)
        ends = starts + self._slicing.size
        if len(cells) == len(keys):
            results = self._cells.results(cells)
        else:
            results = self._cells.merged_results(np.array(due.groups), cells, len(keys))
        arrays = [*self._keys.columns(keys), pa.array(starts), pa.array(ends), *results]
        arrays.append(kinds(len(keys)))
        made = ColumnRun(self._made, pa.RecordBatch.from_arrays(arrays, schema=self._made.schema))
        times = ends - 1
        given = None if again else self._first_time(cells, np.array(due.groups), times)
        if given is not None:
            made, times = made.take(given), times[given]
        if len(made):
            emit(made, TimeColumn(times))

    def _first_time(self, cells: Indices, groups: Indices, times: Indices) -> Indices | None:
        """Which results were not given before the operator was restored; None: all of them.

        Key groups of several subtasks come together when the parallelism changes, and those may have
        been at different times.
        """
        reached = self._store.reached
        if int(reached.max()) < int(times.min()):
            return None
        of_key = np.empty(len(times), np.int64)
        of_key[groups] = self._cells.group[cells]
        return np.flatnonzero(reached[of_key] < times)


class _Due(NamedTuple):
    """Results to give: ``cells[i]`` belongs to the result ``groups[i]``, of a key and a window's start."""

    keys: list[Any]
    starts: list[int]
    cells: list[int]
    groups: list[int]
