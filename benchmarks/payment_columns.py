"""The payments of ``benchmarks.payments``, many at a time: numpy only, no loop over records."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.payments import START_MS

COLUMNS: Final = ("customer", "amount", "time")


def payment_columns(indexes: npt.NDArray[np.int64]) -> dict[str, Any]:
    """The payments with these indexes; all columns are int64."""
    mixed = indexes * 2_654_435_761 & 0xFFFFFFFF
    return {
        "customer": mixed % 1_000,
        "amount": (mixed >> 16) % 50_000,
        "time": START_MS + indexes // 10 + (mixed >> 8 & 127),
    }
