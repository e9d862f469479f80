"""What windows must give, worked out from their definition with lists and loops and nothing else.

The oracle knows windows as pairs (start, end), looks at all of them at every step, and shares no code
with the operators. It is slow and short, so that it can be checked by reading it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

FOREVER = 2**63 - 1
BEFORE_ALL = -(2**63)

Window: TypeAlias = tuple[int, int]


class Record(NamedTuple):
    """A record: its key, a number that tells it from all others, its time, and the gap it asks for."""

    key: str
    number: int
    time: int
    gap: int = 1


class Watermark(NamedTuple):
    """Event time moves on."""

    time: int


Step: TypeAlias = Record | Watermark


class Fired(NamedTuple):
    """A window fired with these records."""

    key: str
    window: Window
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """Windows: their size and slide (the same for tumbling ones), or the gap of sessions (0: records')."""

    kind: str
    size: int = 10
    slide: int = 10
    offset: int = 0

    def windows(self, record: Record) -> list[Window]:
        """The windows of a record before anything is merged."""
        if self.kind == "global":
            return [(BEFORE_ALL, FOREVER + 1)]
        if self.kind == "session":
            return [(record.time, record.time + (self.size or record.gap))]
        return [
            (start, start + self.size)
            for start in range(record.time - self.size + 1, record.time + 1)
            if (start - self.offset) % self.slide == 0
        ]


@dataclass(frozen=True)
class Rule:
    """When windows fire: at their end, at every so many records, at every so many milliseconds."""

    kind: str
    every: int = 0
    purging: bool = False


@dataclass(frozen=True)
class Eviction:
    """What leaves a window when it fires: all but the last so many, those too old, those too far off."""

    kind: str
    limit: int
    after: bool

    def left(self, records: list[Record]) -> list[Record]:
        """What stays."""
        if not records:
            return []
        if self.kind == "count":
            return records[-self.limit :]
        if self.kind == "time":
            latest = max(record.time for record in records)
            return [record for record in records if record.time > latest - self.limit]
        last = records[-1].number
        return [record for record in records if abs(record.number - last) < self.limit]


@dataclass
class _Open:
    """An open window of a key."""

    records: list[Record] = field(default_factory=list)
    timers: set[int] = field(default_factory=set)
    count: int = 0
    next_firing: int | None = None


@dataclass
class Windows:
    """Takes steps in their order and says what fires and what is late."""

    shape: Shape
    rule: Rule
    lateness: int = 0
    eviction: Eviction | None = None
    watermark: int = BEFORE_ALL
    late: list[int] = field(default_factory=list)
    _open: dict[tuple[str, Window], _Open] = field(default_factory=dict)

    def step(self, step: Step) -> list[Fired]:
        """What fires at ``step``."""
        if isinstance(step, Record):
            return list(self._add(step))
        if step.time <= self.watermark:
            return []
        self.watermark = step.time
        return list(self._fire_due())

    def watermark_again(self) -> list[Fired]:
        """What fires when the watermark comes once more, after a restart: timers set in the past."""
        return list(self._fire_due())

    def _over(self, window: Window) -> int:
        return min(window[1] - 1 + self.lateness, FOREVER)

    def _is_late(self, window: Window) -> bool:
        return self.shape.kind != "global" and self._over(window) <= self.watermark

    def _add(self, record: Record) -> Iterator[Fired]:
        nowhere = True
        for own in self.shape.windows(record):
            window, found = self._joined(record.key, own)
            if self._is_late(window):
                continue
            nowhere = False
            self._open[record.key, window] = found
            found.records.append(record)
            yield from self._act(record.key, window, found, self._asked(record, window, found))
            if self._over(window) < FOREVER:
                found.timers.add(self._over(window))
        past = self.shape.kind != "global" and record.time + self.lateness <= self.watermark
        if nowhere and past:
            self.late.append(record.number)

    def _joined(self, key: str, own: Window) -> tuple[Window, _Open]:
        """The window that ``own`` is or becomes part of."""
        if self.shape.kind != "session":
            return own, self._open.get((key, own), _Open())
        touching = [
            window
            for (owner, window) in sorted(self._open)
            if owner == key and window[0] <= own[1] and window[1] >= own[0]
        ]
        start = min([own[0], *(window[0] for window in touching)])
        end = max([own[1], *(window[1] for window in touching)])
        window = (start, end)
        if touching == [window]:
            return window, self._open[key, window]
        together = _Open()
        for part in [self._open.pop((key, each)) for each in touching]:
            together.records += part.records
            together.count += part.count
            firings = [together.next_firing, part.next_firing]
            known = [time for time in firings if time is not None]
            together.next_firing = min(known, default=None)
        if self.rule.kind == "continuous" and together.next_firing is not None:
            together.timers.add(together.next_firing)
        if self.rule.kind == "end" and touching and end - 1 > self.watermark:
            together.timers.add(end - 1)
        return window, together

    def _asked(self, record: Record, window: Window, found: _Open) -> bool:
        """Whether a record makes its window fire."""
        last = min(window[1] - 1, FOREVER)
        if self.rule.kind == "count":
            found.count += 1
            if found.count < self.rule.every:
                return False
            found.count = 0
            return True
        if self.rule.kind == "never":
            return False
        if last <= self.watermark:
            return True
        found.timers.add(last)
        if self.rule.kind == "continuous" and found.next_firing is None:
            every = self.rule.every
            found.next_firing = min(record.time // every * every + every, last)
            found.timers.add(found.next_firing)
        return False

    def _fire_due(self) -> Iterator[Fired]:
        while True:
            due = [
                (time, address)
                for address, found in self._open.items()
                for time in found.timers
                if time <= self.watermark
            ]
            if not due:
                return
            time, (key, window) = min(due)
            found = self._open[key, window]
            found.timers.remove(time)
            yield from self._act(key, window, found, self._due(time, window, found))
            if self.shape.kind != "global" and time == self._over(window):
                del self._open[key, window]

    def _due(self, time: int, window: Window, found: _Open) -> bool:
        """Whether a timer makes its window fire."""
        last = min(window[1] - 1, FOREVER)
        if self.rule.kind in {"count", "never"}:
            return False
        if time == last:
            return True
        if self.rule.kind == "continuous" and found.next_firing == time:
            found.next_firing = min(time + self.rule.every, last)
            found.timers.add(found.next_firing)
            return True
        return False

    def _act(self, key: str, window: Window, found: _Open, fires: bool) -> Iterator[Fired]:
        if not fires:
            return
        if found.records:
            if self.eviction is not None and not self.eviction.after:
                found.records = self.eviction.left(found.records)
            yield Fired(key, window, tuple(record.number for record in found.records))
            if self.eviction is not None and self.eviction.after:
                found.records = self.eviction.left(found.records)
        if self.rule.purging:
            found.records = []


def final_windows(shape: Shape, records: Iterable[Record]) -> list[Fired]:
    """What windows of bounded input without late records hold in the end, each by its definition alone."""
    by_key: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_key[record.key].append(record)
    out = []
    for key, of_key in by_key.items():
        if shape.kind == "session":
            out += [Fired(key, *session) for session in _sessions(shape, of_key)]
            continue
        starts = {window for record in of_key for window in shape.windows(record)}
        for start, end in starts:
            inside = tuple(each.number for each in of_key if start <= each.time < end)
            out.append(Fired(key, (start, end), inside))
    return out


def _sessions(shape: Shape, records: list[Record]) -> Iterator[tuple[Window, tuple[int, ...]]]:
    spans = sorted((*shape.windows(record)[0], record.number) for record in records)
    start, end, numbers = spans[0][0], spans[0][1], [spans[0][2]]
    for begin, finish, number in spans[1:]:
        if begin > end:
            yield (start, end), tuple(numbers)
            start, end, numbers = begin, finish, []
        end = max(end, finish)
        numbers.append(number)
    yield (start, end), tuple(numbers)


def count_windows(size: int, slide: int, records: Iterable[Record]) -> list[tuple[str, list[int]]]:
    """What windows of ``size`` records give, one beginning every ``slide`` records of a key."""
    by_key: dict[str, list[int]] = defaultdict(list)
    for record in records:
        by_key[record.key].append(record.number)
    return [
        (key, numbers[start : start + size])
        for key, numbers in by_key.items()
        for start in range(0, len(numbers) - size + 1, slide)
    ]
