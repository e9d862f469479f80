"""What a reader of files is given: a range of a file, and where in it to go on."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["FileSplit"]


@dataclass(frozen=True, slots=True)
class FileSplit:
    """The records of a file that begin at a byte from ``start`` below ``end``.

    A position is the unit that comes next (a line, a block, a row group) and how many of its records
    were given already. What a unit is called, a byte or a number, is the format's choice.
    """

    location: str
    start: int
    end: int
    offset: int | None = None
    """The unit to go on with; None: nothing was read yet."""
    skip: int = 0
    """How many records of that unit were given."""
    lines: int = 0
    """How many lines of the split come before ``offset``; only messages need it."""

    @property
    def name(self) -> str:
        """The same at every position."""
        return f"{self.location}[{self.start}:{self.end}]"

    def at(self, offset: int, skip: int = 0, lines: int = 0) -> FileSplit:
        """The split with another position."""
        return replace(self, offset=offset, skip=skip, lines=lines)


def ranges(size: int, largest: int) -> list[tuple[int, int]]:
    """Ranges of about the same length that cover ``size`` bytes, none much larger than ``largest``.

    >>> ranges(10, 4), ranges(0, 4)
    ([(0, 4), (4, 7), (7, 10)], [(0, 0)])
    """
    count = max(1, -(-size // largest))
    length, longer = divmod(size, count)
    found, start = [], 0
    for place in range(count):
        end = start + length + (1 if place < longer else 0)
        found.append((start, end))
        start = end
    return found
