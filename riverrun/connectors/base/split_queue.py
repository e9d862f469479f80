"""Enumerators of splits that any reader may take: handed out one by one, to whoever asks."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext

SplitT = TypeVar("SplitT")


class SplitQueue(SplitEnumerator[SplitT], Generic[SplitT]):
    """Splits wait in a queue; a reader that asks gets the next one, or waits for one to be found.

    Args:
        context: the enumerator's own.
        waiting: the splits to begin with.
        bounded: whether no split is ever added, so that readers end when the queue is empty.
    """

    def __init__(
        self, context: SplitEnumeratorContext, waiting: Iterable[SplitT], *, bounded: bool
    ) -> None:
        self._context = context
        self._waiting = deque(waiting)
        self._bounded = bounded
        self._asking: deque[int] = deque()

    def add(self, splits: Iterable[SplitT]) -> None:
        """More splits were found: readers that wait get them first."""
        self._waiting.extend(splits)
        self._serve()

    def close_queue(self) -> None:
        """Nothing will be added any more: readers end when the queue is empty."""
        self._bounded = True
        self._serve()

    @property
    def waiting(self) -> list[SplitT]:
        """The splits that nobody has yet, in order."""
        return list(self._waiting)

    def add_reader(self, subtask: int) -> None:
        del subtask  # it asks when it wants something

    def handle_split_request(self, subtask: int) -> None:
        self._asking.append(subtask)
        self._serve()

    @abstractmethod
    def snapshot_state(self, checkpoint: int) -> Any: ...

    def choose(self, subtask: int) -> int:
        """Which of ``waiting`` to give to ``subtask``; the first, unless overridden."""
        del subtask
        return 0

    def _serve(self) -> None:
        while self._asking and (self._waiting or self._bounded):
            subtask = self._asking.popleft()
            if not self._waiting:
                self._context.signal_no_more_splits(subtask)
                continue
            place = self.choose(subtask)
            split = self._waiting[place]
            del self._waiting[place]
            self._context.assign_splits([split], subtask)
