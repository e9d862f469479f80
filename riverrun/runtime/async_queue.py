"""In which order what waits for its result comes out again; no I/O, no threads, no clocks.

Records and marks of time go in as they come. A record may leave when its result is there: in the ordered
queue behind everything that came before it, in the unordered one behind every mark that came before it.
A mark leaves behind every record that came before it, in both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, TypeAlias


class Entry:
    """A record on its way; ``made`` is its result once that is there."""

    __slots__ = ("made", "segment", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.made: list[Any] | None = None
        self.segment: _Segment | None = None


class TimeMark:
    """A watermark, a status, or both: what came between two records, taken together."""

    __slots__ = ("idle", "watermark")

    def __init__(self, watermark: int | None = None, idle: bool | None = None) -> None:  # noqa: FBT001
        self.watermark = watermark
        self.idle = idle

    def add(self, later: TimeMark) -> None:
        """Take over what ``later`` says: nobody could see anything between the two."""
        if later.watermark is not None:
            self.watermark = later.watermark
        if later.idle is not None:
            self.idle = later.idle


Element: TypeAlias = Entry | TimeMark


class AsyncQueue(ABC):
    """Records that wait for their results, and marks between them."""

    @abstractmethod
    def put(self, entry: Entry) -> None:
        """Add a record behind everything that is there."""

    @abstractmethod
    def mark(self, mark: TimeMark) -> None:
        """Add a mark behind everything that is there."""

    @abstractmethod
    def complete(self, entry: Entry, made: list[Any]) -> None:
        """The result of a record is there; once for each record."""

    @abstractmethod
    def take(self) -> list[Element]:
        """Everything that may leave now, in the order in which it leaves."""

    @abstractmethod
    def entries(self) -> list[Entry]:
        """The records that have not left, in the order in which they came."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether everything has left."""


class OrderedQueue(AsyncQueue):
    """Everything leaves in the order in which it came."""

    def __init__(self) -> None:
        self._elements: deque[Element] = deque()

    def put(self, entry: Entry) -> None:
        self._elements.append(entry)

    def mark(self, mark: TimeMark) -> None:
        last = self._elements[-1] if self._elements else None
        if isinstance(last, TimeMark):
            last.add(mark)
        else:
            self._elements.append(mark)

    def complete(self, entry: Entry, made: list[Any]) -> None:
        entry.made = made

    def take(self) -> list[Element]:
        elements = self._elements
        taken: list[Element] = []
        while elements:
            first = elements[0]
            if isinstance(first, Entry) and first.made is None:
                break
            taken.append(elements.popleft())
        return taken

    def entries(self) -> list[Entry]:
        return [element for element in self._elements if isinstance(element, Entry)]

    @property
    def is_empty(self) -> bool:
        return not self._elements


class _Segment:
    """The records between two marks, and the mark behind them."""

    __slots__ = ("end", "ready", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[Entry, None] = {}
        """All that have not left, as they came."""
        self.ready: list[Entry] = []
        """Those of them whose result is there, as it came."""
        self.end: TimeMark | None = None


class UnorderedQueue(AsyncQueue):
    """Records leave as their results come, each on its own side of every mark."""

    def __init__(self) -> None:
        self._open = _Segment()
        self._segments = deque([self._open])

    def put(self, entry: Entry) -> None:
        segment = self._open
        if segment.end is not None:
            segment = self._open = _Segment()
            self._segments.append(segment)
        segment.waiting[entry] = None
        entry.segment = segment

    def mark(self, mark: TimeMark) -> None:
        if self._open.end is None:
            self._open.end = mark
        else:
            self._open.end.add(mark)

    def complete(self, entry: Entry, made: list[Any]) -> None:
        entry.made = made
        assert entry.segment is not None  # noqa: S101  (given by put)
        entry.segment.ready.append(entry)

    def take(self) -> list[Element]:
        taken: list[Element] = []
        segments = self._segments
        while True:
            first = segments[0]
            for entry in first.ready:
                del first.waiting[entry]
                taken.append(entry)
            first.ready.clear()
            if first.waiting or first.end is None:
                return taken
            taken.append(first.end)
            first.end = None
            if first is self._open:
                return taken
            segments.popleft()

    def entries(self) -> list[Entry]:
        return [entry for segment in self._segments for entry in segment.waiting]

    @property
    def is_empty(self) -> bool:
        first = self._segments[0]
        return first is self._open and not first.waiting and first.end is None
