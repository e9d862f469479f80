"""From an error of the operating system to one that names the file, the operation and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from riverrun.storage.storage import FileExists, FileMissing, StorageError

_OTHER_FOLDER: Final = "or choose another folder with execution.checkpointing.dir"
_ADVICE: Final = {
    errno.ENOSPC: f"the disk is full: free some space {_OTHER_FOLDER}",
    errno.EDQUOT: f"the disk quota is used up: free some space {_OTHER_FOLDER}",
    errno.EACCES: f"this user may not: change the permissions of the folder {_OTHER_FOLDER}",
    errno.EPERM: f"this user may not: change the permissions of the folder {_OTHER_FOLDER}",
    errno.EROFS: f"the file system is mounted read-only: mount it for writing {_OTHER_FOLDER}",
    errno.ENAMETOOLONG: "the name is longer than the file system takes: choose a shorter folder",
    errno.EMFILE: "this process has too many files open: raise its limit (ulimit -n)",
    errno.ENFILE: "the machine has too many files open: raise its limit (fs.file-max)",
    errno.EIO: "the disk reports a fault: look at the machine's kernel log",
    errno.ESTALE: "the network file system lost the file: is it still mounted?",
    errno.ENOTDIR: "a part of the path is a file, not a folder: choose another folder",
    errno.EEXIST: "a part of the path is a file, not a folder: choose another folder",
}
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})


@contextmanager
def reported(operation: str, location: str) -> Iterator[None]:
    """Turn every OSError of the block into a StorageError; ``operation`` as in "writing"."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, operation, location) from error


def storage_error(error: OSError, operation: str, location: str) -> StorageError:
    """The StorageError that says what ``error`` means for the file at ``location``."""
    if error.errno == errno.ENOENT:
        return missing(operation, location)
    what = os.strerror(error.errno) if error.errno else str(error)
    advice = _ADVICE.get(error.errno or 0, "see whether the disk or the store is in order")
    return StorageError(f"{operation} {location!r}: {what}; {advice}")


def missing(operation: str, location: str) -> FileMissing:
    """There is no file at ``location``."""
    return FileMissing(
        f"{operation} {location!r}: there is no such file; was it deleted or moved by somebody else?"
    )


def exists_already(operation: str, location: str) -> FileExists:
    """There is a file at ``location`` that should be new."""
    return FileExists(
        f"{operation} {location!r}: there is such a file already, and it must be new; "
        f"another process works on the same folder, or did"
    )


def is_missing(error: OSError) -> bool:
    """Whether the error means that there is no such file."""
    return error.errno in _MISSING
