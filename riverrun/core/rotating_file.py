"""A file that several processes append to, and that begins anew when it is large enough."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path


class RotatingFile:
    """Appends whole pieces; when the file is full it becomes ``<name>.1``, ``.1`` becomes ``.2``, and so on.

    A piece is written with one call, so that pieces of several processes do not mix, and whoever finds the
    file full moves it away, under a lock that all of them know.

    Args:
        path: the file; its folder must exist.
        max_bytes: how large it becomes, about.
        kept: how many older files are kept.
    """

    def __init__(self, path: Path, max_bytes: int, kept: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._kept = max(0, kept)
        self._lock = threading.Lock()
        self._descriptor = _opened(path)

    def write(self, data: bytes) -> None:
        """Append ``data``; OSError when the disk does not take it."""
        with self._lock:
            if self._descriptor < 0:
                return
            self._follow()
            os.write(self._descriptor, data)
            if os.fstat(self._descriptor).st_size >= self._max_bytes:
                self._rotate()

    def close(self) -> None:
        """Write nothing any more; a second call does nothing."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def _follow(self) -> None:
        """Open the file again if another process moved it away."""
        try:
            is_same = self._path.stat().st_ino == os.fstat(self._descriptor).st_ino
        except FileNotFoundError:
            is_same = False
        if not is_same:
            os.close(self._descriptor)
            self._descriptor = _opened(self._path)

    def _rotate(self) -> None:
        # The folder itself is the lock: no file is left behind.
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            # Who moved it while this process waited may not have begun the next one yet.
            with suppress(FileNotFoundError):
                if self._path.stat().st_size >= self._max_bytes:
                    self._move()
        finally:
            os.close(folder)
        self._follow()

    def _move(self) -> None:
        if not self._kept:
            self._path.unlink()
            return
        for number in range(self._kept - 1, 0, -1):
            with suppress(FileNotFoundError):
                self._numbered(number).replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
