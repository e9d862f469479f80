"""Accumulators of keys by slice of time: in memory, and in keyed state when a snapshot is taken.

State holds one entry for each slice and key group, with the keys of that group and their accumulators, and
one for each key group that says how far time had come. It is written back when a snapshot is taken, and
when there are more keys in memory than is wanted: then the slices that nobody used for longest leave
memory, whole, until they are used again.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, Final, cast

import numpy as np

from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.columns.cells import Cells
from riverrun.runtime.columns.keys import groups_of, keys_of_groups
from riverrun.serde.columns import Indices
from riverrun.state.backend import NO_KEY, KeyedStateBackend

__all__ = ["SliceStore"]

STATE: Final = "_columns"
TIMES: Final = "_columns.times"
_KEEP: Final = 3 / 4
"""How much of the room is still used after slices left memory."""


class _Slice:
    __slots__ = ("cells", "saved", "used")

    def __init__(self) -> None:
        self.cells: dict[Any, int] | None = {}
        """By key; None while they are in state only."""
        self.saved: set[int] = set()
        """The key groups that have an entry in state."""
        self.used = 0


class SliceStore:
    """The slices of one operator, by their start."""

    def __init__(
        self,
        cells: Cells,
        backend: KeyedStateBackend,
        max_parallelism: int,
        most_cells: int | None,
    ) -> None:
        self._cells = cells
        self._backend = backend
        self._max_parallelism = max_parallelism
        self._most = most_cells
        self._keys = keys_of_groups(max_parallelism)
        self._state = cast(
            "ValueState[Any]", backend.state(ValueStateDescriptor(STATE), namespaced=True)
        )
        self._times = cast("ValueState[Any]", backend.state(ValueStateDescriptor(TIMES)))
        self.reached = np.full(max_parallelism, MIN_TIMESTAMP)
        """How far time had come for each key group when its state was saved."""
        self.latest = MIN_TIMESTAMP
        """How far it had come for any of them."""
        self.sequence = 0
        """A number that no record has had yet."""
        self._slices: dict[int, _Slice] = {}
        self._clock = 0

    def __contains__(self, start: int) -> bool:
        return start in self._slices

    def starts(self) -> list[int]:
        """The slices that there are."""
        return list(self._slices)

    def add(self, start: int) -> None:
        """Begin with a slice that is not there yet."""
        self._slices[start] = _Slice()

    def locate(self, start: int, keys: list[Any]) -> Indices:
        """The cells of ``keys`` in a slice; new keys get one."""
        held = self._in_memory(start)
        cells = np.array(list(map(held.get, keys, repeat(-1))), np.int64)
        missing = np.flatnonzero(cells < 0).tolist()
        if missing:
            fresh = list(dict.fromkeys(keys[row] for row in missing))
            made = self._cells.allocate(len(fresh))
            self._cells.group[made] = groups_of(fresh, self._max_parallelism)
            held.update(zip(fresh, made.tolist(), strict=True))
            cells[missing] = [held[keys[row]] for row in missing]
        return cells

    def content(self, start: int) -> dict[Any, int]:
        """The cells of all keys of a slice; none if there is no such slice."""
        return self._in_memory(start) if start in self._slices else {}

    def drop(self, start: int) -> None:
        """Forget a slice."""
        gone = self._slices.pop(start)
        if gone.cells:
            self._cells.release(_array(gone.cells.values()))
        self._clear(start, gone.saved)

    def save(self, reached: int, groups: Iterable[int]) -> None:
        """Write back what changed; time is at ``reached`` for all ``groups``."""
        for start, held in self._slices.items():
            self._save_slice(start, held)
        for group in groups:
            self._backend.key = self._keys[group]
            self._times.update((max(reached, int(self.reached[group])), self.sequence))
        self._backend.key = NO_KEY

    def restore(self) -> int:
        """Find what was saved; how far time had come for all of it."""
        backend = self._backend
        group_of = {key: group for group, key in enumerate(self._keys)}
        for key, start in list(backend.keys(STATE)):
            held = self._slices.setdefault(start, _Slice())
            held.cells = None
            held.saved.add(group_of[key])
        reached = []
        for key in list(backend.keys(TIMES)):
            backend.key = key
            time, sequence = self._times.value() or (MIN_TIMESTAMP, 0)
            self.reached[group_of[key]] = time
            self.sequence = max(self.sequence, sequence)
            reached.append(time)
        backend.key = NO_KEY
        self.latest = max(reached, default=MIN_TIMESTAMP)
        return min(reached, default=MIN_TIMESTAMP)

    def reached_by(self, keys: list[Any]) -> Indices:
        """How far time had come for each of ``keys`` when its state was saved."""
        return self.reached[groups_of(keys, self._max_parallelism)]

    def make_room(self) -> None:
        """Let slices that were not used for long leave memory, if there are too many keys."""
        if self._most is None or self._cells.in_use <= self._most:
            return
        loaded = [(held.used, start) for start, held in self._slices.items() if held.cells]
        for _, start in sorted(loaded)[:-1]:  # the last one is in use now
            if self._cells.in_use <= self._most * _KEEP:
                break
            held = self._slices[start]
            self._save_slice(start, held)
            self._cells.release(_array((held.cells or {}).values()))
            held.cells = None
        self._backend.key = NO_KEY

    def _in_memory(self, start: int) -> dict[Any, int]:
        held = self._slices[start]
        self._clock += 1
        held.used = self._clock
        if held.cells is None:
            held.cells = {}
            for keys, saved in self._entries(start):
                made = self._cells.allocate(len(keys))
                self._cells.load(made, saved)
                self._cells.group[made] = groups_of(keys, self._max_parallelism)
                held.cells.update(zip(keys, made.tolist(), strict=True))
        return held.cells

    def _entries(self, start: int) -> list[Any]:
        backend = self._backend
        backend.namespace = start
        entries = []
        for group in sorted(self._slices[start].saved):
            backend.key = self._keys[group]
            entries.append(self._state.value())
        backend.key = NO_KEY
        return entries

    def _save_slice(self, start: int, held: _Slice) -> None:
        if not held.cells:
            return
        every = _array(held.cells.values())
        groups = self._cells.group[every]
        changed = np.unique(groups[self._cells.dirty[every]])
        if not len(changed):
            return
        keys = list(held.cells)
        # Rows sorted by group: each group's keys stand together.
        order = np.argsort(groups, kind="stable")
        bounds = np.searchsorted(groups[order], [changed, changed + 1])
        for group, first, last in zip(changed.tolist(), *bounds.tolist(), strict=True):
            rows = order[first:last]
            cells = every[rows]
            self._backend.key, self._backend.namespace = self._keys[group], start
            self._state.update(([keys[row] for row in rows.tolist()], self._cells.save(cells)))
            held.saved.add(group)
        self._cells.dirty[every] = False

    def _clear(self, start: int, groups: Iterable[int]) -> None:
        backend = self._backend
        for group in groups:
            backend.key, backend.namespace = self._keys[group], start
            self._state.clear()
        backend.key = NO_KEY


def _array(cells: Iterable[int]) -> Indices:
    return np.fromiter(cells, np.int64)
