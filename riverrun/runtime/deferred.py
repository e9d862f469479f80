"""Elements of blocked channels, in order: in memory up to a limit, then in a file.

Spark merges a task's channels into one iterator, so a task cannot stop reading one of them: whatever
comes behind a barrier has to be kept until the barriers of the other channels are there.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, TypeAlias

from riverrun.protocol.elements import Element
from riverrun.protocol.frames import EncodedRun, decode_element, encoded_element

Entry: TypeAlias = tuple[int, "EncodedRun | Element"]
"""Channel and element; records that were decoded are kept encoded again."""

_HEAD: Final = struct.Struct("<II")

OpenSpill: TypeAlias = Callable[[], BinaryIO]
"""Opens an unnamed file for reading and writing."""


class Deferred:
    """A queue of entries; first in, first out."""

    def __init__(self, limit_bytes: int, open_spill: OpenSpill) -> None:
        self._limit = limit_bytes
        self._open_spill = open_spill
        self._memory: deque[Entry] = deque()
        self._memory_bytes = 0
        self._file: BinaryIO | None = None
        self._read_at = 0
        self._write_at = 0
        self.records = 0
        """Records that wait here."""

    def __bool__(self) -> bool:
        return bool(self._memory) or self._read_at < self._write_at

    @property
    def spilled_bytes(self) -> int:
        """Bytes that went to the file so far."""
        return self._write_at

    def append(self, channel: int, element: EncodedRun | Element) -> int:
        """Keep the entry; how many bytes it has."""
        if isinstance(element, EncodedRun):
            self.records += element.count
            size = len(element.data)
        else:
            size = 0
        if self._file is None and self._memory_bytes + size <= self._limit:
            self._memory.append((channel, element))
            self._memory_bytes += size
            return size
        if self._file is None:
            self._file = self._open_spill()
        data = encoded_element(element)
        self._file.seek(self._write_at)
        self._file.write(_HEAD.pack(channel, len(data)))
        self._file.write(data)
        self._write_at += _HEAD.size + len(data)
        return size

    def popleft(self) -> Entry:
        """The oldest entry; IndexError when there is none."""
        if self._memory:
            channel, element = self._memory.popleft()
            if isinstance(element, EncodedRun):
                self._memory_bytes -= len(element.data)
                self.records -= element.count
            return channel, element
        if self._read_at >= self._write_at:
            raise IndexError("popleft from an empty queue of deferred elements")
        (channel, element), self._read_at = self._read(self._read_at)
        if isinstance(element, EncodedRun):
            self.records -= element.count
        return channel, element

    def __iter__(self) -> Iterator[Entry]:
        """Every entry, oldest first; they stay."""
        yield from self._memory
        position = self._read_at
        while position < self._write_at:
            entry, position = self._read(position)
            yield entry

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._memory.clear()
        self._read_at = self._write_at = 0

    def _read(self, position: int) -> tuple[Entry, int]:
        assert self._file is not None  # noqa: S101  (positions below _write_at exist in the file only)
        self._file.seek(position)
        channel, length = _HEAD.unpack(self._file.read(_HEAD.size))
        element = decode_element(self._file.read(length))
        return (channel, element), position + _HEAD.size + length
