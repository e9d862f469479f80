"""What an attempt starts from: the newest checkpoint that can be used, somebody else's, or nothing.

Reads the store, so it belongs on a thread that may wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import metadata_of
from riverrun.checkpoint.metadata_file import FormatTooNew
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.restore import assign
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.checkpoint.savepoint_store import claim_checkpoint, owner_of
from riverrun.checkpoint.store import (
    CheckpointStore,
    NoUsableCheckpoint,
    Skipped,
    load_checkpoint,
    verify_checkpoint,
)
from riverrun.core import options
from riverrun.core.errors import Failure
from riverrun.core.ids import SubtaskId
from riverrun.core.options import RecoveryClaimMode
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.protocol.snapshots import TaskRestore
from riverrun.storage.storage import FileCorrupt, FileMissing, Storage, StorageError

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
    refused: str | None = None
    """Why the graph that was wanted cannot start from it; ``tasks`` are those of the graph before."""


@dataclass(frozen=True, slots=True)
class FirstStart:
    """Where a job begins, and which checkpoints it has already."""

    point: StartingPoint
    retained: tuple[CompletedCheckpoint, ...] = ()
    next_checkpoint: int = 1
    borrowed: tuple[str, ...] = ()
    """Files of somebody else's checkpoint that the job's own may refer to."""


class StartingPoints:
    """Finds out what the attempts of one job start from.

    Args:
        submission: the job.
        store: its own checkpoints; ``None`` when it takes none.
        storage: from a location to the store that holds it.
    """

    def __init__(
        self,
        submission: JobSubmission,
        store: CheckpointStore | None,
        storage: Callable[[str], Storage],
    ) -> None:
        self._submission = submission
        self._store = store
        self._storage = storage
        self._claim_mode = options.CLAIM_MODE.get(submission.config)
        self._given_at = submission.restore_from

    def go_on_from(self, savepoint: str) -> None:
        """Let attempts that have no checkpoint start from ``savepoint``: the job stopped with it."""
        self._given_at = savepoint

    def first(self) -> FirstStart:
        """Where the job begins; its folder is claimed for this JobMaster.

        Raises:
            RestoreRefused: the program cannot go on from the checkpoint that it was told to.
            SavepointRefused: it was to claim a checkpoint that belongs to another job.
            JobStopped: it is to be resumed, and stopped with a savepoint.
            StorageError: a checkpoint cannot be read, or the store cannot be asked.
        """
        store, graphs = self._store, (self._submission.graph,)
        if store is None:
            return self._first_of(self._given(graphs))
        if not self._submission.resume:
            point = self._given(graphs)
            store.claim()
            store.begin()
            return self._first_of(point)
        store.claim()
        store.check_not_stopped()
        store.begin()
        usable = store.load_latest_usable()
        latest = usable.checkpoint
        if latest is None:
            return self._first_of(self._given(graphs))
        point = self._from(latest, graphs, usable.skipped, store.leftovers())
        retained = tuple(each for each in store.list() if each.id <= latest.id)
        claimed = self._claimed_before()
        borrowed = () if claimed else self._borrowed(store, retained)
        return FirstStart(point, (*claimed, *retained), store.next_checkpoint(), borrowed)

    def next(
        self,
        retained: Sequence[CompletedCheckpoint],
        doubtful: Collection[int],
        graphs: Sequence[JobGraph] | None = None,
    ) -> StartingPoint:
        """Where the next attempt begins: at the newest of ``retained``, the job's own checkpoints.

        Args:
            retained: its checkpoints.
            doubtful: the numbers of those that are used only if there is no other.
            graphs: what the attempt shall have, and what it has if that cannot start from the checkpoint.

        Raises:
            JobTakenOver: another JobMaster runs the job now.
            NoUsableCheckpoint: there are some, and none can be used.
            RestoreRefused: the program cannot go on from it.
            StorageError: the store cannot be asked now.
        """
        store = self._store
        if store is not None:
            store.check_owner()
        graphs = graphs or (self._submission.graph,)
        if store is None or not retained:
            return self._given(graphs)
        newest_first = sorted(retained, key=lambda each: (each.id not in doubtful, each.id))[::-1]
        skipped: list[Skipped] = []
        for candidate in newest_first:
            try:
                checkpoint = self._load(store, candidate.location)
            except DAMAGED as e:
                log.warning(
                    "checkpoint cannot be used location=%s reason=%s", candidate.location, e
                )
                skipped.append(Skipped(candidate.location, str(e)))
            else:
                return self._from(checkpoint, graphs, skipped, self._leftovers(store))
        raise NoUsableCheckpoint(store.folder, tuple(skipped))

    def _given(self, graphs: Sequence[JobGraph]) -> StartingPoint:
        """The checkpoint that the submission names, if it names one."""
        location = self._given_at
        if location is None:
            return StartingPoint()
        storage = self._storage(location)
        checkpoint = load_checkpoint(storage, location)
        verify_checkpoint(storage, checkpoint.metadata)
        return self._from(checkpoint, graphs, (), ())

    def _first_of(self, point: StartingPoint) -> FirstStart:
        """The start of a job that has no checkpoint of its own."""
        given = point.checkpoint
        if given is None:
            return FirstStart(point, next_checkpoint=_after(point, self._store))
        retained: tuple[CompletedCheckpoint, ...] = ()
        borrowed: tuple[str, ...] = ()
        if self._claim_mode is RecoveryClaimMode.CLAIM:
            job = str(self._submission.job)
            claim_checkpoint(self._storage(given.location), given.location, job)
            retained = (given,)
        elif self._may_build_on(given):
            borrowed = tuple(file.path for file in files_of(given.metadata))
        return FirstStart(point, retained, _after(point, self._store), borrowed)

    def _claimed_before(self) -> tuple[CompletedCheckpoint, ...]:
        """What an earlier JobMaster of the job claimed, as long as it is there."""
        location = self._submission.restore_from
        if location is None or self._claim_mode is not RecoveryClaimMode.CLAIM:
            return ()
        storage = self._storage(location)
        if owner_of(storage, metadata_of(location)) != str(self._submission.job):
            return ()
        try:
            return (load_checkpoint(storage, location),)
        except DAMAGED as e:
            log.info("what was claimed is gone location=%s reason=%s", location, e)
            return ()

    def _may_build_on(self, checkpoint: CompletedCheckpoint) -> bool:
        """Whether checkpoints of this job may refer to files of ``checkpoint``.

        Nobody refers to files of a savepoint, and nobody finds files in two stores.
        """
        store = self._store
        if store is None or checkpoint.metadata.savepoint:
            return False
        if _is_own(store, checkpoint.location):
            return True
        same_store = _store_of(checkpoint.location) == _store_of(store.folder)
        return self._claim_mode is not RecoveryClaimMode.NO_CLAIM and same_store

    def _borrowed(
        self, store: CheckpointStore, retained: Sequence[CompletedCheckpoint]
    ) -> tuple[str, ...]:
        """Files that the job's own checkpoints refer to, and that are not its own."""
        files = (file.path for each in retained for file in files_of(each.metadata))
        return tuple(dict.fromkeys(path for path in files if not _is_own(store, path)))

    def _load(self, store: CheckpointStore, location: str) -> CompletedCheckpoint:
        if _is_own(store, location):
            checkpoint = store.load(location)
            store.verify(checkpoint.metadata)
        else:
            storage = self._storage(location)
            checkpoint = load_checkpoint(storage, location)
            verify_checkpoint(storage, checkpoint.metadata)
        return checkpoint

    def _from(
        self,
        checkpoint: CompletedCheckpoint,
        graphs: Sequence[JobGraph],
        skipped: Sequence[Skipped],
        leftovers: tuple[str, ...],
    ) -> StartingPoint:
        refused = None
        try:
            tasks = self._assigned(checkpoint, graphs[0])
        except RestoreRefused as e:
            if len(graphs) == 1:
                raise
            refused = str(e)
            tasks = self._assigned(checkpoint, graphs[1])
        remarks = tuple(
            Failure(
                "CheckpointSkipped",
                f"{each.reason} (the job goes on from checkpoint {checkpoint.id} instead)",
            )
            for each in skipped
        )
        return StartingPoint(tasks, checkpoint, remarks, leftovers, refused)

    def _assigned(
        self, checkpoint: CompletedCheckpoint, graph: JobGraph
    ) -> dict[SubtaskId, TaskRestore]:
        return assign(
            checkpoint.metadata,
            graph,
            allow_non_restored=self._submission.allow_non_restored,
            owned=self._may_build_on(checkpoint),
        )

    def _leftovers(self, store: CheckpointStore) -> tuple[str, ...]:
        try:
            return store.leftovers()
        except StorageError as e:
            log.warning("files that nobody needs may stay reason=%s", e)
            return ()


def _is_own(store: CheckpointStore, location: str) -> bool:
    return location.startswith(f"{store.folder}/")


def _store_of(location: str) -> str:
    """What tells the store of a location from others: its scheme and server; nothing for local paths."""
    scheme, found, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if found else ""


def _after(point: StartingPoint, store: CheckpointStore | None) -> int:
    """The next checkpoint's number.

    Above that of a checkpoint of another job that this one goes on from: committables are named by it,
    and those of the other job are still there.
    """
    restored = 0 if point.checkpoint is None else point.checkpoint.id
    return max(1 if store is None else store.next_checkpoint(), restored + 1)
