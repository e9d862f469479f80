"""The shell around the checkpoint coordinator: messages become facts, decisions become messages and files.

Everything here runs on the job's thread, except what ``statistics`` and ``IoThread`` say. The store is
only ever touched on the job's I/O thread, so that neither heartbeats nor a cancellation wait for it.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from itertools import count
from typing import Protocol, TypeAlias, assert_never

from riverrun.checkpoint import coordinator_events as ev
from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.coordinator import CheckpointCoordinator
from riverrun.checkpoint.layout import folder_of, metadata_location
from riverrun.checkpoint.owner import JobTakenOver
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.checkpoint.retention import survives
from riverrun.checkpoint.savepoint_store import write_savepoint
from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.checkpoint.shared_files import SharedFiles
from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.checkpoint.store import CheckpointStore
from riverrun.cluster.checkpoint_deletion import CheckpointDeletion
from riverrun.cluster.io_thread import IoThread
from riverrun.cluster.savepoint_wishes import SavepointWish
from riverrun.cluster.starting_point import FirstStart, StartingPoint
from riverrun.core import options
from riverrun.core.errors import CheckpointFailed, Failure
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.protocol.barriers import encode_options
from riverrun.protocol.control import (
    AboutCheckpoints,
    CheckpointAborted,
    CheckpointAcknowledged,
    CheckpointCompleted,
    CheckpointDeclined,
    Down,
    EnumeratorPrepared,
    InputOver,
    PrepareEnumerator,
    StatusChanged,
    TriggerCheckpoint,
)
from riverrun.storage.checkpoint_files import SavedCheckpointFiles
from riverrun.storage.storage import Storage, StorageError

log = logging.getLogger(__name__)


class Tasks(Protocol):
    """The tasks of the current attempt."""

    def tell(self, tasks: tuple[SubtaskId, ...], message: Down) -> None:
        """Send ``message`` to these, as far as they are connected."""

    def fail(self, failure: Failure) -> None:
        """End the attempt because of ``failure``."""


@dataclass(frozen=True, slots=True)
class _TakenOver:
    checkpoint: int
    failure: Failure


_Answer: TypeAlias = ev.CoordinatorEvent | _TakenOver


@dataclass(frozen=True, slots=True)
class StoreAnswered:
    """The store has done something: ``Checkpointing.take_answers`` is due."""


class Checkpointing:
    """The checkpoints of one job, over all its attempts.

    Args:
        submission: the job.
        store: holds its checkpoints, and is claimed; ``None`` for a job that takes none: it can
            have savepoints all the same.
        storage: from a location to the store that holds it.
        first: where it begins.
        io: does the reading and writing.
        now: the time that the coordinator is given.
        wake: brings a StoreAnswered to the job's thread; called on the I/O thread.
    """

    def __init__(  # noqa: PLR0913  (its parts, each by its name)
        self,
        submission: JobSubmission,
        store: CheckpointStore | None,
        first: FirstStart,
        *,
        storage: Callable[[str], Storage],
        io: IoThread,
        now: Callable[[], float],
        wake: Callable[[StoreAnswered], None],
    ) -> None:
        settings = CheckpointSettings.of(submission.config)
        self._submission = submission
        self._retention = settings.retention
        # A folder that an earlier run used may hold checkpoints of that run.
        self._owns_folder = submission.resume or not options.JOB_ID.is_set(submission.config)
        self._coordinator = CheckpointCoordinator(
            settings,
            self._plan_of(submission.graph),
            SharedFiles(),
            first.next_checkpoint,
            first.retained,
            first.borrowed,
        )
        self._store = store
        self._files = CheckpointDeletion(store, storage, first)
        self._storage = storage
        self._io = io
        self._now = now
        self._wake = wake
        self._lock = threading.Lock()
        self._tasks: Tasks | None = None
        self._answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        self._requests: dict[int, Future[str]] = {}
        self._numbers = count(1)

    def statistics(self) -> CheckpointingStatistics | None:
        """The figures now; ``None`` when the job takes no checkpoints. On any thread."""
        with self._lock:
            statistics = self._coordinator.statistics
        return None if self._store is None and not statistics.counts.total else statistics

    @property
    def retained(self) -> tuple[CompletedCheckpoint, ...]:
        """The checkpoints that the next attempt may start from, oldest first."""
        return self._coordinator.retained

    @property
    def stopped_with(self) -> str | None:
        """The savepoint that the job stopped with: no attempt may follow."""
        location = self._coordinator.stopped_with
        return None if location is None else folder_of(location)

    def replan(self, graph: JobGraph) -> None:
        """The attempt that is about to begin runs another graph of the program."""
        with self._lock:
            self._coordinator.replan(self._plan_of(graph))

    def begin(self, tasks: Tasks, start: StartingPoint) -> None:
        """An attempt begins."""
        self._tasks = tasks
        if start.checkpoint is not None:
            self._decide(
                ev.AttemptRestored(
                    start.checkpoint.id,
                    start.checkpoint.location,
                    start.checkpoint.metadata.savepoint,
                )
            )

    def running(self) -> None:
        """Every subtask of the attempt runs; said as often as one likes."""
        if self._tasks is not None:
            self._decide(ev.AttemptRunning())

    def ended(self, reason: str) -> None:
        """Nothing of the attempt counts any more; a second call changes nothing."""
        if self._tasks is not None:
            self._decide(ev.AttemptEnded(reason))
            self._tasks = None

    def heard(
        self,
        task: SubtaskId,
        message: AboutCheckpoints,
    ) -> None:
        """A subtask of the attempt said something; its acknowledgements count after the end, too.

        Then nobody needs what they name, and the coordinator has the files deleted.
        """
        match message:
            case CheckpointAcknowledged(checkpoint, snapshot, times):
                self._decide(ev.Acknowledged(task, checkpoint, snapshot, times))
            case _ if self._tasks is None:
                log.debug("too late task=%s message=%s", task, message)
            case CheckpointDeclined(checkpoint, reason):
                self._decide(ev.Declined(task, checkpoint, reason))
            case EnumeratorPrepared(checkpoint):
                self._decide(ev.EnumeratorReady(task, checkpoint))
            case InputOver():
                self._decide(ev.SubtaskInputOver(task))
            case StatusChanged(status):
                if status is TaskStatus.FINISHED:
                    self._decide(ev.SubtaskFinished(task))
            case _:
                assert_never(message)

    def request(self, wish: Future[str]) -> None:
        """Take a checkpoint now; ``wish`` gets its location, or CheckpointFailed."""
        number = next(self._numbers)
        self._requests[number] = wish
        self._decide(ev.CheckpointRequested(number))

    def request_savepoint(self, wish: SavepointWish) -> None:
        """Take a savepoint now; ``wish.taken`` gets its location, or CheckpointFailed."""
        folder = wish.order.folder
        if self._store is not None and folder.startswith(f"{self._store.folder}/"):
            why = "belongs to the job's own checkpoints and goes with them; choose another one"
            wish.taken.set_exception(CheckpointFailed(f"savepoint {folder!r}: its folder {why}"))
            return
        number = next(self._numbers)
        self._requests[number] = wish.taken
        self._decide(ev.SavepointRequested(number, wish.order))

    def deadline(self) -> float | None:
        """When ``look`` is due."""
        return self._coordinator.deadline()

    def look(self) -> None:
        """Do what is due now."""
        deadline = self._coordinator.deadline()
        if deadline is not None and self._now() >= deadline:
            self._decide(ev.TimePassed())

    def take_answers(self) -> None:
        """Take note of what the store has done."""
        while True:
            try:
                answer = self._answers.get_nowait()
            except queue.Empty:
                return
            if isinstance(answer, _TakenOver):
                self._taken_over(answer)
            else:
                self._decide(answer)

    def delete_later(self, locations: tuple[str, ...]) -> None:
        """Delete files when the store has nothing else to do."""
        if locations:
            self._io.run_later(lambda: self._files.delete(locations))

    def discard_later(self, folder: str) -> None:
        """Delete the folder of a savepoint that nobody needs when the store has nothing else to do."""
        self._io.run_later(lambda: self._files.discard_savepoint(folder))

    def end(self, status: JobStatus, patience_s: float) -> None:
        """The job is over: delete what must not stay.

        Waits up to ``patience_s`` for the store to finish what it writes. What is to be deleted then is
        the I/O thread's last work.
        """
        self.ended(f"the job is {status.value}")
        self._io.wait(patience_s)
        self.take_answers()
        unneeded = self._coordinator.on_job_end(status)
        if unneeded is not None:
            self.delete_later(unneeded.locations)
        for folder in self._coordinator.left_over_savepoints:
            self.discard_later(folder)
        if status is not JobStatus.SUSPENDED:
            self._io.run_later(self._files.release_claim)
        if survives(status, self._retention) or not self._owns_folder:
            self._io.run_later(self._files.sweep)
        else:
            self._io.run_later(self._files.delete_all)

    def _decide(self, event: ev.CoordinatorEvent) -> None:
        with self._lock:
            decisions = self._coordinator.handle(event, self._now())
        for decision in decisions:
            self._carry_out(decision)

    def _carry_out(self, decision: ev.CoordinatorDecision) -> None:  # noqa: C901  (one case for each decision)
        match decision:
            case ev.Trigger(checkpoint, timestamp, options, tasks):
                log.debug("checkpoint triggered checkpoint=%d tasks=%d", checkpoint, len(tasks))
                self._tell(tasks, TriggerCheckpoint(checkpoint, timestamp, encode_options(options)))
            case ev.PrepareEnumerators(checkpoint, tasks):
                self._tell(tasks, PrepareEnumerator(checkpoint))
            case ev.WriteMetadata():
                self._io.run(lambda: self._write(decision))
            case ev.DiscardSavepoint(folder):
                self.discard_later(folder)
            case ev.TellCompleted(checkpoint, tasks):
                log.debug("checkpoint complete checkpoint=%d", checkpoint)
                self._tell(tasks, CheckpointCompleted(checkpoint))
            case ev.TellAborted(checkpoint, tasks, reason):
                log.warning("checkpoint given up checkpoint=%d reason=%s", checkpoint, reason)
                self._tell(tasks, CheckpointAborted(checkpoint))
            case ev.DeleteFiles(locations):
                self.delete_later(locations)
            case ev.FailAttempt(reason):
                if self._tasks is not None:
                    self._tasks.fail(Failure("CheckpointFailed", reason))
            case ev.AnswerRequest():
                self._answer(decision)
            case _:
                assert_never(decision)

    def _taken_over(self, answer: _TakenOver) -> None:
        # First: that the checkpoint failed is only what follows from it.
        if self._tasks is not None:
            self._tasks.fail(answer.failure)
        self._decide(ev.MetadataFailed(answer.checkpoint, answer.failure.message))

    def _tell(self, tasks: tuple[SubtaskId, ...], message: Down) -> None:
        if self._tasks is not None:
            self._tasks.tell(tasks, message)

    def _answer(self, answer: ev.AnswerRequest) -> None:
        wish = self._requests.pop(answer.request)
        if answer.location is not None:
            wish.set_result(folder_of(answer.location))
        else:
            wish.set_exception(CheckpointFailed(f"no checkpoint or savepoint: {answer.reason}"))

    def _write(self, decision: ev.WriteMetadata) -> None:
        """On the I/O thread."""
        checkpoint = decision.metadata.checkpoint
        answer: _Answer
        try:
            location, size = self._written(decision)
            answer = ev.MetadataWritten(checkpoint, location, size)
        except JobTakenOver as e:
            answer = _TakenOver(checkpoint, replace(failure_of(e), retryable=False))
        except StorageError as e:
            log.warning("checkpoint not written checkpoint=%d reason=%s", checkpoint, e)
            # The store may have done it all the same.
            doubtful = None
            if self._store is not None and decision.folder is None:
                doubtful = metadata_location(self._store.folder, checkpoint)
            answer = ev.MetadataFailed(checkpoint, str(e), doubtful)
        self._answers.put(answer)
        self._wake(StoreAnswered())

    def _written(self, decision: ev.WriteMetadata) -> tuple[str, int]:
        if decision.folder is None:
            assert self._store is not None  # noqa: S101  (checkpoints are taken by jobs that have one)
            return self._store.write(decision.metadata)
        if self._store is not None:
            self._store.check_owner()
        written = write_savepoint(
            self._storage(decision.folder),
            decision.folder,
            decision.metadata,
            lambda file: SavedCheckpointFiles(self._storage(file.path)).read(file),
        )
        if self._store is not None and decision.stops:
            self._store.mark_stopped(decision.folder, decision.metadata.checkpoint)
        return written

    def _plan_of(self, graph: JobGraph) -> CheckpointPlan:
        submission = self._submission
        return CheckpointPlan.of(
            graph, str(submission.job), submission.name, riverrun_version=_version()
        )


@cache
def _version() -> str:
    try:
        return metadata.version("riverrun")
    except metadata.PackageNotFoundError:  # run from a source tree
        return ""
