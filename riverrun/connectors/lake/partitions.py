"""Rows by the partition they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

__all__ = ["Partition", "PartitionField", "split"]

Partition: TypeAlias = tuple[Any, ...]
"""A value a partition field."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A part of a partition: a column, and what becomes of its values."""

    column: str
    value: Callable[[Any], Any]
    """The partition's value for a value of the column; called once for each that differs."""


def split(
    batch: pa.RecordBatch, fields: Sequence[PartitionField]
) -> list[tuple[Partition, pa.RecordBatch]]:
    """The rows of each partition in order, the partitions in the order of their first rows.

    >>> rows = pa.RecordBatch.from_pydict({"a": [3, 1, 2, 1]})
    >>> [(key, part["a"].to_pylist()) for key, part in split(rows, [PartitionField("a", lambda a: a % 2)])]
    [((1,), [3, 1, 1]), ((0,), [2])]
    """
    if not batch.num_rows:
        return []
    if not fields:
        return [((), batch)]
    ids = np.zeros(batch.num_rows, np.int64)
    parts_of: list[tuple[Any, list[Any]]] = []
    for field in fields:
        codes, distinct = _codes(batch.column(field.column), field.value)
        parts_of.append((codes, distinct))
        # Numbered anew each time: a product of many fields would not fit.
        ids = np.unique(ids * len(distinct) + codes, return_inverse=True)[1]
    found, first, inverse = np.unique(ids, return_index=True, return_inverse=True)

    def partition(place: int) -> Partition:
        row = first[place]
        return tuple(distinct[codes[row]] for codes, distinct in parts_of)

    if len(found) == 1:
        return [(partition(0), batch)]
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse))
    parts = []
    for place in np.argsort(first, kind="stable").tolist():
        start = 0 if place == 0 else int(ends[place - 1])
        rows = batch.take(pa.array(order[start : int(ends[place])]))
        parts.append((partition(place), rows))
    return parts


def _codes(array: pa.Array, value: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """For each row the number of its partition value, and these values."""
    encoded = array.dictionary_encode(null_encoding="encode")
    distinct: dict[Any, int] = {}
    numbers = [
        distinct.setdefault(value(each), len(distinct)) for each in encoded.dictionary.to_pylist()
    ]
    codes = np.array(numbers, np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    return codes, list(distinct)
