"""How one number of bytes is divided, and how much of it a cached Python value takes."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from riverrun.serde.row import Row

_LOOKED_AT: Final = 16
"""Items of a container that are measured; the others are taken to be like them."""
_DEPTH: Final = 6
_SLOT: Final = 120
"""Bytes that a cached entry takes beside its key and value: a slot in the dict and one in the set of
dirty keys, both half empty on average."""
_SMALLEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The parts of the budget of one backend; a tenth is left for what nobody counts."""

    blocks: int
    """RocksDB's cache: data, index and filter blocks, and the write buffers too."""
    write_buffers: int
    """At most this much of ``blocks`` are rows that are not yet in a file."""
    values: int
    """Decoded values in front of the database."""

    @classmethod
    def of(cls, memory_bytes: int) -> MemoryPlan:
        """The plan for a budget.

        >>> MemoryPlan.of(100 << 20).blocks >> 20
        50
        """
        budget = max(memory_bytes, _SMALLEST)
        return cls(blocks=budget // 2, write_buffers=budget // 5, values=budget * 2 // 5)


def footprint(key: Any, value: Any) -> int:
    """About how many bytes a cached entry takes in this process."""
    return _SLOT + _size(key, _DEPTH) + _size(value, _DEPTH)


def _size(value: Any, depth: int) -> int:
    size = sys.getsizeof(value, 64)
    if depth == 0 or isinstance(value, (str, int, float, bytes, type(None))):
        return size
    if isinstance(value, dict):
        return size + _items(value, len(value), depth) + _items(value.values(), len(value), depth)
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return size + _items(value, len(value), depth)
    if isinstance(value, Row):
        return size + _items(value, len(value), depth) + 56
    inside = getattr(value, "__dict__", None)
    if isinstance(inside, dict):
        size += sys.getsizeof(inside) + _items(inside.values(), len(inside), depth)
    slots = getattr(type(value), "__slots__", None) or ()
    for name in (slots,) if isinstance(slots, str) else slots:
        size += _size(getattr(value, name, None), depth - 1)
    return size


def _items(items: Iterable[Any], count: int, depth: int) -> int:
    if count == 0:
        return 0
    looked_at = min(count, _LOOKED_AT)
    return sum(_size(item, depth - 1) for item in islice(items, looked_at)) * count // looked_at
