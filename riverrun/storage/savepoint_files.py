"""The files of a savepoint: their names say what they are, and count from the savepoint's folder.

So the folder can be moved or copied, and whoever reads it says where it is now.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from riverrun.storage.blobs import Blob, FileRef, InlineBlob
from riverrun.storage.checkpoint_files import SavedCheckpointFiles
from riverrun.storage.digests import digest_of_file
from riverrun.storage.os_errors import reported
from riverrun.storage.storage import FileCorrupt, Storage

_LONGEST: Final = 100
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def safe_name(name: str) -> str:
    """``name`` as a part of a file name that every file system, URI and tool takes.

    Tools pass over files whose names begin with an underscore or a dot.

    >>> safe_name("_timers.user timers"), safe_name("größe"), safe_name("../..")
    ('timers.user_timers', 'gr_e', 'unnamed')
    """
    return _UNSAFE.sub("_", name).strip("._-")[:_LONGEST] or "unnamed"


class SavepointFiles:
    """Writes what one subtask adds to a savepoint; used from one thread."""

    def __init__(self, storage: Storage, folder: str, scratch: Path | None = None) -> None:
        """``folder`` is the savepoint's; files are made in ``scratch`` before they are uploaded."""
        self._storage = storage
        self._folder = folder
        self._written: list[str] = []
        self._taken: set[str] = set()
        self.scratch = scratch or Path(tempfile.gettempdir())
        self.bytes_written = 0

    def name_for(self, folder: str, state: str, subtask: int) -> str:
        """A name below ``folder`` for the file of a state, which nobody was given before."""
        name = f"{folder}/{safe_name(state)}-{subtask}.parquet"
        again = 2
        # Some file systems know no difference between capital and small letters.
        while name.casefold() in self._taken:
            name = f"{folder}/{safe_name(state)}.{again}-{subtask}.parquet"
            again += 1
        self._taken.add(name.casefold())
        return name

    def keep(self, source: Path, name: str) -> FileRef:
        """Keep a local file as ``name``, which counts from the savepoint's folder, as the reference does.

        ``source`` may be deleted afterwards, but not changed in place.
        """
        digest = digest_of_file(source)
        with reported("uploading", str(source)):
            size = source.stat().st_size
        location = located(self._folder, name)
        # Before it is written: a store may do what it is asked for and still report an error.
        self._written.append(location)
        self._storage.upload(source, location)
        self.bytes_written += size
        return FileRef(name, size, digest)

    def written(self) -> tuple[str, ...]:
        """Full locations of all files that are in the store because of this; some of them only perhaps."""
        return tuple(self._written)

    def discard(self) -> None:
        """Delete all that was written: nobody will ever refer to it."""
        self._storage.delete(self._written)


class SavedSavepointFiles:
    """Reads the files of a savepoint, wherever its folder is now; sizes and digests are checked."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self._files = SavedCheckpointFiles(storage)
        self._folder = folder

    def read(self, blob: Blob) -> bytes:
        """All bytes; FileCorrupt when they are not those that were written."""
        return self._files.read(self._here(blob))

    def fetch(self, blob: Blob, target: Path) -> None:
        """Make the bytes a local file at ``target``; nothing is there after an error."""
        self._files.fetch(self._here(blob), target)

    def _here(self, blob: Blob) -> Blob:
        if isinstance(blob, InlineBlob):
            return blob
        return msgspec.structs.replace(blob, path=located(self._folder, blob.path))


def located(folder: str, path: str) -> str:
    """Where a file of the savepoint in ``folder`` is; a full location stays what it is.

    >>> located("s3://bucket/savepoint-1", "state/ab/count-0.parquet"), located("/a", "/b/c")
    ('s3://bucket/savepoint-1/state/ab/count-0.parquet', '/b/c')

    Raises:
        FileCorrupt: the path leads out of the folder.
    """
    if path.startswith("/") or "://" in path:
        return path
    if ".." in PurePosixPath(path).parts:
        raise FileCorrupt(
            f"savepoint {folder!r}: it refers to the file {path!r}, which is outside of it; expected a "
            f"path below the savepoint's folder, so do not use this savepoint"
        )
    return f"{folder.rstrip('/')}/{path}"
