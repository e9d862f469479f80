"""Reading numbered things: splits are ranges of indices, and a reader takes them a run at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

from riverrun.api.source import Polled, SourceReader, SourceStatus

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexSplit:
    """Every ``step``-th index from ``next`` on, below ``end`` (``None``: for ever)."""

    next: int
    end: int | None
    step: int = 1

    def take(self, limit: int) -> tuple[range, IndexSplit]:
        """The next ``limit`` indices at most, and what is left.

        >>> IndexSplit(0, 10, 4).take(2)
        (range(0, 8, 4), IndexSplit(next=8, end=10, step=4))
        """
        stop = self.next + limit * self.step
        if self.end is not None:
            stop = min(stop, self.end)
        taken = range(self.next, stop, self.step)
        return taken, replace(self, next=self.next + len(taken) * self.step)

    def is_exhausted(self) -> bool:
        """Whether there is nothing left."""
        return self.end is not None and self.next >= self.end


def contiguous_splits(start: int, end: int, parts: int) -> list[IndexSplit]:
    """The indices from ``start`` below ``end`` in ``parts`` pieces, in order, of about equal size.

    >>> [(split.next, split.end) for split in contiguous_splits(0, 7, 3)]
    [(0, 2), (2, 4), (4, 7)]
    """
    count = end - start
    bounds = [start + part * count // parts for part in range(parts + 1)]
    return [IndexSplit(low, high) for low, high in pairwise(bounds)]


def strided_splits(end: int | None, parts: int) -> list[IndexSplit]:
    """The indices from 0 below ``end`` in ``parts`` pieces that all advance together.

    >>> strided_splits(5, 2)
    [IndexSplit(next=0, end=5, step=2), IndexSplit(next=1, end=5, step=2)]
    """
    return [IndexSplit(part, end, parts) for part in range(parts)]


class IndexReader(SourceReader[T], Generic[T]):
    """Takes turns between its splits, one run each; a split is named by its place among them."""

    def __init__(self, splits: list[IndexSplit]) -> None:
        self._splits = deque(
            (str(place), split) for place, split in enumerate(splits) if not split.is_exhausted()
        )
        self._paused: set[str] = set()

    @abstractmethod
    def make(self, indices: range) -> list[T]:
        """The records with these indices."""

    def poll(self, limit: int) -> Polled:
        splits = self._splits
        if not splits:
            return Polled(status=SourceStatus.END_OF_INPUT)
        for _ in range(len(splits)):
            name, split = splits.popleft()
            if name not in self._paused:
                break
            splits.append((name, split))
        else:
            return Polled(status=SourceStatus.NOTHING_AVAILABLE)
        indices, rest = split.take(limit)
        if rest.is_exhausted():
            return Polled(self.make(indices), split=name, finished_splits=(name,))
        splits.append((name, rest))
        return Polled(self.make(indices), split=name)

    def snapshot_splits(self) -> list[Any]:
        return [split for _, split in self._splits]

    def split_ids(self) -> list[str]:
        return [name for name, _ in self._splits]

    def pause_or_resume_splits(
        self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        self._paused.update(splits_to_pause)
        self._paused.difference_update(splits_to_resume)
