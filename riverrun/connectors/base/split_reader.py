"""A reader of any number of splits, from something that can read one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from riverrun.api.bad_records import DeadLetter
from riverrun.api.source import Polled, SourceReader, SourceReaderContext, SourceStatus

T = TypeVar("T")


@dataclass(slots=True)
class SplitRun:
    """What an open split gave: values, and whether it is read to the end."""

    values: list[Any] = field(default_factory=list)
    timestamps: list[int] | None = None
    finished: bool = False
    wait_ms: float = 0.0
    """When to ask again, if there was nothing."""
    dead_letters: Sequence[DeadLetter] = ()


class OpenSplit(ABC, Generic[T]):
    """One split that is being read."""

    @abstractmethod
    def read(self, limit: int) -> SplitRun:
        """At most ``limit`` records, without waiting for long."""

    @abstractmethod
    def split(self) -> Any:
        """The split with the position after the last ``read``: reading on from it gives what follows."""

    def close(self) -> None:
        """Release what it holds; called once."""


class SplitsReader(SourceReader[T], Generic[T]):
    """Reads its splits in turn, one run each, and asks the enumerator for more in good time.

    A subclass says how a split is opened and named. The next split is asked for while the last one is
    being read, so that a reader does not stand still between two splits.

    Args:
        splits: what to begin with.
        context: the reader's own.
        at_once: how many splits are open at the same time; the others wait.
    """

    def __init__(
        self, splits: Sequence[Any], context: SourceReaderContext, *, at_once: int = 1
    ) -> None:
        self._context = context
        self._at_once = at_once
        self._waiting = deque(splits)
        self._open: deque[tuple[str, OpenSplit[T]]] = deque()
        self._paused: set[str] = set()
        self._asked = False
        self._no_more = False

    @abstractmethod
    def open_split(self, split: Any) -> OpenSplit[T]:
        """Begin to read ``split`` at its position."""

    @abstractmethod
    def name_of(self, split: Any) -> str:
        """The split's name, the same at any position."""

    def poll(self, limit: int) -> Polled:
        self._fill()
        if not self._open:
            if self._no_more and not self._waiting:
                return Polled(status=SourceStatus.END_OF_INPUT)
            return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=_UNTIL_TOLD_MS)
        wait_ms = _UNTIL_TOLD_MS
        for _ in range(len(self._open)):
            name, reading = self._open[0]
            if name in self._paused:
                self._open.rotate(-1)
                continue
            run = reading.read(limit)  # while it is among those that are closed after a failure
            self._open.rotate(-1)
            if run.finished:
                self._open.pop()
                reading.close()
                return _polled(name, run, (name,))
            if run.values or run.dead_letters:
                return _polled(name, run, ())
            wait_ms = min(wait_ms, run.wait_ms)
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=wait_ms)

    def snapshot_splits(self) -> list[Any]:
        return [*(reading.split() for _, reading in self._open), *self._waiting]

    def split_ids(self) -> list[str]:
        return [name for name, _ in self._open] + [self.name_of(each) for each in self._waiting]

    def add_splits(self, splits: Sequence[Any]) -> None:
        self._asked = False
        self._waiting.extend(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more = True

    def pause_or_resume_splits(
        self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        self._paused.update(splits_to_pause)
        self._paused.difference_update(splits_to_resume)

    def close(self) -> None:
        with ExitStack() as closing:  # each is closed, also when another cannot be
            while self._open:
                closing.callback(self._open.pop()[1].close)

    def _fill(self) -> None:
        while self._waiting and len(self._open) < self._at_once:
            split = self._waiting.popleft()
            self._open.append((self.name_of(split), self.open_split(split)))
        if not self._waiting and not self._asked and not self._no_more:
            self._asked = True
            self._context.send_split_request()


_UNTIL_TOLD_MS = 60_000.0
"""Splits and their end are announced, and an announcement wakes the task."""


def _polled(name: str, run: SplitRun, finished: tuple[str, ...]) -> Polled:
    return Polled(
        run.values,
        run.timestamps,
        split=name,
        finished_splits=finished,
        dead_letters=run.dead_letters,
    )
