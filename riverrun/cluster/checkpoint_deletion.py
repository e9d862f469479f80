"""What a job deletes from its stores, now and at its end. On the job's I/O thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from riverrun.checkpoint.layout import folder_of
from riverrun.checkpoint.owner import JobTakenOver
from riverrun.checkpoint.savepoint_store import (
    CLAIM,
    delete_elsewhere,
    discard_savepoint,
    remove_folder_if_empty,
)
from riverrun.checkpoint.store import CheckpointStore
from riverrun.cluster.starting_point import FirstStart
from riverrun.storage.storage import Storage, StorageError

log = logging.getLogger(__name__)

_UNDELETED: Final = 100_000
"""How many files that could not be deleted are remembered for another try."""


class CheckpointDeletion:
    """Deletes what is the job's: in its own folder, and of the checkpoint that it claimed.

    What cannot be deleted is logged, and does no other harm.

    Args:
        store: the job's own checkpoints; ``None`` when it takes none.
        storage: from a location to the store that holds it.
        first: where the job began.
    """

    def __init__(
        self, store: CheckpointStore | None, storage: Callable[[str], Storage], first: FirstStart
    ) -> None:
        self._store = store
        self._storage = storage
        claimed = [each.location for each in first.retained if not self._is_own(each.location)]
        self._claimed = claimed[0] if claimed else None
        """`_metadata` of a checkpoint that is elsewhere and belongs to the job."""
        self._undeleted: list[str] = []

    def delete(self, locations: Iterable[str]) -> None:
        """Delete files; what cannot be deleted now is tried again with the next ones."""
        wanted = [*locations, *self._undeleted]
        try:
            self._delete(wanted)
            self._undeleted = []
        except JobTakenOver as e:
            log.warning("files are left to the next owner reason=%s", e)
        except StorageError as e:
            self._undeleted = wanted[:_UNDELETED]
            log.warning("files not deleted count=%d reason=%s", len(wanted), e)

    def sweep(self) -> None:
        """Delete what tasks wrote that ended in the middle of a checkpoint."""
        if self._store is None:
            return
        try:
            self.delete(self._store.leftovers())
        except StorageError as e:
            log.warning("files that nobody needs may stay reason=%s", e)

    def delete_all(self) -> None:
        """Delete all checkpoints of the job."""
        if self._store is None:
            return
        try:
            self._store.delete_all()
        except (JobTakenOver, StorageError) as e:
            log.warning("checkpoints stay folder=%s reason=%s", self._store.folder, e)

    def discard_savepoint(self, folder: str) -> None:
        """Delete all that there is of a savepoint that does not exist."""
        try:
            if self._store is not None:
                # Whoever took the job over may have found that it stopped with this savepoint.
                self._store.check_owner()
                self._store.unmark_stopped(folder)
            discard_savepoint(self._storage(folder), folder)
        except (JobTakenOver, StorageError) as e:
            log.warning("files of a failed savepoint stay folder=%s reason=%s", folder, e)

    def release_claim(self) -> None:
        """The job is over: what it claimed belongs to nobody, if it is still there."""
        if self._claimed is None:
            return
        claim = f"{folder_of(self._claimed)}/{CLAIM}"
        try:
            self._storage(claim).delete([claim])
        except StorageError as e:
            log.warning("claim stays place=%s reason=%s", claim, e)

    def _delete(self, locations: list[str]) -> None:
        own = [each for each in locations if self._is_own(each)]
        if self._store is not None:
            # Asked even if there is nothing of its own: whoever took the job over has the rest as well.
            self._store.delete(own)
        elsewhere = [each for each in locations if not self._is_own(each)]
        if elsewhere and self._claimed is not None:
            folder = folder_of(self._claimed)
            storage = self._storage(folder)
            delete_elsewhere(storage, elsewhere)
            remove_folder_if_empty(storage, folder)

    def _is_own(self, location: str) -> bool:
        return self._store is not None and location.startswith(f"{self._store.folder}/")
