"""A source driven by hand: its enumerator and its readers, as the tasks of a job would."""

from __future__ import annotations

import random
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.core.clock import Clock, SystemClock
from riverrun.protocol.control import ToReader
from riverrun.runtime.enumerator import EnumeratorHost, SavedEnumerator
from riverrun.runtime.split_messages import (
    EnumeratorEvent,
    NoMoreSplits,
    ReaderEvent,
    ReaderMessage,
    ReaderThere,
    SplitsGiven,
    SplitsWanted,
    unpacked,
)

_LONGEST_WAIT_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class SavedSource:
    """A checkpoint of a source."""

    enumerator: SavedEnumerator | None
    splits: tuple[tuple[Any, ...], ...]
    """Of each reader."""

    def dealt(self, parallelism: int) -> list[list[Any]]:
        """The readers' splits among ``parallelism`` readers."""
        if len(self.splits) == parallelism:
            return [list(each) for each in self.splits]
        flat = [split for each in self.splits for split in each]
        return [flat[index::parallelism] for index in range(parallelism)]


class SourceRun:
    """One attempt: a source at one parallelism, from the start or from a checkpoint.

    Every method is called from one thread. Calls of the enumerator that may block are made at once.
    """

    def __init__(
        self,
        source: Source[Any],
        parallelism: int,
        saved: SavedSource | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.parallelism = parallelism
        self.ended: set[int] = set()
        """Readers whose input is over."""
        self._clock = clock or SystemClock()
        self._woken = threading.Event()
        self._inboxes: list[deque[Any]] = [deque() for _ in range(parallelism)]
        self._to_enumerator: deque[tuple[int, ReaderMessage]] = deque()
        self._host: EnumeratorHost | None = None
        self._enumerator = None if saved is None else saved.enumerator
        self._readers: list[SourceReader[Any]] = []
        self._open(source, saved)

    @property
    def is_over(self) -> bool:
        """Whether the source has ended."""
        done = self._host is None or self._host.is_done
        return len(self.ended) == self.parallelism and done

    def pass_messages(self) -> None:
        """Let everything that readers and enumerator said to each other arrive."""
        while self._to_enumerator or any(self._inboxes):
            while self._to_enumerator:
                subtask, message = self._to_enumerator.popleft()
                if self._host is not None:
                    self._host.hear(subtask, message)
                    self._collect()
            for subtask in range(self.parallelism):
                self._deliver(subtask)

    def poll(self, subtask: int, limit: int) -> Polled:
        """Poll one reader; nothing when it is not its time, or it has ended."""
        if self._host is not None and self._host.due_at() <= self._clock.monotonic():
            self._host.run_due(self._clock.monotonic())
            self._collect()
        if subtask in self.ended:
            return Polled(status=SourceStatus.END_OF_INPUT)
        polled = self._readers[subtask].poll(limit)
        if polled.status is SourceStatus.END_OF_INPUT:
            self.ended.add(subtask)
        return polled

    def wait(self, polled: Polled) -> None:
        """Nothing came: wait a little, as a task would."""
        self._woken.wait(min(polled.wait_ms / 1000, _LONGEST_WAIT_S))
        self._woken.clear()

    def checkpoint(self, number: int) -> SavedSource:
        """Take a checkpoint: first the enumerator's part, then the readers'."""
        if self._host is not None:
            self._host.prepare(number)
            self._collect()
            self._host.cut(number)
            self._enumerator = self._host.saved()[0]
        # What was assigned before that reaches the readers before they take part.
        for subtask in range(self.parallelism):
            self._deliver(subtask)
        for reader in self._readers:
            reader.prepare_snapshot(number)
        splits = tuple(tuple(reader.snapshot_splits()) for reader in self._readers)
        return SavedSource(self._enumerator, splits)

    def complete(self, number: int) -> None:
        """The checkpoint can be relied on."""
        for reader in self._readers:
            reader.notify_checkpoint_complete(number)
        if self._host is not None:
            self._host.checkpoint_completed(number)

    def close(self) -> None:
        """End the attempt, in order or after a crash."""
        for reader in self._readers:
            reader.close()
        if self._host is not None:
            self._host.close()

    def _open(self, source: Source[Any], saved: SavedSource | None) -> None:
        told = self._enumerator
        dealt: list[list[Any]] = [[] for _ in range(self.parallelism)]
        if saved is not None:
            dealt = saved.dealt(self.parallelism)
        elif not source.discovers_splits:
            fresh = source.create_splits(self.parallelism)
            dealt = [fresh[index :: self.parallelism] for index in range(self.parallelism)]
        if source.discovers_splits and not (told and told.is_done):
            self._host = EnumeratorHost(
                source,
                self.parallelism,
                self._clock,
                aside=lambda call: call(),
                wake=self._woken.set,
                saved=told,
            )
            self._host.start()
            self._collect()
        for subtask, splits in enumerate(dealt):
            reader = source.create_reader(splits, self._context(subtask))
            self._readers.append(reader)
            if told is not None and told.is_told(subtask, self.parallelism):
                reader.notify_no_more_splits()
            elif source.discovers_splits:
                self._to_enumerator.append((subtask, ReaderThere()))
            reader.open()

    def _context(self, subtask: int) -> SourceReaderContext:
        def say(message: ReaderMessage) -> None:
            self._to_enumerator.append((subtask, message))

        return SourceReaderContext(
            subtask,
            self.parallelism,
            self._clock,
            send_split_request=lambda: say(SplitsWanted()),
            send_source_event=lambda event: say(ReaderEvent(event)),
            wake=self._woken.set,
        )

    def _collect(self) -> None:
        assert self._host is not None  # noqa: S101  (asked by the callers)
        for message in self._host.take():
            if isinstance(message, ToReader):
                self._inboxes[message.subtask].append(unpacked(message.payload))

    def _deliver(self, subtask: int) -> None:
        inbox, reader = self._inboxes[subtask], self._readers[subtask]
        while inbox:
            match inbox.popleft():
                case SplitsGiven(splits):
                    reader.add_splits(splits)
                case NoMoreSplits():
                    reader.notify_no_more_splits()
                case EnumeratorEvent(event):
                    reader.handle_source_event(event)


def some_limit(rng: random.Random) -> int:
    """How many records to ask for: often few, so that checkpoints fall anywhere."""
    return rng.choice((1, 2, 7, 50, 1000))
