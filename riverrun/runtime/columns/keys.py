"""The keys of records that come as columns, and the columns of keys that go out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from riverrun.api.columns import column_key
from riverrun.api.resolve import key_callable
from riverrun.serde.arrow_columns import Column
from riverrun.serde.column_groups import Groups, grouped, grouped_by
from riverrun.serde.column_hash import hash_keys
from riverrun.serde.columns import ColumnLayout, ColumnRun, Indices

__all__ = ["KeyColumns", "groups_of", "keys_of_groups"]


class KeyColumns:
    """Knows where the key of a record is, and which columns show it in the output."""

    def __init__(
        self, selector: Callable[[Any], Any], layout: ColumnLayout, shown: Sequence[Column]
    ) -> None:
        key = column_key(selector)
        self._positions = None if key is None else key.positions(layout)
        self._select = key_callable(selector)
        self._shown = shown

    def of(self, run: ColumnRun) -> Groups:
        """The rows of a run by their key."""
        if self._positions is not None:
            return grouped(run, self._positions)
        return grouped_by(run.rows(), self._select)

    def columns(self, keys: list[Any]) -> list[pa.Array]:
        """The columns that show some keys."""
        if not self._shown:
            return []
        if self._positions is None or len(self._positions) == 1:
            return [self._shown[0].to_array(keys)]
        return [
            column.to_array([key[part] for key in keys]) for part, column in enumerate(self._shown)
        ]


def groups_of(keys: Sequence[Any], max_parallelism: int) -> Indices:
    """The key groups of some keys."""
    return (hash_keys(keys) % np.uint64(max_parallelism)).astype(np.int64)


@lru_cache(maxsize=16)
def keys_of_groups(max_parallelism: int) -> tuple[int, ...]:
    """A whole number for each key group, as a key of that group.

    What belongs to a group as a whole is kept under it, and moves with the group.
    """
    found: dict[int, int] = {}
    start, size = 0, 16 * max_parallelism
    while len(found) < max_parallelism:
        candidates = range(start, start + size)
        for key, group in zip(candidates, groups_of(candidates, max_parallelism), strict=True):
            found.setdefault(int(group), key)
        start += size
    return tuple(found[group] for group in range(max_parallelism))
