"""A source of whole numbers."""

from __future__ import annotations

from typing import Any

from riverrun.api.source import Source, SourceReader, SourceReaderContext
from riverrun.connectors.index_ranges import IndexReader, contiguous_splits
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source[int]):
    """The whole numbers from ``start`` to ``end``, both included.

    Each subtask gives a contiguous part of the range in ascending order.
    """

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ValueError(
                f"number sequence: goes from {start} to {end}; expected the start not above the end"
            )
        self.start, self.end = start, end

    def create_splits(self, parallelism: int) -> list[Any]:
        return contiguous_splits(self.start, self.end + 1, parallelism)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        del context
        return _NumberReader(splits)

    def get_produced_type(self) -> TypeInformation | None:
        return Types.LONG()


class _NumberReader(IndexReader[int]):
    def make(self, indices: range) -> list[int]:
        return list(indices)
