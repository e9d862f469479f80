"""Numbers over time in bounded memory: the last minutes second by second, what is older ever more coarsely.

No clock and no lock in here: whoever adds says when it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.float32]
"""One row for each moment, one column for each series; NaN where a value is missing."""

_HELD: Final = 5
"""A value stands for the time since the one before, if that is no more than so many steps ago."""
_FIRST_ROWS: Final = 32


class Fold(Enum):
    """What several values of a series become when they are shown as one."""

    MEAN = auto()
    MAX = auto()


@dataclass(frozen=True, slots=True)
class Tier:
    """The newest ``points`` values, one for every ``step_ms``."""

    step_ms: int
    points: int


TIERS: Final = (
    Tier(1_000, 600),
    Tier(10_000, 360),
    Tier(60_000, 300),
    Tier(600_000, 288),
    Tier(14_400_000, 200),
)
"""Ten minutes, an hour, five hours, two days, 33 days. Each step is a multiple of the one before, and each
tier reaches back over more than one step of the next."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Values of some series on a grid of time."""

    step_ms: int
    times: tuple[int, ...]
    """When each row begins; it stands for the ``step_ms`` that follow."""
    rows: Rows


class TimeLine:
    """Several series, sampled together.

    Args:
        folds: one for each series.
        tiers: the finest first.

    >>> line = TimeLine([Fold.MEAN, Fold.MAX])
    >>> for second in range(4):
    ...     line.add(second * 1000, [second, second])
    >>> samples = line.read([0, 1], begin=0, end=4000, points=2)
    >>> samples.times, samples.rows.tolist()
    ((0, 2000), [[0.5, 1.0], [2.5, 3.0]])
    """

    def __init__(self, folds: Sequence[Fold], tiers: Sequence[Tier] = TIERS) -> None:
        self._is_max = np.array([fold is Fold.MAX for fold in folds], dtype=np.bool_)
        self._rings = [_Ring(tier, len(folds)) for tier in tiers]
        self._begin = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added yet."""
        return self._rings[0].is_empty

    @property
    def nbytes(self) -> int:
        """How much memory the values take."""
        return sum(ring.nbytes for ring in self._rings)

    def add(self, at: int, values: Sequence[float]) -> None:
        """Take one value of each series; NaN where there is none. What lies before the newest is dropped."""
        finest = self._rings[0]
        place = at // finest.step
        row = np.array(values, dtype=np.float32)
        if finest.is_empty:
            self._begin = place * finest.step
            first = place
        else:
            newest = finest.end - 1
            first = newest + 1 if newest < place <= newest + _HELD else place
            if place < newest:
                return
        for each in range(first, place + 1):
            self._close_before(each * finest.step)
            finest.put(each, row)

    def read(self, series: Sequence[int], *, begin: int, end: int, points: int) -> Samples:
        """These series from ``begin`` to ``end``, in about ``points`` rows, as finely as they are kept.

        There is one row more when the first one begins before ``begin``. Rows before the first value that
        is kept and after the last one are left out.
        """
        finest, coarsest = self._rings[0], self._rings[-1]
        begin = max(begin, self._begin, coarsest.begin * coarsest.step)
        end = min(end, finest.end * finest.step)
        if self.is_empty or end <= begin:
            return Samples(finest.step, (), np.empty((0, len(series)), np.float32))
        tier = self._tier_since(begin)
        own = self._rings[tier].step
        step = own * -(-(end - begin) // (points * own))
        first, last = begin // step, (end - 1) // step + 1
        rows = self._rows(tier, first * step // own, last * step // own)[:, list(series)]
        folded = _folded(rows, step // own, self._is_max[list(series)])
        return Samples(step, tuple(place * step for place in range(first, last)), folded)

    def _tier_since(self, begin: int) -> int:
        """The finest tier that reaches back to ``begin``; the coarsest if none does."""
        for tier, ring in enumerate(self._rings):
            if ring.is_empty or ring.begin * ring.step <= begin:
                return tier
        return len(self._rings) - 1

    def _rows(self, tier: int, first: int, last: int) -> Rows:
        """The rows ``first`` to ``last`` of a tier, with the one that is not over yet."""
        ring = self._rings[tier]
        rows = ring.between(first, last)
        if tier > 0:
            newest = (self._rings[0].end - 1) * self._rings[0].step
            is_open = newest // ring.step
            if first <= is_open < last:
                rows[is_open - first] = self._folded_from(tier - 1, ring, is_open)
        return rows

    def _close_before(self, time: int) -> None:
        """Keep in the coarser tiers what is over at ``time``."""
        if self.is_empty:
            return
        newest = (self._rings[0].end - 1) * self._rings[0].step
        for tier, ring in enumerate(self._rings[1:], 1):
            place = newest // ring.step
            if time // ring.step > place:
                ring.put(place, self._folded_from(tier - 1, ring, place))

    def _folded_from(self, finer: int, ring: _Ring, place: int) -> Rows:
        share = ring.step // self._rings[finer].step
        rows = self._rows(finer, place * share, (place + 1) * share)
        row: Rows = _folded(rows, share, self._is_max)[0]
        return row


class _Ring:
    """The newest rows of a tier, each at its own place on the grid of the tier's step."""

    def __init__(self, tier: Tier, width: int) -> None:
        self.step = tier.step_ms
        self._capacity = tier.points
        self._rows = np.empty((0, width), np.float32)
        self._origin = 0
        self.end = 0
        """After the newest row."""

    @property
    def is_empty(self) -> bool:
        return not len(self._rows)

    @property
    def begin(self) -> int:
        """The oldest row."""
        return max(self._origin, self.end - self._capacity)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes

    def put(self, place: int, row: Rows) -> None:
        """Keep ``row`` at ``place``, which is the newest or a later one."""
        if self.is_empty:
            self._origin = self.end = place
        self._grow(min(place - self._origin + 1, self._capacity))
        skipped = np.arange(max(self.end, place - self._capacity + 1), place)
        self._rows[(skipped - self._origin) % self._capacity] = np.nan
        self._rows[(place - self._origin) % self._capacity] = row
        self.end = place + 1

    def between(self, first: int, last: int) -> Rows:
        """The rows ``first`` to ``last``; NaN for those that are not kept."""
        rows = np.full((last - first, self._rows.shape[1]), np.nan, np.float32)
        kept = np.arange(max(first, self.begin), min(last, self.end))
        rows[kept - first] = self._rows[(kept - self._origin) % self._capacity]
        return rows

    def _grow(self, needed: int) -> None:
        have, width = self._rows.shape
        if needed <= have:
            return
        grown = np.full(
            (min(max(needed, 2 * have, _FIRST_ROWS), self._capacity), width), np.nan, np.float32
        )
        grown[:have] = self._rows
        self._rows = grown


def _folded(rows: Rows, share: int, is_max: npt.NDArray[np.bool_]) -> Rows:
    """Every ``share`` rows as one; what is missing does not count."""
    if share == 1:
        return rows
    groups = rows.reshape(-1, share, rows.shape[1])
    known = ~np.isnan(groups)
    counts = known.sum(axis=1)
    sums = np.where(known, groups, 0).sum(axis=1, dtype=np.float64)
    means = np.where(counts, sums / np.maximum(counts, 1), np.nan)
    return np.where(is_max, np.fmax.reduce(groups, axis=1), means).astype(np.float32)
