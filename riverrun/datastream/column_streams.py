"""Work on columns: what a program calls to handle many records at once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import pyarrow as pa

from riverrun.api.batch_functions import BatchFormat, BatchFunction
from riverrun.api.column_aggregates import Aggregate, result_types
from riverrun.api.columns import Column, ColumnKey, Field, Name, column_key, layout_for, position_of
from riverrun.core.errors import ProgramError
from riverrun.datastream.output_types import checked_type
from riverrun.graph.column_specs import ColumnAggregateSpec, FilterBatchesSpec, MapBatchesSpec
from riverrun.graph.specs import OperatorSpec
from riverrun.graph.transformations import Upstream
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.columns import ColumnLayout, layout_of
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["ColumnMethods", "KeyedColumnMethods"]

S = TypeVar("S")
Type: TypeAlias = TypeInformation | None
BatchCallable: TypeAlias = BatchFunction | Callable[[Any], Any]


class ColumnMethods(Generic[S]):
    """The methods of a stream that work on columns; its type must be declared and map to Arrow."""

    _type: Type

    def _then(
        self,
        name: str,
        spec: OperatorSpec,
        output_type: Type,
        *,
        declared: bool = False,
        second: Upstream | None = None,
    ) -> S:
        raise NotImplementedError

    def map_batches(
        self,
        func: BatchCallable,
        output_type: TypeInformation | pa.Schema | None = None,
        *,
        format: str | BatchFormat = BatchFormat.ARROW,  # noqa: A002  (what it is called everywhere)
        timestamps: str | None = None,
    ) -> S:
        """Make of each batch of records another one: one call for a whole run, on its columns.

        How many records make a batch is not defined. ``func`` may give as many records as it gets,
        which then keep their timestamps, or another number if the stream has no timestamps. With
        ``timestamps`` it may always: the batch that ``func`` gets has the event times in a column of
        that name (int64, milliseconds), and so must have the batch that it gives. If the name is that
        of a field, it is that field.

        Args:
            func: takes a batch and gives one, in the same format.
            output_type: the type of the records that come out, or the Arrow schema of rows; that of
                the input if not given.
            format: "arrow" (a pyarrow RecordBatch; a Table or a dict of arrays may come back),
                "polars", "pandas" (DataFrames) or "numpy" (a dict of arrays).
            timestamps: the name of a column for event times.
        """
        layout = layout_for("map_batches", self._type)
        made = layout.type_info if output_type is None else _declared("map_batches", output_type)
        layout_for("map_batches: output_type", made)
        if timestamps is not None and not isinstance(timestamps, str):
            raise TypeError(
                f"map_batches: timestamps is {timestamps!r}; expected the name of a column"
            )
        spec = MapBatchesSpec(
            _batch_callable("map_batches", func),
            layout.type_info,
            _format("map_batches", format),
            timestamps,
        )
        return self._then("MapBatches", spec, made, declared=True)

    def filter_batches(
        self,
        func: BatchCallable | Column,
        *,
        format: str | BatchFormat = BatchFormat.ARROW,  # noqa: A002  (what it is called everywhere)
    ) -> S:
        """Only the records for which the mask that ``func`` makes of a batch is true; null counts as false.

        An expression such as ``col("amount") > 10`` will do as well.
        """
        layout = layout_for("filter_batches", self._type)
        if isinstance(func, Column):
            for name in func.names():
                position_of("filter_batches", layout, name)
        else:
            func = _batch_callable("filter_batches", func)
        spec = FilterBatchesSpec(func, layout.type_info, _format("filter_batches", format))
        return self._then("FilterBatches", spec, self._type)

    def _column_key(
        self, method: str, columns: Sequence[Name | Field]
    ) -> tuple[ColumnKey, TypeInformation]:
        """The key that columns make, and its type."""
        if not columns:
            raise ProgramError(f"{method}: got no columns; expected at least one")
        layout = layout_for(method, self._type)
        fields = []
        for column in columns:
            if isinstance(column, Column) and not isinstance(column, Field):
                raise ProgramError(
                    f"{method}: {column!r} is an expression; expected columns, or a function of a "
                    f"record: compute it in map_batches() before"
                )
            name = column.name if isinstance(column, Field) else column
            fields.append(Field(name, position_of(method, layout, name)))
        key = ColumnKey(tuple(fields))
        types = [layout.types[position] for position in key.positions(layout)]
        return key, types[0] if len(types) == 1 else Types.TUPLE(types)


class KeyedColumnMethods(ColumnMethods[S]):
    """The methods of a keyed stream that work on columns."""

    _key_selector: Callable[[Any], Any]
    _key_type: Type

    def aggregate_columns(self, *aggregates: Aggregate, per_run: bool = False) -> S:
        """Each key's aggregates so far: a row of the key's columns and the aggregates.

        Every record in gives a row out, as ``reduce`` does. With ``per_run`` there is one for each key
        of a batch of records, the last of them, with the timestamp of the key's last record in it: much
        less work, for whoever needs no values in between. How many records make a batch is not defined.

        In BATCH mode only the last row of each key comes out, at the end of input.
        """
        layout = layout_for("aggregate_columns", self._type)
        made = rows_of(
            "aggregate_columns",
            key_columns("aggregate_columns", self._key_selector, self._key_type, layout),
            aggregates,
            layout,
        )
        spec = ColumnAggregateSpec(aggregates, layout.type_info, per_run)
        return self._then("AggregateColumns", spec, made, declared=True)


def key_columns(
    method: str, selector: Callable[[Any], Any], key_type: Type, layout: ColumnLayout
) -> list[tuple[str, TypeInformation]]:
    """The names and types of the columns that show the key."""
    key = column_key(selector)
    if key is not None:
        positions = key.positions(layout)
        return [(layout.names[position], layout.types[position]) for position in positions]
    if key_type is None or layout_of(key_type) is None:
        raise ProgramError(
            f"{method}: the type of the keys is not declared, so they have no column; use "
            f'key_by_columns("..."), or key_by(..., key_type=Types.STRING())'
        )
    return [("key", key_type)]


def rows_of(
    method: str,
    before: Sequence[tuple[str, TypeInformation]],
    aggregates: Sequence[Aggregate],
    layout: ColumnLayout,
) -> TypeInformation:
    """The type of results: some columns, then the aggregates."""
    types = result_types(method, layout, aggregates)
    names = [*(name for name, _ in before), *(aggregate.name for aggregate in aggregates)]
    for name in names:
        if names.count(name) > 1:
            raise ProgramError(
                f"{method}: two columns of the result are called {name!r}; "
                f'give an aggregate another name: .alias("...")'
            )
    return Types.ROW_NAMED(names, [*(type_info for _, type_info in before), *types])


def _declared(method: str, declared: Any) -> TypeInformation:
    if isinstance(declared, pa.Schema):
        try:
            return type_of_schema(declared)
        except TypeError as error:
            raise ProgramError(f"{method}: output_type: {error}") from error
    return checked_type(method, declared)


def _batch_callable(method: str, func: Any) -> BatchCallable:
    if isinstance(func, type) or not (isinstance(func, BatchFunction) or callable(func)):
        raise TypeError(
            f"{method}: got {func!r}; expected a BatchFunction object or a callable of a batch"
        )
    return func  # type: ignore[no-any-return]  # callable(), as far as mypy can follow it


def _format(method: str, form: Any) -> BatchFormat:
    try:
        found = BatchFormat(form)
    except ValueError:
        known = ", ".join(repr(each.value) for each in BatchFormat)
        raise ProgramError(f"{method}: the format is {form!r}; expected one of {known}") from None
    library = found.value if found in (BatchFormat.POLARS, BatchFormat.PANDAS) else None
    if library is not None and importlib.util.find_spec(library) is None:
        raise ProgramError(
            f"{method}: the format is {found.value!r}, but {library} is not installed here; install "
            f"it, here and where the workers run, or use another format"
        )
    return found
