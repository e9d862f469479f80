"""How many key groups are looked at together: as many as are held in memory with ease."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from riverrun.state.parquet.cells import pickle_of

_FEW: Final = 2 << 20
_MANY: Final = 8 << 20
"""Bytes, about as many as pickles of the entries have."""
_SAMPLE: Final = 16


class GroupWindows:
    """Ranges of key groups, one after the other; each is as wide as the one before suggests."""

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._width = 1

    def __iter__(self) -> Iterator[range]:
        start = 0
        while start < self._groups:
            window = range(start, min(start + self._width, self._groups))
            yield window
            start = window.stop

    def saw(self, *found: Mapping[Any, Any]) -> None:
        """Say what was in the last one."""
        size = sum(map(_size, found))
        if size < _FEW:
            self._width *= 2
        elif size > _MANY:
            self._width = max(self._width // 2, 1)


def _size(entries: Mapping[Any, Any]) -> int:
    """About so many bytes, by a few of them."""
    few = list(islice(entries.items(), _SAMPLE))
    return len(pickle_of(few)) * len(entries) // len(few) if few else 0
