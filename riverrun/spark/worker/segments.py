"""Which bytes of an arena are taken: pure bookkeeping of segments in a row of bytes."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

PAGE: Final = 4096
MOST_SEGMENTS: Final = PAGE
"""So many can be taken at once: each has a byte in the arena's first page."""


class Segment(NamedTuple):
    """Bytes that a frame lies in; ``offset`` first, so that segments sort by their place."""

    offset: int
    size: int
    number: int
    target: int = 0
    """Whose frame it is."""


class Segments:
    """Gives out segments of the bytes from ``PAGE`` to ``end``, the first ones that are free.

    Frames that are taken soon thus lie in the same bytes again and again, which are in the CPU's caches
    and need no new pages.

    >>> segments = Segments(end=10 * PAGE)
    >>> segments.take(5000), segments.take(100)
    (Segment(offset=4096, size=5000, number=0, target=0), Segment(offset=12288, size=100, number=1, target=0))
    >>> segments.give_back([0]); segments.take(50_000) is None
    True
    """

    def __init__(self, end: int) -> None:
        self._end = end
        self._taken: list[Segment] = []
        self.taken_bytes = self.given_back_bytes = 0
        self._numbers = list(range(MOST_SEGMENTS - 1, -1, -1))
        self._held: Counter[int] = Counter()

    @property
    def taken(self) -> tuple[Segment, ...]:
        """All that are not given back."""
        return tuple(self._taken)

    def held_by(self, target: int) -> int:
        """How many bytes of frames for ``target`` are not given back."""
        return self._held[target]

    def take(self, size: int, target: int = 0) -> Segment | None:
        """A segment of ``size`` bytes, at the beginning of a page; ``None``: there is no room."""
        start = PAGE
        for taken in self._taken:
            if taken.offset - start >= size:
                break
            start = _next_page(taken.offset + taken.size)
        else:
            if self._end - start < size:
                return None
        if not self._numbers:
            return None
        segment = Segment(start, size, self._numbers.pop(), target)
        insort(self._taken, segment)
        self.taken_bytes += size
        self._held[target] += size
        return segment

    def give_back(self, numbers: Iterable[int]) -> None:
        """The segments of these numbers are free again."""
        free = set(numbers)
        for segment in self._taken:
            if segment.number in free:
                self._held[segment.target] -= segment.size
                self.taken_bytes -= segment.size
                self.given_back_bytes += segment.size
        self._taken = [segment for segment in self._taken if segment.number not in free]
        self._numbers += free


def _next_page(position: int) -> int:
    return -(-position // PAGE) * PAGE
