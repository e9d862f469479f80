"""map_batches and filter_batches: one user call per run, on its columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from riverrun.api.batch_functions import BatchFunction
from riverrun.api.columns import Column, times_of
from riverrun.graph.column_specs import FilterBatchesSpec, MapBatchesSpec
from riverrun.runtime.columns.formats import batch_in, columns_out, mask_out
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.serde.column_views import ColumnMismatch, batch_from, column_array, view_of
from riverrun.serde.columns import ColumnRun, TimeColumn, known_layout, time_array


class MapBatchesOperator(FunctionOperator):
    """A batch in, a batch out."""

    takes_columns = True

    def __init__(self, spec: MapBatchesSpec) -> None:
        super().__init__(spec.fn)
        self._spec = spec
        self._apply = _applied(spec.fn)

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._layout = known_layout(self._spec.input_type)
        self._made = known_layout(context.value_type)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        run = self._layout.run_of(values)
        if not len(run):
            return
        given = self._apply(batch_in(self._given_batch(run, timestamps), self._spec.format))
        columns = columns_out(given, self._spec.format)
        named = self._spec.timestamps
        times: list[int] | None = timestamps
        if named is not None:
            times = self._times(columns, named)
        kind = None
        if self._made.has_kind and self._layout.has_kind and _length(columns) == len(run):
            kind = run.batch.column(run.batch.num_columns - 1)
        batch = batch_from(self._made, columns, kind)
        if times is not None and len(times) != batch.num_rows:
            raise ColumnMismatch(
                f"the function made {batch.num_rows} records of {len(times)}, so their event times "
                f"cannot be told; give them in a column, and name it: "
                f'map_batches(..., timestamps="ts")'
            )
        if batch.num_rows:
            emit(ColumnRun(self._made, batch), times)

    def _given_batch(self, run: ColumnRun, timestamps: list[int] | None) -> pa.RecordBatch:
        batch, named = view_of(run), self._spec.timestamps
        if named is None or named in self._layout.names or timestamps is None:
            return batch
        return batch.append_column(named, pa.array(time_array(timestamps)))

    def _times(self, columns: dict[str, Any], named: str) -> TimeColumn:
        if named not in columns:
            raise ColumnMismatch(
                f"the columns are {list(columns)!r}; expected also {named!r} with the event times, "
                f"as timestamps={named!r} says"
            )
        column = columns[named] if named in self._made.names else columns.pop(named)
        try:
            return times_of(column_array(column))
        except (TypeError, ValueError) as error:
            raise ColumnMismatch(f"column {named!r}: {error}") from error


class FilterBatchesOperator(FunctionOperator):
    """Keeps the records for which the mask is true."""

    takes_columns = True

    def __init__(self, spec: FilterBatchesSpec) -> None:
        super().__init__(spec.fn)
        self._spec = spec
        self._apply = None if isinstance(spec.fn, Column) else _applied(spec.fn)
        self._column = spec.fn if isinstance(spec.fn, Column) else None

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._layout = known_layout(self._spec.input_type)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        run = self._layout.run_of(values)
        if not len(run):
            return
        if self._column is not None:
            given = self._column.of(run)
        else:
            assert self._apply is not None  # noqa: S101  (either an expression or a function)
            given = self._apply(batch_in(view_of(run), self._spec.format))
        mask = mask_out(given, len(run))
        if mask.all():
            emit(run, timestamps)
            return
        kept = np.flatnonzero(mask)
        if len(kept):
            times = None if timestamps is None else TimeColumn(time_array(timestamps)[kept])
            emit(run.take(kept), times)


def _applied(fn: BatchFunction | Callable[[Any], Any]) -> Callable[[Any], Any]:
    return fn.apply if isinstance(fn, BatchFunction) else fn


def _length(columns: dict[str, Any]) -> int | None:
    return next((len(column) for column in columns.values()), None)
