"""Local recovery: copies of checkpoint files on the machine that wrote them, to be read instead of the store.

    <root>/<job>/<owner>/<file name>

The processes of a job on one machine share ``<root>/<job>``. Each writes and clears only what is below its
own ``owner`` (a subtask), and reads from all: after a restart a subtask may run in another process. A copy
is only a hint: it is used when its size and digest are right, and nobody notices when it is gone.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from riverrun.storage.blobs import FileRef
from riverrun.storage.digests import check_bytes, check_file
from riverrun.storage.linking import link_or_copy
from riverrun.storage.storage import StorageError
from riverrun.storage.unfinished import unfinished_name

log = logging.getLogger(__name__)

STALE_AFTER_S: Final = 24 * 3600.0
"""Copies of a job that did not change for a day are removed by whoever comes next."""

DEFAULT_LIMIT: Final = 16 << 30


class LocalCopies:
    """The copies that one subtask keeps, and all that its machine has; used from any thread of one process.

    An error of the local disk is never an error of the checkpoint: the copy is missing then.
    """

    def __init__(self, root: Path, job: str, owner: str, *, limit: int = DEFAULT_LIMIT) -> None:
        """``limit``: what this owner's copies may hold, in bytes; what goes beyond is not copied."""
        self._job = root / job
        self._own = self._job / owner
        self._limit = limit
        self._lock = threading.Lock()
        self._checkpoints: dict[str, int] = {}
        self.hits = 0
        """Files that were read from a copy."""
        self.misses = 0
        """Files that had no copy here, or a damaged one."""

    def keep_bytes(self, ref: FileRef, data: bytes | memoryview, checkpoint: int) -> None:
        """Copy what ``checkpoint`` wrote to the store as ``ref``."""

        def fill(temporary: Path) -> None:
            with temporary.open("xb") as file:
                file.write(data)

        self._keep(ref, checkpoint, fill)

    def keep_file(self, ref: FileRef, source: Path, checkpoint: int) -> None:
        """Copy, or hard-link, the local file that ``checkpoint`` uploaded as ``ref``."""
        self._keep(ref, checkpoint, lambda temporary: link_or_copy(source, temporary))

    def read(self, ref: FileRef) -> bytes | None:
        """All bytes of the file if there is a copy and it is whole."""
        for copy in self._copies_of(ref):
            with suppress(OSError, StorageError):
                data = copy.read_bytes()
                check_bytes(data, ref)
                self._count(hit=True)
                return data
        self._count(hit=False)
        return None

    def fetch(self, ref: FileRef, target: Path) -> bool:
        """Whether ``target``, which must not exist, was made from a copy that is whole."""
        for copy in self._copies_of(ref):
            with suppress(OSError, StorageError):
                target.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(copy, target)
                try:
                    check_file(target, ref)
                except StorageError:
                    target.unlink(missing_ok=True)
                    raise
                self._count(hit=True)
                return True
        self._count(hit=False)
        return False

    def keep_only(self, files: Iterable[FileRef], checkpoint: int) -> None:
        """``checkpoint`` completed with ``files``: drop what it and the ones before it need no more.

        Copies of later checkpoints, which are still being written, stay.
        """
        needed = {_name(ref) for ref in files}
        with self._lock:
            for path in _entries(self._own):
                if path.name in needed or self._checkpoints.get(path.name, 0) > checkpoint:
                    continue
                self._checkpoints.pop(path.name, None)
                _drop(path)
        # Says that the job lives, to whoever looks for stale ones.
        with suppress(OSError):
            os.utime(self._job)

    def drop_all(self) -> None:
        """Remove this owner's copies: the job is over."""
        with self._lock:
            self._checkpoints.clear()
            shutil.rmtree(self._own, ignore_errors=True)
        with suppress(OSError):
            self._job.rmdir()

    def _keep(self, ref: FileRef, checkpoint: int, fill: Callable[[Path], None]) -> None:
        target = self._own / _name(ref)
        temporary = Path(unfinished_name(str(target)))
        with self._lock:
            try:
                self._own.mkdir(parents=True, exist_ok=True)
                held = sum(path.stat().st_size for path in _entries(self._own))
                if held + ref.size > self._limit:
                    log.debug("no local copy, the limit is reached file=%s held=%d", ref.path, held)
                    return
                fill(temporary)
                temporary.replace(target)
            except OSError as error:
                log.warning("no local copy file=%s reason=%s", ref.path, error)
                _drop(temporary)
            else:
                self._checkpoints[target.name] = checkpoint

    def _copies_of(self, ref: FileRef) -> list[Path]:
        """Where a copy may be; one's own first."""
        others = [folder for folder in _entries(self._job) if folder != self._own]
        places = [folder / _name(ref) for folder in (self._own, *others)]
        return [path for path in places if path.is_file()]

    def _count(self, *, hit: bool) -> None:
        with self._lock:
            if hit:
                self.hits += 1
            else:
                self.misses += 1


def sweep_stale(root: Path, older_than_s: float = STALE_AFTER_S) -> int:
    """Remove the copies of jobs that have not completed a checkpoint for so long; how many jobs."""
    before = time.time() - older_than_s
    stale = 0
    for job in _entries(root):
        try:
            newest = max(path.stat().st_mtime for path in (job, *_entries(job)))
        except FileNotFoundError:
            continue  # Somebody else sweeps too.
        if newest <= before:
            shutil.rmtree(job, ignore_errors=True)
            stale += 1
    return stale


def _name(ref: FileRef) -> str:
    return ref.path.rpartition("/")[2]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _drop(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("local copy could not be removed file=%s reason=%s", path, error)
