"""The files of a checkpoint: written once by the subtask that took part, read when it goes on."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Final

from riverrun.storage.blobs import Blob, FileRef, InlineBlob
from riverrun.storage.digests import check_bytes, check_file, digest_of, digest_of_file
from riverrun.storage.local_copies import LocalCopies
from riverrun.storage.os_errors import exists_already, reported
from riverrun.storage.storage import FileCorrupt, Storage

SHARED_FOLDER: Final = "shared"
"""Files that several checkpoints of the job may refer to."""


def checkpoint_folder(folder: str, checkpoint: int) -> str:
    """Where files of one checkpoint alone are, below the job's ``folder``."""
    return f"{folder}/chk-{checkpoint}"


class CheckpointFiles:
    """Writes the files of one checkpoint of one subtask; used from one thread.

    Every name is fresh, so a file of another attempt is never touched. ``copies`` keeps what is
    written on this machine as well.
    """

    def __init__(
        self,
        storage: Storage,
        folder: str,
        checkpoint: int,
        *,
        inline_limit: int,
        copies: LocalCopies | None = None,
    ) -> None:
        """``folder`` is the job's; bytes up to ``inline_limit`` get no file of their own."""
        self._storage = storage
        self._folder = folder
        self._checkpoint = checkpoint
        self._inline_limit = inline_limit
        self._copies = copies
        self._written: list[str] = []
        self.bytes_written = 0
        """Size of all that was kept, in files and in references."""

    def put(self, data: bytes | memoryview, *, shared: bool) -> Blob:
        """Keep ``data``: in the reference when it is small, else in a file."""
        size = memoryview(data).nbytes
        if size <= self._inline_limit:
            self.bytes_written += size
            return InlineBlob(bytes(data))
        ref = FileRef(self._new_name(shared=shared), size, digest_of(data))
        self._storage.write(ref.path, data)
        if self._copies is not None:
            self._copies.keep_bytes(ref, data, self._checkpoint)
        self.bytes_written += size
        return ref

    def upload(self, source: Path, *, shared: bool) -> FileRef:
        """Keep a local file; ``source`` may be deleted afterwards, but not changed in place."""
        digest = digest_of_file(source)
        with reported("uploading", str(source)):
            size = source.stat().st_size
        ref = FileRef(self._new_name(shared=shared), size, digest)
        self._storage.upload(source, ref.path)
        if self._copies is not None:
            self._copies.keep_file(ref, source, self._checkpoint)
        self.bytes_written += size
        return ref

    def written(self) -> tuple[str, ...]:
        """All files that are in the store because of this checkpoint; some of them only perhaps."""
        return tuple(self._written)

    def discard(self) -> None:
        """Delete all that was written: nobody will ever refer to it."""
        self._storage.delete(self._written)

    def _new_name(self, *, shared: bool) -> str:
        folder = (
            f"{self._folder}/{SHARED_FOLDER}"
            if shared
            else checkpoint_folder(self._folder, self._checkpoint)
        )
        name = f"{folder}/{uuid.uuid4()}"
        # Before it is written: a store may do what it is asked for and still report an error.
        self._written.append(name)
        return name


class SavedCheckpointFiles:
    """Reads the files of checkpoints; from copies on this machine where these are whole."""

    def __init__(self, storage: Storage, copies: LocalCopies | None = None) -> None:
        self._storage = storage
        self._copies = copies

    def read(self, blob: Blob) -> bytes:
        """All bytes; FileCorrupt when they are not those that were written."""
        if isinstance(blob, InlineBlob):
            return blob.data
        if self._copies is not None:
            copy = self._copies.read(blob)
            if copy is not None:
                return copy
        data = self._storage.read(blob.path)
        check_bytes(data, blob)
        return data

    def fetch(self, blob: Blob, target: Path) -> None:
        """Make the bytes a local file at ``target``; nothing is there after an error."""
        if isinstance(blob, InlineBlob):
            with reported("writing", str(target)):
                _write_new(target, blob.data)
            return
        if self._copies is not None and self._copies.fetch(blob, target):
            return
        self._storage.download(blob.path, target)
        try:
            check_file(target, blob)
        except FileCorrupt:
            target.unlink(missing_ok=True)
            raise


def _write_new(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise exists_already("writing", str(target)) from error
