"""Sources whose records are columns from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from riverrun.api.source import Source, SourceReader, SourceReaderContext
from riverrun.connectors.datagen import DataGeneratorSource, GeneratorFunction, GeneratorReader
from riverrun.connectors.index_ranges import IndexReader, IndexSplit, strided_splits
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.column_views import ColumnMismatch, batch_from
from riverrun.serde.columns import ColumnLayout, ColumnRun, layout_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["ArrowSource", "BatchGeneratorSource"]


class ArrowSource(Source[Any]):
    """The rows of Arrow batches that the program holds; they are shipped to the workers with it.

    Subtask ``s`` of ``p`` gives the rows ``s``, ``s + p``, ``s + 2p`` ..., in order, so that all subtasks
    advance together. A reader goes on at the very row after the last one that a checkpoint covers.
    """

    gives_columns: ClassVar[bool] = True

    def __init__(
        self,
        batches: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch],
        type_info: TypeInformation | None = None,
    ) -> None:
        table = _table(batches)
        self.type_info = type_of_schema(table.schema) if type_info is None else type_info
        layout = _layout("batches", self.type_info)
        self.batch = batch_from(layout, table)

    def create_splits(self, parallelism: int) -> list[Any]:
        return strided_splits(self.batch.num_rows, parallelism)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        del context
        return _ArrowReader(_layout("batches", self.type_info), self.batch, splits)

    def get_produced_type(self) -> TypeInformation | None:
        return self.type_info


class _ArrowReader(IndexReader[Any]):
    def __init__(
        self, layout: ColumnLayout, batch: pa.RecordBatch, splits: list[IndexSplit]
    ) -> None:
        super().__init__(splits)
        self._run = ColumnRun(layout, batch)

    def make(self, indices: range) -> list[Any]:
        return self._run[indices.start : indices.stop : indices.step]


class BatchGeneratorSource(DataGeneratorSource):
    """Records made from their indices, a batch at a time: ``generator(indices)`` gives their columns.

    ``indices`` is a numpy array of int64; the generator gives a RecordBatch, a Table or a dict of arrays
    with a row for each of them, and always the same row for the same index. Otherwise the same as
    ``DataGeneratorSource``.

    Args:
        generator: a callable, or a GeneratorFunction whose ``map`` takes an array.
        output_type: the type of the records, or the Arrow schema of rows.
        count: how many records there are; None: no end.
        rate_per_second: how many records all subtasks together make a second; None: full speed.
    """

    gives_columns: ClassVar[bool] = True

    def __init__(
        self,
        generator: GeneratorFunction | Callable[[Any], Any],
        output_type: TypeInformation | pa.Schema,
        count: int | None = None,
        rate_per_second: float | None = None,
    ) -> None:
        if isinstance(output_type, pa.Schema):
            output_type = type_of_schema(output_type)
        if not isinstance(output_type, TypeInformation):
            raise TypeError(
                f"batch generator: the output type is {output_type!r}; expected one of Types, called, "
                f"or a pyarrow Schema"
            )
        _layout("batch generator", output_type)
        super().__init__(generator, count, rate_per_second, output_type)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _BatchReader(self, splits, context)


class _BatchReader(GeneratorReader):
    def __init__(
        self, source: BatchGeneratorSource, splits: list[IndexSplit], context: SourceReaderContext
    ) -> None:
        super().__init__(source, splits, context)
        assert source.output_type is not None  # noqa: S101  (it has to be given)
        self._layout = _layout("batch generator", source.output_type)

    def make(self, indices: range) -> list[Any]:
        generate: Callable[[Any], Any] = self._generate
        given = generate(np.arange(indices.start, indices.stop, indices.step))
        batch = batch_from(self._layout, given)
        if batch.num_rows != len(indices):
            raise ColumnMismatch(
                f"the generator gave {batch.num_rows} rows for {len(indices)} indices; "
                f"expected a row for each"
            )
        return ColumnRun(self._layout, batch)


def _table(batches: Any) -> pa.Table:
    if isinstance(batches, pa.Table):
        return batches
    if isinstance(batches, pa.RecordBatch):
        return pa.Table.from_batches([batches])
    found = list(batches) if isinstance(batches, Iterable) else [batches]
    if not found or not all(isinstance(each, pa.RecordBatch) for each in found):
        raise TypeError(
            f"batches: got {type(batches).__name__}; expected a pyarrow Table, a RecordBatch, or "
            f"several of these, at least one"
        )
    return pa.Table.from_batches(found)


def _layout(who: str, type_info: TypeInformation) -> ColumnLayout:
    layout = layout_of(type_info)
    if layout is None:
        raise TypeError(
            f"{who}: the type is {type_info!r}, which does not map to columns; "
            f"expected rows, tuples or dataclasses of basic types"
        )
    return layout
