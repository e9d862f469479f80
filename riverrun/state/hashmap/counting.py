"""When to keep count of what changes between two checkpoints.

A count that ends with most of the state changed was for nothing: the snapshot holds everything. Where this
happens time after time it is no longer tried each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from riverrun.state.hashmap.history import LARGEST_SHARE

_MOST_IN_VAIN: Final = 8
"""Checkpoints that hold everything, at most, although nobody knows whether they must."""


@dataclass(slots=True)
class Counting:
    """Decides from one checkpoint to the next.

    After three counts in vain one checkpoint goes without, after four two of them, and so on. When fewer
    records came than it takes to change most of the state, counting begins again at once.
    """

    _in_vain: int = 0
    _without: int = 0

    def begins(self, *, most_changed: bool, records: int, entries: int) -> bool:
        """Whether to count until the next checkpoint.

        Args:
            most_changed: whether nobody knew what had changed since the last one.
            records: that came since then.
            entries: that there are.
        """
        if not most_changed or records < entries * LARGEST_SHARE:
            self._in_vain = self._without = 0
        elif self._without:
            self._without -= 1
        else:
            self._in_vain += 1
            self._without = min(max(0, self._in_vain - 2), _MOST_IN_VAIN)
        return not self._without
