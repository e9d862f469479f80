"""``columns`` without an engine: the limit is no loop over records here but numpy on whole batches.

Each process makes its batches with the function that riverrun's source calls, and keeps four arrays for each window:
sum, count, least and most by customer.
"""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.payment_columns import payment_columns
from benchmarks.payments import BOUND_MS, CUSTOMERS, WINDOW_MS

Numbers: TypeAlias = npt.NDArray[np.int64]

_BATCH: Final = 1 << 16
_MOST: Final = np.iinfo(np.int64).max


class _Window:
    """What the customers paid in one window."""

    def __init__(self) -> None:
        self.spend = np.zeros(CUSTOMERS, np.int64)
        self.payments = np.zeros(CUSTOMERS, np.int64)
        self.least = np.full(CUSTOMERS, _MOST)
        self.most = np.full(CUSTOMERS, -_MOST)

    def add(self, customers: Numbers, amounts: Numbers) -> None:
        np.add.at(self.spend, customers, amounts)
        self.payments += np.bincount(customers, minlength=CUSTOMERS)
        np.minimum.at(self.least, customers, amounts)
        np.maximum.at(self.most, customers, amounts)

    def results(self, end: int) -> Numbers:
        seen = np.flatnonzero(self.payments)
        ends = np.full(len(seen), end)
        values = (self.spend, self.payments, self.least, self.most)
        return np.stack([seen, ends, *(each[seen] for each in values)], axis=1)


def columns(indexes: range) -> list[Numbers]:
    """Customer, end, sum, count, least and most of all windows."""
    open_windows: dict[int, _Window] = {}
    results: list[Numbers] = []
    for start in range(0, len(indexes), _BATCH):
        part = indexes[start : start + _BATCH]
        batch = payment_columns(np.arange(part.start, part.stop, part.step))
        ends = batch["time"] - batch["time"] % WINDOW_MS + WINDOW_MS
        for end in np.unique(ends).tolist():
            mine = ends == end
            window = open_windows.setdefault(end, _Window())
            window.add(batch["customer"][mine], batch["amount"][mine])
        latest = int(batch["time"].max()) - BOUND_MS
        over = [end for end in open_windows if end <= latest]
        results += [open_windows.pop(end).results(end) for end in over]
    return results + [window.results(end) for end, window in open_windows.items()]
