"""The store as a folder of this machine, or of a network file system that all machines have mounted."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from riverrun.storage.linking import link_or_copy
from riverrun.storage.os_errors import exists_already, is_missing, missing, reported, storage_error
from riverrun.storage.storage import StorageError
from riverrun.storage.unfinished import is_unfinished, unfinished_name

_FOLDER_TRIES: Final = 10


def local_path(location: str) -> Path:
    """The path that a plain path or a ``file:`` URI names.

    >>> str(local_path("/checkpoints")), str(local_path("file:///my%20checkpoints"))
    ('/checkpoints', '/my checkpoints')
    """
    return Path(unquote(urlsplit(location).path) if location.startswith("file:") else location)


class LocalStorage:
    """Files are made beside their place, forced to the disk, and then put into their place.

    ``upload`` and ``download`` hard-link where they can: what was uploaded or downloaded must not be
    changed in place afterwards, only deleted or replaced.
    """

    def __init__(self, root: str | None = None) -> None:
        """Folders that become empty are removed if they lie below ``root``."""
        self._root = None if root is None else local_path(root)

    def write(self, location: str, data: bytes | memoryview, *, new: bool = False) -> None:
        def fill(temporary: Path) -> None:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                rest = memoryview(data).cast("B")
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())

        self._make(location, fill, new=new)

    def upload(self, source: Path, location: str) -> None:
        with reported("uploading", str(source)):
            original = source.resolve(strict=True)
            _force(original, os.O_RDONLY)

        def fill(temporary: Path) -> None:
            link_or_copy(original, temporary)

        self._make(location, fill, new=False)

    def read(self, location: str) -> bytes:
        try:
            return local_path(location).read_bytes()
        except OSError as error:
            raise _read_error(error, "reading", location) from error

    def download(self, location: str, target: Path) -> None:
        path = local_path(location)
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise missing("downloading", location)
            target.parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(path, target)
        except FileExistsError as error:
            raise exists_already(f"downloading {location!r} to", str(target)) from error
        except OSError as error:
            raise _read_error(error, "downloading", location) from error

    def exists(self, location: str) -> bool:
        try:
            return stat.S_ISREG(local_path(location).stat().st_mode)
        except OSError as error:
            if is_missing(error):
                return False
            raise storage_error(error, "looking for", location) from error

    def list(self, folder: str) -> list[str]:
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        with reported("listing", folder):
            found = {
                entry.path: entry.stat().st_size
                for entry in _files(local_path(folder))
                if not is_unfinished(entry.name)
            }
        return dict(sorted(found.items()))

    def delete(self, locations: Iterable[str]) -> None:
        first: StorageError | None = None
        folders: set[Path] = set()
        for location in locations:
            path = local_path(location)
            try:
                path.unlink()
            except OSError as error:
                if not is_missing(error) or path.is_dir():
                    first = first or storage_error(error, "deleting", location)
            folders.add(path.parent)
        for folder in folders:
            self._prune(folder)
        if first is not None:
            raise first

    def delete_folder(self, folder: str) -> None:
        path = local_path(folder)
        for _ in range(_FOLDER_TRIES):
            with reported("deleting", folder):
                try:
                    shutil.rmtree(path)
                except OSError as error:
                    # Somebody deletes the same files, or still writes new ones.
                    if error.errno not in {errno.ENOENT, errno.ENOTEMPTY}:
                        raise
            if not path.is_dir():
                self._prune(path.parent)
                return
        raise StorageError(
            f"deleting {folder!r}: it is never empty because somebody writes to it; "
            f"does another process work on the same folder?"
        )

    def sweep(self, folder: str, older_than_s: float) -> int:
        before = time.time() - older_than_s
        with reported("sweeping", folder):
            old = [
                entry.path
                for entry in _files(local_path(folder))
                if is_unfinished(entry.name) and entry.stat().st_mtime <= before
            ]
        self.delete(old)
        return len(old)

    def _make(self, location: str, fill: Callable[[Path], None], *, new: bool) -> None:
        """Let ``fill`` make the file under another name, then give it its own."""
        path = local_path(location)
        with reported("writing", location):
            temporary = _in_folder(
                path.parent, lambda: _filled(Path(unfinished_name(str(path))), fill)
            )
            try:
                if new:
                    os.link(temporary, path)
                else:
                    temporary.replace(path)
            except FileExistsError as error:
                raise exists_already("writing", location) from error
            finally:
                # Also after a replace: it does nothing when both names are the same file.
                temporary.unlink(missing_ok=True)
            _force(path.parent, os.O_RDONLY | os.O_DIRECTORY)

    def _prune(self, folder: Path) -> None:
        """Remove ``folder`` and those above it while they are empty and below the root."""
        while self._root is not None and self._root in folder.parents:
            try:
                folder.rmdir()
            except OSError:
                return  # In use again, gone already, or not ours to remove: none of it matters.
            folder = folder.parent


def _in_folder(folder: Path, make: Callable[[], Path]) -> Path:
    """Call ``make`` with ``folder`` there, though others may remove it whenever it is empty."""
    for _ in range(_FOLDER_TRIES):
        try:
            return make()
        except FileNotFoundError:
            _make_folder(folder)
    return make()


def _filled(temporary: Path, fill: Callable[[Path], None]) -> Path:
    try:
        fill(temporary)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _make_folder(folder: Path) -> None:
    """Make ``folder`` and those above it, so that they outlive a loss of power."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    # FileNotFoundError: whoever removes empty folders was faster; the caller tries again.
    with suppress(FileNotFoundError):
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():
                raise
        _force(folder.parent, os.O_RDONLY | os.O_DIRECTORY)


def _force(path: Path, flags: int) -> None:
    """Return when the file's bytes, or the folder's names, are on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot do this to a folder; they write names through.
        if (
            error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF}
            or not flags & os.O_DIRECTORY
        ):
            raise
    finally:
        os.close(descriptor)


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All files below ``folder``; what disappears meanwhile is left out."""
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        if is_missing(error):
            return
        raise
    for entry in entries:
        with suppress(FileNotFoundError):
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path))
            elif entry.is_file():
                entry.stat()
                yield entry


def _read_error(error: OSError, operation: str, location: str) -> StorageError:
    if is_missing(error):
        return missing(operation, location)
    return storage_error(error, operation, location)
