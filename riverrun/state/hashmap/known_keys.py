"""Keys as the last snapshot wrote them: those of the next one are most often the same.

While values change and keys neither come nor go, a dict gives its keys in the same order. To find that a
stretch of them is what it was is a comparison of references, at a thirtieth of the cost of hashing, sorting
and encoding them again. Where all of them are what they were, the tuple of the last time is taken again, and none of
them is touched: they lie anywhere in memory, and to count a reference to each costs more than to compare. It is a
tuple because the garbage collector goes through every list, and not through tuples of numbers or texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from riverrun import loops
from riverrun.state.entry_columns import EncodedColumn, EntryColumn, Hashes, Order

Piece: TypeAlias = tuple[int, int, tuple[tuple[int, int], ...]]
"""Where a piece of sorted entries starts and ends, and how many entries of which key groups it holds."""


class RememberedColumn:
    """A column in order that is encoded piece by piece, each one once."""

    __slots__ = ("_column", "_encoded")

    def __init__(self, column: EntryColumn) -> None:
        self._column: EntryColumn | None = column
        self._encoded: dict[int, Sequence[EncodedColumn]] = {}

    def taken(self, order: Order) -> RememberedColumn:
        """Itself: it has its order."""
        del order
        return self

    def encoded(self, start: int, end: int) -> Sequence[EncodedColumn]:
        """What the column gives; it must be asked for the same pieces again."""
        found = self._encoded.get(start)
        if found is None:
            assert self._column is not None, start  # noqa: S101  (all pieces were asked for before)
            found = self._encoded[start] = self._column.encoded(start, end)
        return found

    def hashed(self) -> Hashes | None:
        """Nobody needs it any more."""
        return None

    def seal(self) -> None:
        """All pieces are encoded."""
        self._column = None


@dataclass(frozen=True, slots=True)
class Keys:
    """Some keys of a tuple; a list of their own only when it is asked for."""

    source: tuple[Any, ...]
    start: int
    end: int

    def all(self) -> list[Any]:
        """The keys."""
        return list(self.source[self.start : self.end])

    def are(self, others: Keys) -> bool:
        """Whether these are the same."""
        if self.source is others.source:
            return (self.start, self.end) == (others.start, others.end)
        return self.all() == others.all()


@dataclass(frozen=True, slots=True)
class SortedKeys:
    """The keys of a stretch of entries: how they are sorted by key group, cut into pieces and encoded."""

    keys: Keys
    order: npt.NDArray[np.uint16]
    """At most 65,536 keys are sorted together."""
    pieces: Sequence[Piece]
    column: RememberedColumn


class KnownKeys:
    """The keys of a table, stretch by stretch.

    They take some ten bytes for each key beside what is encoded of it. The task's thread asks for all of them, and
    those that write snapshots for stretches.
    """

    __slots__ = ("_all", "_stretches")

    def __init__(self) -> None:
        self._all: tuple[Any, ...] = ()
        self._stretches: dict[int, SortedKeys] = {}

    def of(self, data: dict[Any, Any]) -> tuple[Any, ...]:
        """The keys of a dict: the tuple of the last time if they are the same."""
        if not loops.same_keys(data, self._all):
            self._all = tuple(data)
        return self._all

    def find(self, number: int, keys: Keys) -> SortedKeys | None:
        """What is known of a stretch, if these are its keys."""
        known = self._stretches.get(number)
        if known is None or not known.keys.are(keys):
            return None
        if known.keys.source is not keys.source:  # which is given up with the last stretch of it
            known = self._stretches[number] = replace(known, keys=keys)
        return known

    def keep(self, number: int, keys: SortedKeys) -> None:
        """Know a stretch that was written."""
        self._stretches[number] = keys

    def forget_from(self, number: int) -> None:
        """There are no more stretches than this."""
        for gone in [known for known in self._stretches if known >= number]:
            del self._stretches[gone]
