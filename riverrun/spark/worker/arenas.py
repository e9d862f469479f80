"""Memory that a producer shares with the consumers on its machine: one file for each producer.

The producer writes a frame into a free segment and sends a reference in its place. The consumer maps the
file once, and hands the segment on as the frame, uncopied. When nobody refers to it any more, one byte in
the file's first page says so, and the producer uses the segment again. A new file for each frame would be
simpler, but fresh pages cost the kernel several times what it takes to copy into used ones.
"""

from __future__ import annotations

import mmap
import os
import secrets
import stat
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from riverrun.protocol.frames import FrameError
from riverrun.protocol.local_frames import ARENA_ID_BYTES, Reference, decode_reference
from riverrun.spark.worker.segments import MOST_SEGMENTS, PAGE, Segment, Segments
from riverrun.spark.worker.shared_folder import free_bytes

_MOST_PIECES: Final = 512
"""What one call to the system takes, at least."""
_ROOMY: Final = 2
"""So many times what the file grows by must be free: others use the folder too."""
_TAKEN: Final = 1


class ProducerArena:
    """The frames of one producer. Its file is made with the first frame and is ``limit`` bytes at most."""

    def __init__(self, folder: Path, limit: int, free: Callable[[Path], int] = free_bytes) -> None:
        self._folder, self._limit, self._free = folder, limit, free
        self._id = secrets.token_bytes(ARENA_ID_BYTES)
        self._segments = Segments(limit)
        self._grown = 0
        self._file: int | None = None
        self._memory: mmap.mmap | None = None

    def place(
        self,
        pieces: Sequence[bytes | memoryview],
        size: int,
        target: int = 0,
        within: int | None = None,
    ) -> Reference | None:
        """Write the frame that ``pieces`` are one after the other; ``None``: there is no room for it.

        Args:
            pieces: The frame.
            size: Its bytes.
            target: Whose it is.
            within: So many bytes may be taken, its own included, unless it is the only one.
        """
        self._collect()
        taken = self._segments.taken_bytes
        if within is not None and taken and taken + size > within:
            return None
        segment = self._segments.take(size, target)
        if segment is None:
            return None
        try:
            if self._may_grow(segment):
                self._write(segment, pieces)
                return Reference(self._id, segment.number, segment.offset, size)
        except OSError:
            pass  # full, or the folder is gone
        self._segments.give_back([segment.number])
        return None

    @property
    def held(self) -> int:
        """How many frames no consumer has given back yet."""
        self._collect()
        return len(self._segments.taken)

    def held_by(self, target: int) -> int:
        """The bytes of frames for ``target`` that are not given back yet."""
        self._collect()
        return self._segments.held_by(target)

    @property
    def given_back_bytes(self) -> int:
        """What consumers have given back so far."""
        return self._segments.given_back_bytes

    def close(self) -> None:
        """Forget the file; it is removed unless a consumer may still have to look for it."""
        if self._file is None:
            return
        if not self.held:
            (self._folder / self._id.hex()).unlink(missing_ok=True)
        os.close(self._file)
        self._file = self._memory = None

    def _collect(self) -> None:
        taken = self._segments.taken
        if taken and self._file is not None:
            states = os.pread(self._file, MOST_SEGMENTS, 0)
            free = [segment.number for segment in taken if states[segment.number] != _TAKEN]
            if free:
                self._segments.give_back(free)

    def _may_grow(self, segment: Segment) -> bool:
        more = segment.offset + segment.size - self._grown
        return more <= 0 or self._free(self._folder) >= _ROOMY * more

    def _write(self, segment: Segment, pieces: Sequence[bytes | memoryview]) -> None:
        file = self._opened()
        os.pwrite(file, bytes((_TAKEN,)), segment.number)
        position = segment.offset
        if self._memory is not None and position + segment.size <= self._grown:
            # The file has all pages up to there: nothing can fail, and to copy is all that it costs.
            for piece in pieces:
                self._memory[position : position + len(piece)] = piece
                position += len(piece)
            return
        for first in range(0, len(pieces), _MOST_PIECES):
            some = pieces[first : first + _MOST_PIECES]
            wanted = sum(map(len, some))
            if os.pwritev(file, some, position) < wanted:
                raise OSError("the folder is full")
            position += wanted
        self._grown = max(self._grown, position)

    def _opened(self) -> int:
        if self._file is None:
            path = self._folder / self._id.hex()
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            file = os.open(path, flags, 0o600)
            os.ftruncate(
                file, self._limit
            )  # consumers map all of it; it holds what is written only
            self._file, self._memory = file, mmap.mmap(file, self._limit)
        return self._file


class ConsumerArenas:
    """The arenas of all producers of one consumer, each mapped when its first frame comes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mapped: dict[str, mmap.mmap] = {}

    def frame(self, row: memoryview) -> memoryview:
        """The frame that ``row`` refers to; its bytes stay as they are while anything refers to them.

        Raises:
            FrameError: there is no such frame.
        """
        reference = decode_reference(row)
        mapped = self._mapped.get(reference.arena_name)
        if mapped is None:
            mapped = self._mapped[reference.arena_name] = self._map(reference)
        end = reference.offset + reference.size
        if reference.offset < PAGE or end > len(mapped) or reference.segment >= MOST_SEGMENTS:
            raise FrameError(f"{reference!r} points outside of its {len(mapped)} bytes")
        content = np.frombuffer(mapped, np.uint8, reference.size, reference.offset)
        # A view keeps the array, and every part of a view does: it goes when the last of them goes.
        weakref.finalize(content, _give_back, mapped, reference.segment).atexit = False
        return memoryview(content.data).toreadonly()

    def _map(self, reference: Reference) -> mmap.mmap:
        path = self._folder / reference.arena_name
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError as error:
            raise FrameError(
                f"frames that lie in {str(path)!r} cannot be read ({error}); was the folder cleared?"
            ) from error
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
                raise FrameError(f"{str(path)!r} is no file of this user")
            return mmap.mmap(file, found.st_size)
        finally:
            os.close(file)


def _give_back(mapped: mmap.mmap, segment: int) -> None:
    mapped[segment] = 0
