"""A source of values that the program holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from riverrun.api.source import Source, SourceReader, SourceReaderContext
from riverrun.connectors.index_ranges import IndexReader, IndexSplit
from riverrun.serde.type_info import TypeInformation

__all__ = ["CollectionSource"]


class CollectionSource(Source[Any]):
    """The given values in order, at parallelism 1; they are shipped to the worker with the program."""

    def __init__(self, values: Iterable[Any], type_info: TypeInformation | None = None) -> None:
        self.values = list(values)
        self.type_info = type_info

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [IndexSplit(0, len(self.values))]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        del context
        return _CollectionReader(self.values, splits)

    def get_produced_type(self) -> TypeInformation | None:
        return self.type_info

    def get_forced_parallelism(self) -> int | None:
        return 1


class _CollectionReader(IndexReader[Any]):
    def __init__(self, values: list[Any], splits: list[IndexSplit]) -> None:
        super().__init__(splits)
        self._values = values

    def make(self, indices: range) -> list[Any]:
        return self._values[indices.start : indices.stop]
