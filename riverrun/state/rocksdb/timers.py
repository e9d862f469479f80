"""Timers that go to disk when they are too many: the next ones are in memory, the others are rows.

Every timer up to a horizon is in memory and every later one is a row, or on its way to become one. While
there is room the horizon is the end of time and nothing is written. When there is none, the later half
becomes rows; when memory is used up, the next rows are taken from the groups that have them, and the
horizon moves on. Rows stand in the order of time in each key group, so neither looks at more than it takes,
and what was there before the horizon is never read again.

A snapshot is the rows, which are files already, and the timers in memory, which are few and are written in
the background.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from riverrun.state.hashmap.timers import FrozenTimers, HashMapTimerQueue
from riverrun.state.rocksdb.memory import footprint
from riverrun.state.rocksdb.rows import RowFormat, state_prefix, timer_time, timers_from
from riverrun.state.rocksdb.store import Store
from riverrun.state.timers import EARLIEST, LATEST, DueTimers, TimerQueue, checked_time

_BATCH: Final = 4096
"""Changes to rows that are written together."""
_LOOK: Final = 1024
"""Timers that are added before their size is looked at again."""
_USUAL: Final = 256
"""Bytes of a timer before one was looked at."""
_FEWEST: Final = 16
"""Rows of a group that are taken into memory together, at least."""
_FIRST_SPAN: Final = 1000
_GROWTH: Final = 4
"""How many times as far rows may be taken the next time."""


@dataclass(slots=True)
class _Taken:
    """Rows of one group, up to a time of which none is missing."""

    rows: list[tuple[int, bytes, bytes]]
    """Time, row key, row value."""
    after: int | None
    """The time of the first row that was left; None when there is none."""


class RocksDBTimerQueue(TimerQueue):
    """Timers of one name; ``room`` is the bytes that they may take in memory, None for no limit."""

    __slots__ = (
        "_allowed",
        "_changes",
        "_first",
        "_format",
        "_groups",
        "_horizon",
        "_left",
        "_near",
        "_raised",
        "_room",
        "_span",
        "_store",
    )

    def __init__(
        self, rows: RowFormat, store: Store, groups: range, room: int | None, *, stored: bool
    ) -> None:
        self._format = rows
        self._store = store
        self._groups = groups
        self._room = room
        self._near = HashMapTimerQueue(rows.schema, tracked=False)
        self._changes: dict[tuple[Any, tuple[int, Any]], bool] = {}
        """Timers after the horizon whose rows are to be put (true) or deleted."""
        self._first: dict[int, int] = dict.fromkeys(groups, EARLIEST) if stored else {}
        """Of each group that may have rows, a time before which it has none."""
        self._horizon = EARLIEST - 1 if stored else LATEST
        self._span = _FIRST_SPAN
        """How many milliseconds of rows are taken into memory next."""
        self._allowed = LATEST if room is None else max(room // _USUAL, _LOOK)
        """How many timers may be in memory."""
        self._raised = 0
        """The same, as long as a single time has more of them than that."""
        self._left = min(self._allowed, _LOOK)
        """How many may be added before the next look."""
        if stored and room is None:
            self._fetch()

    @property
    def in_memory(self) -> int:
        """How many timers are no rows yet."""
        return len(self._near) + len(self._changes)

    def add(self, time: int, key: Any, namespace: Any) -> None:
        try:
            near = time <= self._horizon
        except TypeError:
            near = checked_time(time) <= self._horizon
        if near:
            self._near.add(time, key, namespace)
            self._left -= 1
            if self._left < 0:
                self._look(key, namespace)
        else:
            self._change(checked_time(time), key, namespace, put=True)

    def remove(self, time: int, key: Any, namespace: Any) -> None:
        if time <= self._horizon:
            self._near.remove(time, key, namespace)
        elif time <= LATEST:
            self._change(checked_time(time), key, namespace, put=False)

    def next_time(self) -> int | None:
        time = self._near.next_time()
        while time is None and self._has_later:
            self._fetch()
            time = self._near.next_time()
        return time

    def take(self, until: int) -> DueTimers | None:
        due = self._near.take(until)
        while due is None and self._horizon < until and not len(self._near) and self._has_later:
            self._fetch()
            due = self._near.take(until)
        return due

    def __len__(self) -> int:
        """How many timers are set; goes through all rows."""
        self.flush()
        prefixes = [state_prefix(group, self._format.number) for group in self._first]
        return len(self._near) + sum(1 for _ in self._store.scan_each(prefixes))

    def freeze(self) -> FrozenTimers:
        """The timers in memory; all others are rows by now."""
        self.flush()
        return self._near.freeze_all()

    def flush(self) -> None:
        """Write the rows that changed."""
        if not self._changes:
            return
        changes, self._changes = self._changes, {}
        first, store = self._first, self._store
        rows = self._format.timer_rows(list(changes))
        for (group, row_key, row_value), (address, put) in zip(rows, changes.items(), strict=True):
            if put:
                time = address[1][0]
                if time < first.get(group, LATEST + 1):
                    first[group] = time
                store.put(row_key, row_value)
            elif group in first:
                store.delete(row_key)
        self._store.commit()

    def load(self, addresses: Iterable[Any]) -> None:
        """Set restored timers."""
        for key, (time, namespace) in addresses:
            self.add(time, key, namespace)

    def clear(self) -> None:
        """Forget everything but the rows."""
        self._near.clear()
        self._changes.clear()

    @property
    def _has_later(self) -> bool:
        return bool(self._first or self._changes)

    def _change(self, time: int, key: Any, namespace: Any, *, put: bool) -> None:
        self._changes[(key, (time, namespace))] = put
        if len(self._changes) >= _BATCH:
            self.flush()

    def _look(self, key: Any, namespace: Any) -> None:
        """Find out how many timers there is room for, and make room if there are more."""
        if self._room is None:
            self._left = LATEST
            return
        self._allowed = max(self._room // footprint(key, namespace), _LOOK)
        if len(self._near) <= self._allowed:
            self._raised = 0
        elif len(self._near) > self._raised:
            self._raised = 0
            self._horizon, later = self._near.shed(self._allowed // 2)
            for time, (near_key, near_namespace) in later:
                self._change(time, near_key, near_namespace, put=True)
        self._left = _LOOK

    def _fetch(self) -> None:
        """Take the next rows into memory and move the horizon: all timers up to it are there then."""
        self.flush()
        start = min(self._first.values(), default=LATEST)
        horizon = LATEST if self._room is None else min(start + self._span, LATEST)
        groups = [group for group, first in self._first.items() if first <= horizon]
        most = max(self._allowed // max(len(groups), 1), _FEWEST)
        found: dict[int, _Taken] = {}
        for group in groups:
            taken = found[group] = self._rows(group, horizon, most)
            if taken.after is not None and taken.after <= horizon:
                horizon = taken.rows[-1][0]
        for group, taken in found.items():
            self._take_over(group, taken, horizon)
        self._store.commit()
        self._horizon = horizon if self._first else LATEST
        # The next time as far as it takes to fill half of the room, but not much farther than now.
        fit = (horizon - start + 1) * self._allowed // (2 * max(len(self._near), 1))
        self._span = max(min(fit, self._span * _GROWTH), 1)
        # A time that has more timers than there is room for must be whole in memory once it is the next.
        self._raised = 2 * len(self._near)

    def _rows(self, group: int, until: int, most: int) -> _Taken:
        """The next rows of a group that are not after ``until``; about ``most``, and no time in part."""
        number = self._format.number
        begin = timers_from(group, number, self._first[group])
        rows: list[tuple[int, bytes, bytes]] = []
        for row_key, row_value in self._store.scan_from(begin, state_prefix(group, number)):
            time = timer_time(row_key)
            if time > until or (len(rows) >= most and time != rows[-1][0]):
                return _Taken(rows, time)
            rows.append((time, row_key, row_value))
        return _Taken(rows, None)

    def _take_over(self, group: int, taken: _Taken, horizon: int) -> None:
        """Make those of the rows that are not after ``horizon`` timers in memory."""
        after = taken.after
        for time, row_key, row_value in taken.rows:
            if time > horizon:
                after = time
                break
            self._near.add(time, *self._format.timer(row_key, row_value))
            self._store.delete(row_key)
        if after is None:
            del self._first[group]
        else:
            self._first[group] = after
