"""What an accumulator of one aggregate is: the states of many cells, worked on together.

A cell is a number; it stands for a key, or for a key and a slice of time. Whoever hands cells out sees to
it that a cell has the state of no values when it is first used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from riverrun.serde.columns import Indices

__all__ = ["Accumulator", "PartialAccumulator", "grown", "is_present"]


class Accumulator(Protocol):
    """The states of one aggregate; arrays are indexed by cell."""

    def grow(self, capacity: int) -> None:
        """Make room for so many cells; new ones have seen nothing."""

    def update(self, cells: Indices, values: pa.Array, sequence: Indices) -> None:
        """Take a column in, of which row i goes to ``cells[i]``; ``sequence`` tells in which order rows came."""

    def running(self, cells: Indices, values: pa.Array, sequence: Indices) -> pa.Array:
        """The same, and the result after each row."""

    def absorb(self, into: Indices, other: Self, cells: Indices) -> None:
        """Merge what ``cells[i]`` of ``other`` has seen into ``into[i]``."""

    def fresh(self) -> Self:
        """An accumulator of the same kind without cells."""

    def results(self, cells: Indices) -> pa.Array:
        """The results of some cells."""

    def reset(self, cells: Indices) -> None:
        """Let cells have seen nothing."""

    def save(self, cells: Indices) -> list[Any]:
        """The states of some cells as plain values."""

    def load(self, cells: Indices, saved: Sequence[Any]) -> None:
        """Give cells the states that ``save`` gave."""


class PartialAccumulator(Accumulator, Protocol):
    """One whose states can be made in portions, which travel as columns (``api.partial_aggregates``)."""

    @property
    def width(self) -> int:
        """How many columns a state takes."""
        ...

    def parts(self) -> list[pa.Array]:
        """The states of all cells, as columns."""

    def add_parts(self, cells: Indices, rows: Indices, parts: Sequence[pa.Array]) -> None:
        """Merge states: row i, made of ``rows[i]`` records, goes to ``cells[i]``."""


def grown(array: npt.NDArray[Any], capacity: int, fill: Any) -> npt.NDArray[Any]:
    """The array with room for ``capacity`` items, the new ones ``fill``."""
    made = np.full(capacity, fill, array.dtype)
    made[: len(array)] = array
    return made


def is_present(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values are not null."""
    present: npt.NDArray[np.bool_] = values.is_valid().to_numpy(zero_copy_only=False)
    return present


def segments(cells: Indices) -> tuple[Indices, Indices]:
    """The rows sorted by cell, those of a cell in order; and where the rows of each cell begin there."""
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(cells) else order
    return order, starts
