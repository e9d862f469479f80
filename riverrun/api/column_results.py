"""The rows that windows of aggregates give where records are folded one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from riverrun.api.functions import AllWindowFunction, WindowFunction
from riverrun.serde.row import Row

__all__ = ["AllWindowRows", "WindowRows"]


class _Rows:
    """Makes the row of a window: its key's columns, its bounds, its aggregates."""

    def __init__(self, names: Sequence[str], keys: int, *, bounds: bool) -> None:
        self._names = tuple(names)
        self._keys = keys
        self._bounds = bounds

    def row(self, key: Any, window: Any, results: Iterable[Any]) -> Row:
        """The row with these results."""
        parts = [] if not self._keys else [key] if self._keys == 1 else list(key)
        if self._bounds:
            parts += [getattr(window, "start", None), getattr(window, "end", None)]
        row = Row(*parts, *results)
        row.set_field_names(self._names)
        return row


class WindowRows(_Rows, WindowFunction[Any, Row, Any, Any]):
    """For windows of a keyed stream."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Row]:
        return [self.row(key, window, results) for results in inputs]


class AllWindowRows(_Rows, AllWindowFunction[Any, Row, Any]):
    """For windows of all records."""

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Row]:
        return [self.row(None, window, results) for results in inputs]
