"""Sources whose splits are found while the job runs: handed out on demand, and pushed to their readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.connectors.base.split_queue import SplitQueue
from riverrun.connectors.base.split_reader import OpenSplit, SplitRun, SplitsReader


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers from ``next`` below ``end``."""

    name: str
    next: int
    end: int


class _OpenNumbers(OpenSplit[int]):
    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def read(self, limit: int) -> SplitRun:
        first, end = self._numbers.next, self._numbers.end
        reached = min(first + min(limit, 2), end)
        self._numbers = replace(self._numbers, next=reached)
        return SplitRun(list(range(first, reached)), finished=reached == end)

    def split(self) -> Numbers:
        return self._numbers


class NumbersReader(SplitsReader[int]):
    def open_split(self, split: Numbers) -> OpenSplit[int]:
        return _OpenNumbers(split)

    def name_of(self, split: Numbers) -> str:
        return split.name


@dataclass(frozen=True, slots=True)
class Found:
    """What the enumerator of a QueuedNumbers knows."""

    found: int
    waiting: tuple[Numbers, ...]


class _FindingQueue(SplitQueue[Numbers]):
    """Finds one more split every few milliseconds, until it has all."""

    def __init__(self, context: SplitEnumeratorContext, splits: int, size: int, at: Found) -> None:
        super().__init__(context, at.waiting, bounded=at.found == splits)
        self._splits, self._size, self._found = splits, size, at.found

    def start(self) -> None:
        if self._found < self._splits:
            self._context.call_async(lambda: self._found, self._take, period_ms=7.0)

    def snapshot_state(self, checkpoint: int) -> Found:
        return Found(self._found, tuple(self.waiting))

    def _take(self, number: int | None, error: Exception | None) -> None:
        assert error is None
        if number is None or number >= self._splits:
            return
        self._found = number + 1
        first = number * self._size
        self.add([Numbers(f"split {number}", first, first + self._size)])
        if self._found == self._splits:
            self.close_queue()


class QueuedNumbers(Source[int]):
    """The numbers below ``splits * size``; any reader may get any split."""

    discovers_splits = True

    def __init__(self, splits: int, size: int) -> None:
        self._splits, self._size = splits, size

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return _FindingQueue(context, self._splits, self._size, Found(0, ()))

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        return _FindingQueue(context, self._splits, self._size, state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        return NumbersReader(splits, context)


class _Pusher(SplitEnumerator[Numbers]):
    """Assigns split ``k`` to reader ``k % parallelism`` when that is there; tells it by an event, too."""

    def __init__(self, context: SplitEnumeratorContext, waiting: Sequence[Numbers]) -> None:
        self._context = context
        self._waiting = list(waiting)

    def add_reader(self, subtask: int) -> None:
        if len(self._context.registered_readers) == self._context.parallelism:
            for reader in self._context.registered_readers:
                share = self._waiting[reader :: self._context.parallelism]
                self._context.assign_splits(share, reader)
                self._context.send_event_to_reader(reader, len(share))
                self._context.signal_no_more_splits(reader)
            self._waiting = []

    def handle_split_request(self, subtask: int) -> None:
        pass

    def handle_source_event(self, subtask: int, event: Any) -> None:
        assert event == "hello"

    def snapshot_state(self, checkpoint: int) -> list[Numbers]:
        return list(self._waiting)


class _PushedReader(SourceReader[int]):
    def __init__(self, splits: Sequence[Numbers], context: SourceReaderContext) -> None:
        self._splits = list(splits)
        self._context = context
        self._no_more = False
        self.heard: list[int] = []

    def open(self) -> None:
        self._context.send_source_event("hello")

    def poll(self, limit: int) -> Polled:
        if not self._splits:
            status = SourceStatus.END_OF_INPUT if self._no_more else SourceStatus.NOTHING_AVAILABLE
            return Polled(status=status, wait_ms=1000)
        split = self._splits[0]
        if split.next + 1 == split.end:
            del self._splits[0]
        else:
            self._splits[0] = replace(split, next=split.next + 1)
        return Polled([split.next])

    def snapshot_splits(self) -> list[Any]:
        return list(self._splits)

    def add_splits(self, splits: Sequence[Any]) -> None:
        assert not self._no_more
        self._splits.extend(splits)

    def handle_source_event(self, event: Any) -> None:
        self.heard.append(event)

    def notify_no_more_splits(self) -> None:
        self._no_more = True


class PushedNumbers(Source[int]):
    """The numbers below ``splits * size``, assigned when every reader is there."""

    discovers_splits = True

    def __init__(self, splits: int, size: int) -> None:
        self._all = [Numbers(f"split {k}", k * size, (k + 1) * size) for k in range(splits)]

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return _Pusher(context, self._all)

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        return _Pusher(context, state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        return _PushedReader(splits, context)
