"""What an attempt starts from: the newest checkpoint that can be used, somebody else's, or nothing.

Reads the store, so it belongs on a thread that may wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import job_folder_of, metadata_of
from riverrun.checkpoint.metadata_file import FormatTooNew
from riverrun.checkpoint.restore import assign
from riverrun.checkpoint.store import CheckpointStore, NoUsableCheckpoint, Skipped
from riverrun.core.errors import Failure
from riverrun.core.ids import SubtaskId
from riverrun.graph.executor import JobSubmission
from riverrun.protocol.snapshots import TaskRestore
from riverrun.storage.open import open_storage
from riverrun.storage.storage import FileCorrupt, FileMissing, StorageError

log = logging.getLogger(__name__)

DAMAGED: Final = (FileCorrupt, FileMissing, FormatTooNew)
"""What is wrong with a checkpoint itself, and does not get better by waiting."""


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """What the tasks of an attempt start from, and what was found out on the way."""

    tasks: Mapping[SubtaskId, TaskRestore] = field(default_factory=dict)
    checkpoint: CompletedCheckpoint | None = None
    """``None``: from nothing."""
    remarks: tuple[Failure, ...] = ()
    """Why newer checkpoints were not used."""
    leftovers: tuple[str, ...] = ()
    """Files in the job's folder that no checkpoint refers to: of attempts that ended in the middle."""


@dataclass(frozen=True, slots=True)
class FirstStart:
    """Where a job begins, and which checkpoints it has already."""

    point: StartingPoint
    retained: tuple[CompletedCheckpoint, ...] = ()
    next_checkpoint: int = 1


class StartingPoints:
    """Finds out what the attempts of one job start from.

    Args:
        submission: the job.
        store: its own checkpoints; ``None`` when it takes none.
    """

    def __init__(self, submission: JobSubmission, store: CheckpointStore | None) -> None:
        self._submission = submission
        self._store = store

    def first(self) -> FirstStart:
        """Where the job begins; its folder is claimed for this JobMaster.

        Raises:
            RestoreRefused: the program cannot go on from the checkpoint that it was told to.
            StorageError: a checkpoint cannot be read, or the store cannot be asked.
        """
        store = self._store
        if store is None:
            return FirstStart(self._given())
        if not self._submission.resume:
            point = self._given()
            store.claim()
            return FirstStart(point, next_checkpoint=_after(point, store))
        store.claim()
        usable = store.load_latest_usable()
        latest = usable.checkpoint
        if latest is None:
            point = self._given()
            return FirstStart(point, next_checkpoint=_after(point, store))
        point = self._from(latest, usable.skipped, store.leftovers(), owned=True)
        retained = tuple(each for each in store.list() if each.id <= latest.id)
        return FirstStart(point, retained, store.next_checkpoint())

    def next(
        self, retained: Sequence[CompletedCheckpoint], doubtful: Collection[int]
    ) -> StartingPoint:
        """Where the next attempt begins: at the newest of ``retained``, the job's own checkpoints.

        ``doubtful`` ones, by their numbers, are used only if there is no other.

        Raises:
            JobTakenOver: another JobMaster runs the job now.
            NoUsableCheckpoint: there are some, and none can be used.
            RestoreRefused: the program cannot go on from it.
            StorageError: the store cannot be asked now.
        """
        store = self._store
        if store is not None:
            store.check_owner()
        if store is None or not retained:
            return self._given()
        newest_first = sorted(retained, key=lambda each: (each.id not in doubtful, each.id))[::-1]
        skipped: list[Skipped] = []
        for candidate in newest_first:
            try:
                checkpoint = store.load(candidate.location)
                store.verify(checkpoint.metadata)
            except DAMAGED as e:
                log.warning(
                    "checkpoint cannot be used location=%s reason=%s", candidate.location, e
                )
                skipped.append(Skipped(candidate.location, str(e)))
            else:
                return self._from(checkpoint, skipped, self._leftovers(store), owned=True)
        raise NoUsableCheckpoint(store.folder, tuple(skipped))

    def _given(self) -> StartingPoint:
        """The checkpoint that the submission names, if it names one."""
        location = self._submission.restore_from
        if location is None:
            return StartingPoint()
        root, _, job = job_folder_of(metadata_of(location)).rpartition("/")
        storage = open_storage(location, self._submission.config)
        theirs = CheckpointStore(storage, root or "/", job)
        checkpoint = theirs.load(location)
        theirs.verify(checkpoint.metadata)
        return self._from(checkpoint, (), (), owned=False)

    def _from(
        self,
        checkpoint: CompletedCheckpoint,
        skipped: Sequence[Skipped],
        leftovers: tuple[str, ...],
        *,
        owned: bool,
    ) -> StartingPoint:
        tasks = assign(
            checkpoint.metadata,
            self._submission.graph,
            allow_non_restored=self._submission.allow_non_restored,
            owned=owned,
        )
        remarks = tuple(
            Failure(
                "CheckpointSkipped",
                f"{each.reason} (the job goes on from checkpoint {checkpoint.id} instead)",
            )
            for each in skipped
        )
        return StartingPoint(tasks, checkpoint, remarks, leftovers)

    def _leftovers(self, store: CheckpointStore) -> tuple[str, ...]:
        try:
            return store.leftovers()
        except StorageError as e:
            log.warning("files that nobody needs may stay reason=%s", e)
            return ()


def _after(point: StartingPoint, store: CheckpointStore) -> int:
    """The next checkpoint's number.

    Above that of a checkpoint of another job that this one goes on from: committables are named by it,
    and those of the other job are still there.
    """
    restored = 0 if point.checkpoint is None else point.checkpoint.id
    return max(store.next_checkpoint(), restored + 1)
