"""What joins must give, by nested loops over all records: nothing here is shared with the engine.

The functions named after a join take two complete streams. Those that end in ``as_it_happens`` take what
one subtask sees, in its order: records of either side and watermarks; they say what becomes of records
that come late, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, TypeAlias

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1


class Record(NamedTuple):
    """A record of one of the two streams."""

    key: Any
    value: Any
    time: int


class Arrival(NamedTuple):
    """A record as a subtask gets it."""

    side: str
    """``left`` or ``right``."""
    record: Record


Event: TypeAlias = Arrival | int
"""A record, or a watermark."""
Pairs: TypeAlias = Counter[tuple[Any, Any, int]]
"""Left value, right value and the result's timestamp, and how often."""


@dataclass
class Outcome:
    """What a join gave, and the values of the records that were too late for it."""

    results: Pairs = field(default_factory=Counter)
    late: dict[str, list[Any]] = field(default_factory=lambda: {"left": [], "right": []})


def interval_join(left: Sequence[Record], right: Sequence[Record], lower: int, upper: int) -> Pairs:
    """All pairs of one key with ``left + lower <= right <= left + upper``."""
    return Counter(
        (a.value, b.value, max(a.time, b.time))
        for a, b in product(left, right)
        if a.key == b.key and lower <= b.time - a.time <= upper
    )


def interval_join_as_it_happens(events: Sequence[Event], lower: int, upper: int) -> Outcome:
    """Pairs of records that were not late, of which the first was still kept when the second came."""
    outcome = Outcome()
    accepted: list[tuple[int, Arrival]] = []
    for position, event in enumerate(events):
        if isinstance(event, int):
            continue
        record = event.record
        if record.time < _clock(events[:position]):
            outcome.late[event.side].append(record.value)
            continue
        for before, other in accepted:
            if other.side == event.side or other.record.key != record.key:
                continue
            a, b = (other, event) if event.side == "right" else (event, other)
            apart = b.record.time - a.record.time
            until = other.record.time + max(0, upper if other.side == "left" else -lower)
            passed = _moves(events, before, position)
            if lower <= apart <= upper and not any(clock >= until for clock in passed):
                time = max(a.record.time, b.record.time)
                outcome.results[(a.record.value, b.record.value, time)] += 1
        accepted.append((position, event))
    return outcome


def _clock(events: Iterable[Event]) -> int:
    return max((event for event in events if isinstance(event, int)), default=LOWEST)


def _moves(events: Sequence[Event], start: int, end: int) -> list[int]:
    """The values that the clock took between two events."""
    clock, moves = _clock(events[:start]), []
    for event in events[start:end]:
        if isinstance(event, int) and event > clock:
            clock = event
            moves.append(clock)
    return moves


class Tumbling(NamedTuple):
    """Windows one after the other."""

    size: int
    offset: int = 0

    def windows(self, time: int) -> list[tuple[int, int]]:
        """The windows that hold ``time``, as start and end."""
        return Sliding(self.size, self.size, self.offset).windows(time)


class Sliding(NamedTuple):
    """Windows that begin every ``slide``."""

    size: int
    slide: int
    offset: int = 0

    def windows(self, time: int) -> list[tuple[int, int]]:
        """The windows that hold ``time``, as start and end."""
        return [
            (start, start + self.size)
            for start in range(time - self.size + 1, time + 1)
            if (start - self.offset) % self.slide == 0
        ]


class Session(NamedTuple):
    """Windows that end when nothing came for ``gap``."""

    gap: int


Windows: TypeAlias = Tumbling | Sliding | Session
Group: TypeAlias = tuple[Any, int, int, tuple[Any, ...], tuple[Any, ...]]
"""Key, start and end of the window, values of the left and of the right side, both sorted."""


def groups(left: Sequence[Record], right: Sequence[Record], windows: Windows) -> list[Group]:
    """What each key and window holds of both sides, for all that hold anything."""
    found = []
    for key in {record.key for record in (*left, *right)}:
        sides = [[record for record in side if record.key == key] for side in (left, right)]
        times = [record.time for side in sides for record in side]
        for start, end in sorted(_all_windows(times, windows)):
            inside = [
                tuple(sorted(record.value for record in side if start <= record.time < end))
                for side in sides
            ]
            found.append((key, start, end, inside[0], inside[1]))
    return found


def window_join(left: Sequence[Record], right: Sequence[Record], windows: Windows) -> Pairs:
    """All pairs of one key and window; results have the last timestamp of the window."""
    return Counter(
        (a, b, end - 1)
        for _, _, end, lefts, rights in groups(left, right, windows)
        for a, b in product(lefts, rights)
    )


def _all_windows(times: list[int], windows: Windows) -> set[tuple[int, int]]:
    if not isinstance(windows, Session):
        return {window for time in times for window in windows.windows(time)}
    sessions: list[tuple[int, int]] = []
    for time in sorted(times):
        if sessions and time <= sessions[-1][1]:
            sessions[-1] = (sessions[-1][0], time + windows.gap)
        else:
            sessions.append((time, time + windows.gap))
    return set(sessions)


@dataclass
class _Pane:
    start: int
    end: int
    sides: dict[str, list[Any]] = field(default_factory=lambda: {"left": [], "right": []})


def window_join_as_it_happens(
    events: Sequence[Event], windows: Windows, lateness: int = 0
) -> Outcome:
    """Joins of windows as watermarks end them, and again for records within the allowed lateness."""
    outcome, clock = Outcome(), LOWEST
    panes: dict[Any, list[_Pane]] = {}
    for event in events:
        if isinstance(event, int):
            before, clock = clock, max(clock, event)
            for key, open_panes in panes.items():
                for pane in open_panes:
                    if before < pane.end - 1 <= clock:
                        _fire(pane, outcome)
                panes[key] = [p for p in open_panes if p.end - 1 + lateness > clock]
            continue
        record, key_panes = event.record, panes.setdefault(event.record.key, [])
        taken = [
            pane
            for pane in _panes_for(record.time, windows, key_panes)
            if pane.end - 1 + lateness > clock
        ]
        for pane in taken:
            pane.sides[event.side].append(record.value)
            if pane not in key_panes:
                key_panes.append(pane)
            if pane.end - 1 <= clock:
                _fire(pane, outcome)
        if not taken:
            outcome.late[event.side].append(record.value)
    return outcome


def _panes_for(time: int, windows: Windows, present: list[_Pane]) -> list[_Pane]:
    if not isinstance(windows, Session):
        by_place = {(pane.start, pane.end): pane for pane in present}
        return [by_place.get(place, _Pane(*place)) for place in windows.windows(time)]
    start, end = time, time + windows.gap
    merged = _Pane(start, end)
    for pane in [p for p in present if p.start <= end and start <= p.end]:
        present.remove(pane)
        merged.start, merged.end = min(merged.start, pane.start), max(merged.end, pane.end)
        for side, values in pane.sides.items():
            merged.sides[side] += values
    return [merged]


def _fire(pane: _Pane, outcome: Outcome) -> None:
    for a, b in product(pane.sides["left"], pane.sides["right"]):
        outcome.results[(a, b, pane.end - 1)] += 1
