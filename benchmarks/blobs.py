"""The logic of the ``large`` workload: plain functions, standard library only.

Records ``(number, payload)`` of a megabyte each, by their number through one exchange with keys, then measured.
"""

from hashlib import shake_128
from typing import Final, TypeAlias

Blob: TypeAlias = tuple[int, bytes]

SIZE: Final = 1 << 20
KEYS: Final = 16
_POOL: Final = shake_128(b"riverrun").digest(2 * SIZE)


def blob(index: int) -> Blob:
    """The record number ``index``; payloads differ, and do not compress.

    >>> number, payload = blob(3)
    >>> number, len(payload)
    (3, 1048576)
    """
    start = index * 4_099 % SIZE
    return index, _POOL[start : start + SIZE]


def number_of(record: Blob) -> int:
    """The key: one of 16."""
    return record[0] % KEYS


def size_of(record: Blob) -> int:
    """What becomes of it behind the exchange."""
    return len(record[1])
