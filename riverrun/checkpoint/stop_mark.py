"""The mark of a job that stopped with a savepoint: nobody may go on from an older checkpoint of it.

What followed its latest checkpoint is in the savepoint, and may have been committed.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from riverrun.core.errors import ProgramError
from riverrun.storage.storage import FileMissing, Storage

log = logging.getLogger(__name__)

MARK: Final = "stopped"
"""The file in the job's folder."""


class JobStopped(ProgramError):  # noqa: N818
    """A job that was to be resumed has stopped with a savepoint."""

    def __init__(self, folder: str, savepoint: str) -> None:
        super().__init__(folder, savepoint)
        self.folder, self.savepoint = folder, savepoint

    def __str__(self) -> str:
        return (
            f"checkpoints in {self.folder!r}: their job stopped with the savepoint {self.savepoint!r}, and "
            f"what followed its latest checkpoint is there; start from the savepoint instead of "
            f"resuming the job"
        )


class _Mark(msgspec.Struct, frozen=True):
    savepoint: str
    checkpoint: int
    epoch: int


class StopMark:
    """The mark in a job's folder."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._folder = folder
        self.location = f"{folder}/{MARK}"

    def put(self, savepoint: str, checkpoint: int, epoch: int) -> None:
        """The owner with ``epoch`` stops the job with ``savepoint``, which has the number ``checkpoint``."""
        mark = _Mark(savepoint, checkpoint, epoch)
        self._storage.write(self.location, msgspec.json.encode(mark))

    def remove(self, savepoint: str) -> None:
        """The job did not stop with ``savepoint``: that will not exist."""
        mark = self._read()
        if mark is not None and mark.savepoint == savepoint:
            self._storage.delete([self.location])

    def check(self, last_owner: int, latest: int) -> None:
        """JobStopped if the job did stop.

        Args:
            last_owner: the epoch of the last owner who ran the job; a mark of an earlier one counts no more.
            latest: the number of the job's latest checkpoint; the job went on if that is higher.
        """
        mark = self._read()
        if mark is not None and mark.epoch >= last_owner and mark.checkpoint > latest:
            raise JobStopped(self._folder, mark.savepoint)

    def _read(self) -> _Mark | None:
        try:
            data = self._storage.read(self.location)
        except FileMissing:
            return None
        try:
            return msgspec.json.decode(data, type=_Mark)
        except msgspec.MsgspecError as error:
            # Whoever wrote it was told that it failed, or was gone, before anything followed from it.
            log.warning("mark of a stop cannot be read place=%s reason=%s", self.location, error)
            return None
