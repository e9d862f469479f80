"""The allocator of the C library, set for large records.

As it comes, glibc maps a block of a megabyte anew each time, or returns the end of its heap to the system
as soon as some megabytes are free there. Every page of such a block is then zeroed and faulted in again: for
a record of a megabyte that takes several times as long as to copy it.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of glibc's settings."""
LARGEST: Final = 32 << 20
"""Bytes of a block that is still taken from the heap: the most that glibc allows."""
KEPT: Final = 2 * LARGEST
"""Free bytes at the end of the heap that are kept: what glibc itself keeps for blocks of that size."""


def keep_memory() -> None:
    """Use the memory of large blocks again instead of returning it; does nothing on another C library."""
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, LARGEST)
        library.mallopt(_TRIM_THRESHOLD, KEPT)
