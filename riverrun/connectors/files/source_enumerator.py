"""Finds the files of a source, cuts large ones into ranges, and hands these out to whoever asks.

A file is known by its path: once it was seen it is not read again, whatever becomes of it. It must
therefore be complete when it appears under a name that is not hidden.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from riverrun.api.split_enumerator import SplitEnumeratorContext
from riverrun.connectors.base.split_queue import SplitQueue
from riverrun.connectors.files.paths import FileInfo, FileStore
from riverrun.connectors.files.source_formats import FileFormat
from riverrun.connectors.files.source_splits import FileSplit, ranges
from riverrun.core.errors import ProgramError
from riverrun.storage.storage import FileMissing

__all__ = ["FilesKnown", "FilesPlan"]

log = logging.getLogger(__name__)

_LARGEST: Final = 64 << 20
_SMALLEST: Final = 4 << 20
_SHARES: Final = 4
"""So many splits for each reader, if they do not get too small: the last one then waits for little."""


@dataclass(frozen=True, slots=True)
class FilesPlan:
    """Where the files of a source are, and how to look for them."""

    paths: tuple[str, ...]
    store: FileStore
    format: FileFormat
    interval_ms: float | None = None
    """How often to look for new files; None: once."""
    splits_files: bool = True
    split_bytes: int | None = None
    """How large a range may be; None: as it suits the number of readers."""

    def within(self, config: Mapping[str, str]) -> FilesPlan:
        """The plan in a job with this configuration."""
        return replace(self, store=self.store.within(config))

    def files(self) -> list[FileInfo]:
        """What is there now, each once, sorted; blocks."""
        found = {file.location: file for path in self.paths for file in self.store.files(path)}
        return [found[location] for location in sorted(found)]

    def splits(self, files: Sequence[FileInfo], readers: int) -> list[FileSplit]:
        """The ranges to read of ``files``."""
        total = sum(file.size for file in files)
        fair = max(_SMALLEST, total // (_SHARES * readers))
        largest = self.split_bytes or min(_LARGEST, fair)
        splits: list[FileSplit] = []
        for file in files:
            self.format.check(file.location)
            cut = self.splits_files and self.format.is_splittable(file.location)
            parts = ranges(file.size, largest) if cut else [(0, file.size)]
            splits.extend(FileSplit(file.location, start, end) for start, end in parts)
        return splits


@dataclass(frozen=True, slots=True)
class FilesKnown:
    """What an enumerator of files leaves for the next one."""

    waiting: tuple[FileSplit, ...] = ()
    seen: bytes = b""
    """The paths that were found, as ``packed_paths`` has them; only where new files are looked for."""
    has_looked: bool = False


class FileEnumerator(SplitQueue[FileSplit]):
    """The enumerator of a source of files."""

    def __init__(
        self, context: SplitEnumeratorContext, plan: FilesPlan, known: FilesKnown | None = None
    ) -> None:
        known = known or FilesKnown()
        bounded = plan.interval_ms is None and known.has_looked
        super().__init__(context, known.waiting, bounded=bounded)
        self._plan = plan
        self._has_looked = known.has_looked
        self._seen = set(unpacked_paths(known.seen))
        self._packed = known.seen
        self._is_packed = True

    def start(self) -> None:
        if self._plan.interval_ms is not None:
            self._context.call_async(self._plan.files, self._take, period_ms=self._plan.interval_ms)
        elif not self._has_looked:
            self._context.call_async(self._plan.files, self._take)

    def snapshot_state(self, checkpoint: int) -> FilesKnown:
        del checkpoint
        if not self._is_packed:
            self._packed, self._is_packed = packed_paths(self._seen), True
        return FilesKnown(tuple(self.waiting), self._packed, self._has_looked)

    def _take(self, files: list[FileInfo] | None, error: Exception | None) -> None:
        if error is not None:
            if not self._has_looked:
                raise _first_trouble(error)
            # The store may be back when it is asked the next time.
            log.warning("cannot look for new files, trying again reason=%s", error)
            return
        self._has_looked = True
        new = [file for file in files or () if file.location not in self._seen]
        splits = self._plan.splits(new, self._context.parallelism)
        if self._plan.interval_ms is None:
            self.add(splits)
            self.close_queue()
            return
        if new:
            self._seen.update(file.location for file in new)
            self._is_packed = False
            self.add(splits)


def _first_trouble(error: Exception) -> Exception:
    """Why a job does not begin; to start again does not help against a path that is not there."""
    return ProgramError(f"file source: {error}") if isinstance(error, FileMissing) else error


def packed_paths(paths: Iterable[str]) -> bytes:
    """Many paths in little space.

    >>> len(packed_paths(f"/data/in/part-{n:05}.parquet" for n in range(10_000))) < 40_000
    True
    """
    joined = "\0".join(sorted(paths))
    return zlib.compress(joined.encode(errors="surrogateescape"), 1) if joined else b""


def unpacked_paths(packed: bytes) -> list[str]:
    """The paths again, sorted.

    >>> unpacked_paths(packed_paths(["/b", "/a"])), unpacked_paths(b"")
    (['/a', '/b'], [])
    """
    if not packed:
        return []
    return zlib.decompress(packed).decode(errors="surrogateescape").split("\0")
