"""Time cut into slices, so that windows that overlap can share what they have in common.

Windows of one size begin every slide. Between two neighbouring points at which any window begins or
ends lies a slice: all its records belong to the same windows. There are at most two slices to a slide,
and exactly one where the size is a multiple of the slide; a tumbling window is one slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Piece: TypeAlias = tuple[int, list[Any], list[Any]]
"""The start of a slice, and the keys and values of records in it."""


@dataclass(frozen=True, slots=True)
class Slicing:
    """Windows of ``size``, one every ``slide``, one of them at ``offset``; all in milliseconds.

    A window and a slice are known by their start.

    >>> slicing = Slicing(size=10, slide=4)
    >>> slicing.bounds(5), slicing.bounds(7), list(slicing.windows(7))
    ((4, 6), (6, 8), [4, 0])
    >>> slicing.slices(0), slicing.leaving(0)
    ([0, 2, 4, 6, 8], [0, 2])
    """

    size: int
    slide: int
    offset: int = 0
    _first_part: int = field(init=False, repr=False)
    """How much of a slide comes before the point at which a window ends."""
    _starts: tuple[int, ...] = field(init=False, repr=False)
    """Where the slices of a window begin, from the window's start."""

    def __post_init__(self) -> None:
        if not 0 < self.slide <= self.size:
            raise ValueError(
                f"slices of windows of size {self.size!r} and slide {self.slide!r}: "
                f"expected 0 < slide <= size"
            )
        part = self.size % self.slide
        starts = {*range(0, self.size, self.slide)}
        if part:
            starts.update(range(part, self.size, self.slide))
        object.__setattr__(self, "_first_part", part)
        object.__setattr__(self, "_starts", tuple(sorted(starts)))

    @property
    def overlapping(self) -> bool:
        """Whether a record belongs to more than one window."""
        return self.slide < self.size

    def bounds(self, time: int) -> tuple[int, int]:
        """The slice that ``time`` is in: its first time, and the first one after it."""
        phase = (time - self.offset) % self.slide
        begin, part = time - phase, self._first_part
        if phase < part:
            return begin, begin + part
        return begin + part, begin + self.slide

    def windows(self, time: int) -> range:
        """All windows that hold ``time``, or the slice that begins then; the latest first."""
        last = time - (time - self.offset) % self.slide
        return range(last, time - self.size, -self.slide)

    def slices(self, window: int) -> list[int]:
        """The slices of a window, in the order of time."""
        return [window + start for start in self._starts]

    def leaving(self, window: int) -> list[int]:
        """The slices of a window that are in no later window."""
        return [window + start for start in self._starts if start < self.slide]

    def horizon(self, watermark: int) -> int:
        """The first time that is in no window that is over when event time is at ``watermark``.

        >>> Slicing(10, 10).horizon(8), Slicing(10, 10).horizon(9), Slicing(10, 4).horizon(13)
        (0, 10, 14)
        """
        reached = watermark + 1
        return reached - (reached - self.offset - self.size) % self.slide

    def split(
        self, keys: Sequence[Any], values: Sequence[Any], times: Sequence[int]
    ) -> list[Piece]:
        """Records by slice; those of one slice keep their order.

        >>> Slicing(10, 10).split("abc", "xyz", [3, 12, 4])
        [(0, ['a', 'c'], ['x', 'z']), (10, ['b'], ['y'])]
        """
        pieces: dict[int, Piece] = {}
        start = end = times[0]
        for key, value, time in zip(keys, values, times, strict=True):
            if not start <= time < end:
                start, end = self.bounds(time)
                piece = pieces.get(start)
                if piece is None:
                    piece = pieces[start] = (start, [], [])
                add_key, add_value = piece[1].append, piece[2].append
            add_key(key)
            add_value(value)
        return list(pieces.values())
