"""Where the background part of a snapshot puts its bytes and where a restore gets them from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from riverrun.storage.blobs import Blob, FileRef


class SnapshotFiles(Protocol):
    """The files of one checkpoint of one subtask; used from the thread that writes the snapshot."""

    def put(self, data: bytes | memoryview, *, shared: bool) -> Blob:
        """Keep ``data``: in the reference when it is small, else in a file.

        ``shared``: later checkpoints may refer to the file, so it lives until none of them does.
        """

    def upload(self, source: Path, *, shared: bool) -> FileRef:
        """Keep a local file; ``source`` may be deleted afterwards."""


class NamedFiles(Protocol):
    """The files that one subtask adds to a savepoint; used from the thread that writes it."""

    scratch: Path
    """A folder of this machine in which files are made."""

    def name_for(self, folder: str, state: str, subtask: int) -> str:
        """A name below ``folder`` for the file of a state, which nobody was given before."""

    def keep(self, source: Path, name: str) -> FileRef:
        """Keep a local file under a name that counts from the savepoint's folder, as the reference does.

        ``source`` may be deleted afterwards.
        """


class SavedFiles(Protocol):
    """Reads what was kept; checks sizes and digests, FileCorrupt when they differ."""

    def read(self, blob: Blob) -> bytes:
        """All bytes."""

    def fetch(self, blob: Blob, target: Path) -> None:
        """Make the bytes a local file at ``target``, by a hard link where a copy is on this machine."""
