"""The savepoints of a job as its coordinator sees them: who wants one, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable
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


class Savepoints:
    """Wishes that wait for their turn, whether the job is to stop with one, and how others have ended.

    >>> savepoints = Savepoints()
    >>> savepoints.want(1, SavepointOrder("/s/savepoint-a1b2c3-000000000001", stop=True))
    >>> savepoints.why_refused
    'the job is being stopped with a savepoint'
    >>> [wanted] = savepoints.take_wanted()
    >>> savepoints.gave_up(3, wanted.order, again=False)
    >>> savepoints.why_refused, savepoints.to_clear(3)
    (None, '/s/savepoint-a1b2c3-000000000001')
    """

    def __init__(self) -> None:
        self._wanted: list[WantedSavepoint] = []
        self._stopping = False
        self._ended: dict[int, tuple[_End, str]] = {}
        self.stopped_with: str | None = None
        """`_metadata` of the savepoint that the job stopped with."""

    @property
    def why_refused(self) -> str | None:
        """Why nothing may be asked for at present, as far as savepoints are the reason."""
        if self._stopping or self.stopped_with is not None:
            return "the job is being stopped with a savepoint"
        return None

    @property
    def is_wanted(self) -> bool:
        """Whether a wish waits."""
        return bool(self._wanted)

    def want(self, request: int, order: SavepointOrder) -> None:
        """Somebody wants a savepoint."""
        self._wanted.append(WantedSavepoint(request, order))
        self._stopping = order.stop

    def want_again(self, requests: Iterable[int], order: SavepointOrder) -> None:
        """These did not get theirs, by bad luck."""
        self._wanted += [WantedSavepoint(request, order).again() for request in requests]

    def take_wanted(self) -> list[WantedSavepoint]:
        """Take the wishes out: their savepoints begin."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def drop_wanted(self) -> list[int]:
        """Take the wishes out because they cannot be fulfilled; nobody stops the job any more."""
        self._stopping = False
        return [each.request for each in self.take_wanted()]

    def completed(self, checkpoint: int, order: SavepointOrder, location: str) -> None:
        """The savepoint exists; its `_metadata` is at ``location``."""
        self._note(checkpoint, _End.COMPLETE, order.folder)
        if order.stop:
            self.stopped_with = location

    def resumed(self, location: str) -> None:
        """An attempt goes on from ``location``: if the job stopped with it, that was not its end."""
        if location == self.stopped_with:
            self.stopped_with, self._stopping = None, False

    def gave_up(self, checkpoint: int, order: SavepointOrder, *, again: bool) -> None:
        """The savepoint will never exist; ``again``: another one is taken in its place."""
        self._note(checkpoint, _End.GIVEN_UP, order.folder)
        if order.stop and not again:
            self._stopping = False

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
