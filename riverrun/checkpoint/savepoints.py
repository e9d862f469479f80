"""The savepoints of a job as its coordinator sees them: who wants one, and what became of the others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import msgspec

from riverrun.protocol.barriers import SavepointOrder

RANDOM_DIGITS: Final = 12
"""Of the hexadecimal number that a savepoint's folder ends with."""
_REMEMBERED: Final = 1_000
"""Savepoints whose end is known, so that what comes late of them is sorted out."""


@dataclass(frozen=True, slots=True)
class WantedSavepoint:
    """A wish for a savepoint that has not begun."""

    request: int
    order: SavepointOrder

    def again(self) -> WantedSavepoint:
        """The same wish after a try that failed: with another folder, as that of the first is cleared.

        >>> WantedSavepoint(1, SavepointOrder("/s/savepoint-a1b2c3-0000000000ff")).again().order.folder
        '/s/savepoint-a1b2c3-000000000100'
        """
        before, _, number = self.order.folder.rpartition("-")
        after = (int(number, 16) + 1) % 16**RANDOM_DIGITS
        folder = f"{before}-{after:0{RANDOM_DIGITS}x}"
        return WantedSavepoint(self.request, msgspec.structs.replace(self.order, folder=folder))


class _End(Enum):
    COMPLETE = auto()
    GIVEN_UP = auto()


class SavepointLog:
    """Which numbers of checkpoints are savepoints that have ended, and how.

    >>> log = SavepointLog()
    >>> log.gave_up(3, "/savepoints/savepoint-1")
    >>> log.completed(4, "/savepoints/savepoint-2")
    >>> log.knows(4), log.to_clear(4), log.to_clear(3), log.left_over
    (True, None, '/savepoints/savepoint-1', ('/savepoints/savepoint-1',))
    """

    def __init__(self) -> None:
        self._ended: dict[int, tuple[_End, str]] = {}

    def completed(self, checkpoint: int, folder: str) -> None:
        """The savepoint exists."""
        self._note(checkpoint, _End.COMPLETE, folder)

    def gave_up(self, checkpoint: int, folder: str) -> None:
        """The savepoint will never exist."""
        self._note(checkpoint, _End.GIVEN_UP, folder)

    def knows(self, checkpoint: int) -> bool:
        """Whether this is a savepoint that has ended."""
        return checkpoint in self._ended

    def to_clear(self, checkpoint: int) -> str | None:
        """The folder in which a part that came late has no business; ``None`` if it is where it belongs."""
        end, folder = self._ended[checkpoint]
        return folder if end is _End.GIVEN_UP else None

    @property
    def left_over(self) -> tuple[str, ...]:
        """Folders of savepoints that do not exist: a task may have written there to the last."""
        return tuple(folder for end, folder in self._ended.values() if end is _End.GIVEN_UP)

    def _note(self, checkpoint: int, end: _End, folder: str) -> None:
        self._ended[checkpoint] = (end, folder)
        while len(self._ended) > _REMEMBERED:
            del self._ended[next(iter(self._ended))]
