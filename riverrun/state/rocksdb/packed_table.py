"""Whole numbers to a few words each, in arrays: many are looked up and put at once.

An entry takes 8 bytes for its key, 8 for each word of its value and one for its marks, and four slots of five
may be taken; in a dict it takes five times as much. The slots stand in groups of eight, which is a line of
the processor's cache. A key belongs into the group that its mixed bits say, or into the next one that had room
when it came. So a look goes on while it sees full groups, and an entry that is removed only gets a mark.

What is done for one key here would cost more than RocksDB does: numpy takes microseconds for each call.
`PackedTable.find_one` is there for those that come alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
Slots: TypeAlias = npt.NDArray[np.intp]
Numbers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_WAYS: Final = 8
_SMALLEST: Final = 16
_FULL: Final = 0.8
_TOGETHER: Final = 4096
"""Groups that are moved together."""
_GROWTH: Final = 1.25
"""A table that may not grow by so much is as large as it can be: its entries could not be moved in place."""
_CHANGED, _GONE, _USED = 1, 2, 4
_BITS: Final = 0xFFFFFFFFFFFFFFFF
_SALT: Final = 0x5851F42D4C957F2D
"""Of all keys only this one, whose print is 0, has no place."""
_MIX: Final = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)
_BACK: Final = tuple(np.uint64(pow(factor, -1, 1 << 64)) for factor in reversed(_MIX))
_FORTH: Final = tuple(map(np.uint64, _MIX))
_SHIFT: Final = np.uint64(33)
_HALF: Final = np.uint64(32)


class PackedTable:
    """Entries of one width.

    Attributes:
        taken: Slots that are taken, also by what is removed.
        changed: About how many entries are marked as changed; never too few.
    """

    def __init__(self, words: int) -> None:
        self._groups = _SMALLEST
        self._prints: Words = np.zeros((_SMALLEST, _WAYS), np.uint64)
        self._values: Words = np.zeros((_SMALLEST * _WAYS, words), np.uint64)
        self._marks: npt.NDArray[np.uint8] = np.zeros(_SMALLEST * _WAYS, np.uint8)
        self._group_bytes = _WAYS * (9 + 8 * words)
        self.taken = 0
        self.changed = 0

    @property
    def nbytes(self) -> int:
        """What the arrays take."""
        return self._groups * self._group_bytes

    def room(self) -> int:
        """How many more entries may come."""
        return int(self._groups * _WAYS * _FULL) - self.taken

    def find(self, keys: Numbers) -> tuple[Slots, Mask]:
        """Where each key is, and whether it is there at all."""
        prints = _prints_of(keys)
        slots: Slots = np.zeros(len(keys), np.intp)
        there: Mask = np.zeros(len(keys), np.bool_)
        at, home = np.arange(len(keys)), self._home(prints)
        while at.size:
            rows = self._prints[home]
            same = rows == prints[:, None]
            found = same.any(axis=1)
            slots[at[found]] = home[found] * _WAYS + same[found].argmax(axis=1)
            there[at[found]] = True
            on = ~found
            if not on.any():
                break
            on[on] = rows[on].all(axis=1)
            at, prints, home = at[on], prints[on], (home[on] + 1) % self._groups
        marks = self._marks[slots]
        there &= marks & _GONE == 0
        self._marks[slots[there]] |= _USED
        return slots, there

    def find_one(self, key: int) -> int | None:
        """Where a key is, if it is there."""
        mixed = _print_of(key)
        home = (mixed >> 32) * self._groups >> 32
        while True:
            row = self._prints[home].tolist()
            if mixed in row:
                slot = home * _WAYS + row.index(mixed)
                return None if mixed == 0 or self._marks.item(slot) & _GONE else slot
            if 0 in row:
                return None
            home = (home + 1) % self._groups

    def values(self, slots: Slots) -> Words:
        """The words at ``slots``, a row for each."""
        return self._values[slots]

    def value(self, slot: int) -> Words:
        """The words at one slot."""
        found: Words = self._values[slot : slot + 1]
        return found

    def put(self, keys: Numbers, values: Words, changed: Mask) -> None:
        """Put entries of different keys, for which there is room; those that are not changed keep their mark."""
        slots = self._claim(_prints_of(keys))
        self._values[slots] = values
        self._marks[slots] = self._marks[slots] & _CHANGED | changed | np.uint8(_USED)
        self.changed += int(np.count_nonzero(changed))

    def remove(self, keys: Numbers) -> None:
        """Take out those of ``keys`` that are there."""
        slots, there = self.find(keys)
        self._marks[slots[there]] = _GONE

    def take_changed(self) -> Iterator[tuple[Numbers, Words]]:
        """Keys and values of what is marked as changed, some at a time; it is so no more afterwards."""
        # Many, since each time makes a table of rows over all key groups, and the database merges them.
        step = max(8 * _TOGETHER, self._groups // 8) * _WAYS
        for first in range(0, len(self._marks) if self.changed else 0, step):
            marks = self._marks[first : first + step]
            found = np.flatnonzero(marks & _CHANGED)
            if found.size:
                marks[found] &= ~np.uint8(_CHANGED)
                yield _keys_of(self._prints.reshape(-1)[first + found]), self._values[first + found]
        self.changed = 0

    def grow(self, most: int) -> bool:
        """Make the table larger, but no larger than ``most`` bytes; whether it did."""
        before = self._groups
        groups = min(
            before * 2 if before < _TOGETHER else before * 3 // 2, most // self._group_bytes
        )
        if groups < before * _GROWTH:
            return False
        # In place, from the end: every group of before goes to one that is at least as far.
        self._groups = groups
        self._prints.resize((groups, _WAYS), refcheck=False)
        self._values.resize((groups * _WAYS, self._values.shape[1]), refcheck=False)
        self._marks.resize(groups * _WAYS, refcheck=False)
        for first in reversed(range(0, before, _TOGETHER)):
            prints, values, marks = self._taken_out(first, min(first + _TOGETHER, before))
            self._put_back(prints, values, marks)
        return True

    def shed(self) -> Iterator[tuple[Numbers, Words]]:
        """Drop about a half, what was not used lately first; keys and values of what had changed.

        The table is whole again when all of it was taken.
        """
        marks = self._marks
        used = int(np.count_nonzero(marks & _USED)) / max(self.taken, 1)
        kept_used, kept_others = min(1.0, 0.5 / max(used, 0.01)), max(0.0, 0.5 - used)
        ends = [*range(0, self._groups, _TOGETHER), self._groups]
        noise = np.random.default_rng(self.taken)
        for first, end in pairwise(ends):
            prints, values, marks = self._taken_out(first, end)
            share = np.where(marks & _USED, kept_used, kept_others)
            kept = noise.random(len(prints)) < share
            lost = ~kept & (marks & _CHANGED != 0)
            yield _keys_of(prints[lost]), values[lost]
            self._put_back(prints[kept], values[kept], marks[kept] & ~np.uint8(_USED))
        # The first groups hold what found no room in the last ones, where there is room now.
        self._put_back(*self._taken_out(0, min(_TOGETHER, self._groups)))

    def _taken_out(self, first: int, end: int) -> tuple[Words, Words, npt.NDArray[np.uint8]]:
        """What is in some groups, without what is removed; they are empty afterwards."""
        prints = self._prints[first:end].reshape(-1)
        slots = slice(first * _WAYS, end * _WAYS)
        taken = np.flatnonzero(prints)
        there = taken[self._marks[slots][taken] & _GONE == 0]
        out = prints[there], self._values[slots][there], self._marks[slots][there]
        prints[taken] = 0
        self._marks[slots] = 0
        self.taken -= len(taken)
        return out

    def _put_back(self, prints: Words, values: Words, marks: npt.NDArray[np.uint8]) -> None:
        slots = self._claim(prints)
        self._values[slots] = values
        self._marks[slots] = marks

    def _claim(self, prints: Words) -> Slots:
        """The slots of different prints; those that had none get one."""
        slots: Slots = np.empty(len(prints), np.intp)
        flat = self._prints.reshape(-1)
        at, home = np.arange(len(prints)), self._home(prints)
        while at.size:
            rows = self._prints[home]
            same = rows == prints[:, None]
            known = same.any(axis=1)
            same[~known] = rows[~known] == 0
            wanted = home * _WAYS + same.argmax(axis=1)
            fits = same.any(axis=1)
            fresh = fits & ~known
            flat[wanted[fresh]] = prints[fresh]
            won = fits & (flat[wanted] == prints)  # several may have wanted the same slot
            slots[at[won]] = wanted[won]
            self.taken += int(np.count_nonzero(won & fresh))
            on = ~won
            home = np.where(fits, home, (home + 1) % self._groups)[on]
            at, prints = at[on], prints[on]
        return slots

    def _home(self, prints: Words) -> Slots:
        return ((prints >> _HALF) * np.uint64(self._groups) >> _HALF).astype(np.intp)


def has_place(key: Any) -> bool:
    """Whether a value can be a key of a table."""
    return type(key) is int and -(1 << 63) <= key < 1 << 63 and key != _SALT


def all_have_place(keys: Numbers) -> bool:
    """Whether all ``keys`` can be."""
    return not (keys == _SALT).any()


def _prints_of(keys: Numbers) -> Words:
    mixed = keys.view(np.uint64) ^ np.uint64(_SALT)
    for factor in _FORTH:
        mixed ^= mixed >> _SHIFT
        mixed *= factor
    mixed ^= mixed >> _SHIFT
    return mixed


def _print_of(key: int) -> int:
    mixed = key & _BITS ^ _SALT
    for factor in _MIX:
        mixed = (mixed ^ mixed >> 33) * factor & _BITS
    return mixed ^ mixed >> 33


def _keys_of(prints: Words) -> Numbers:
    mixed = prints.copy()
    for factor in _BACK:
        mixed ^= mixed >> _SHIFT
        mixed *= factor
    mixed ^= mixed >> _SHIFT
    return (mixed ^ np.uint64(_SALT)).view(np.int64)
