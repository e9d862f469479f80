"""The checkpoint coordinator's decision core: facts and the time come in, decisions go out.

No I/O, no threads, no clock. A checkpoint's way:

    enumerators of sources ready -> triggered -> every subtask acknowledged -> `_metadata` written -> complete
    any of these but the last -> given up

Files are deleted only by decision, and only when no checkpoint on its way or kept refers to them. After
the end of an attempt none of its checkpoints completes: the next attempt goes on from ``latest``, and
what begins from there must not be overtaken.

A savepoint goes the same way beside the checkpoints, and stands for itself: it begins when it is asked for,
whatever else is on its way, its files are its own, nobody goes on from it by himself, and neither its
success nor its failure says anything about the job's checkpoints. Tasks hear of its end only when the job
stops with it:

    asked to stop    no checkpoint begins any more
    complete         the tasks are told, and end; no attempt follows
    given up         the job goes on; if its streams were ended before, from its latest checkpoint
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from riverrun.checkpoint import coordinator_events as ev
from riverrun.checkpoint.attempt import Attempt
from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.failure import CheckpointFailure, FailureCount
from riverrun.checkpoint.pending import PendingCheckpoint
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.checkpoint.retention import Retention, survives
from riverrun.checkpoint.savepoints import Savepoints
from riverrun.checkpoint.schedule import Schedule
from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.checkpoint.shared_files import SharedFiles
from riverrun.checkpoint.statistics import CheckpointingStatistics, RestoredCheckpoint
from riverrun.checkpoint.statistics_tracker import StatisticsTracker
from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.protocol.barriers import BarrierMode, BarrierOptions, SavepointOrder


class CheckpointCoordinator:
    """Decides over the checkpoints of one job, in all its attempts.

    Args:
        settings: how checkpoints are taken.
        plan: the job's subtasks.
        shared: counts the files; empty.
        next_id: number of the first checkpoint; larger than any that was begun before.
        retained: complete checkpoints that belong to the job already.
        borrowed: files that checkpoints may refer to and that are not the job's to delete.
    """

    def __init__(
        self,
        settings: CheckpointSettings,
        plan: CheckpointPlan,
        shared: SharedFiles,
        next_id: int,
        retained: Sequence[CompletedCheckpoint] = (),
        borrowed: Sequence[str] = (),
    ) -> None:
        self._settings = settings
        self._plan = plan
        self._next_id = next_id
        self._retention = Retention(settings.retained, shared, retained, borrowed)
        self._attempt = Attempt(plan)
        self._schedule = Schedule(settings)
        self._failures = FailureCount(settings.tolerable_failures)
        self._statistics = StatisticsTracker()
        self._pending: dict[int, PendingCheckpoint] = {}
        self._abandoned: set[int] = set()
        """Given up while `_metadata` was being written: their files wait for the outcome."""
        self._requests: list[int] = []
        self._savepoints = Savepoints()
        self._decided: list[ev.CoordinatorDecision] = []

    @property
    def retained(self) -> tuple[CompletedCheckpoint, ...]:
        """The complete checkpoints that are kept, oldest first."""
        return self._retention.retained

    @property
    def latest(self) -> CompletedCheckpoint | None:
        """Where the next attempt goes on."""
        return self.retained[-1] if self.retained else None

    @property
    def next_id(self) -> int:
        """The number that the next checkpoint will have."""
        return self._next_id

    @property
    def is_writing(self) -> bool:
        """Whether the outcome of a WriteMetadata is awaited.

        Until it is known the store may show a checkpoint that is given up: wait with the next attempt
        and with the job's end.
        """
        return bool(self._abandoned) or any(
            each.is_being_written for each in self._pending.values()
        )

    @property
    def stopped_with(self) -> str | None:
        """`_metadata` of the savepoint that the job stopped with: no attempt may follow."""
        return self._savepoints.stopped_with

    @property
    def left_over_savepoints(self) -> tuple[str, ...]:
        """Folders of savepoints that were given up; once no task writes any more they can be cleared."""
        return self._savepoints.left_over

    @property
    def statistics(self) -> CheckpointingStatistics:
        """The figures now; an immutable object that other threads may read."""
        return self._statistics.snapshot()

    def deadline(self) -> float | None:
        """When TimePassed is due at the latest, in the time that ``handle`` is given."""
        timeout = self._settings.timeout_ms
        times = [pending.triggered_at + timeout for pending in self._pending.values()]
        if self._may_trigger():
            final = self._schedule.final_at if self._is_final_wanted() else None
            times += [at for at in (self._schedule.periodic_at, final) if at is not None]
        return min(times, default=None)

    def handle(self, event: ev.CoordinatorEvent, now: float) -> tuple[ev.CoordinatorDecision, ...]:
        """Take note of ``event`` at ``now`` (milliseconds since the epoch, never going back) and decide."""
        self._decided = []
        self._note(event, now)
        self._expire(now)
        self._maybe_trigger(now)
        return tuple(self._decided)

    def replan(self, plan: CheckpointPlan) -> None:
        """The next attempt runs another graph of the program; only between two attempts."""
        self._plan = plan
        self._attempt = Attempt(plan)

    def on_job_end(self, status: JobStatus) -> ev.DeleteFiles | None:
        """What to delete when the job has ended in ``status``; called once, when nothing is pending."""
        if survives(status, self._settings.retention):
            return None
        files = tuple(
            path
            for completed in self._retention.take_all()
            # A job that failed may never have begun: what it was given is left for the next try.
            if status is not JobStatus.FAILED or self._is_own(completed)
            for path in self._discard(completed).locations
        )
        return ev.DeleteFiles(files) if files else None

    def _is_own(self, completed: CompletedCheckpoint) -> bool:
        """Whether this job took the checkpoint, and did not claim it."""
        metadata = completed.metadata
        return metadata.job == self._plan.job and not metadata.savepoint

    def _note(self, event: ev.CoordinatorEvent, now: float) -> None:  # noqa: C901, PLR0912  (one case for each fact)
        match event:
            case ev.AttemptRestored():
                self._restored(event, now)
            case ev.AttemptRunning():
                if not self._attempt.active:
                    self._attempt.active = True
                    self._schedule.start(now)
            case ev.AttemptEnded(reason):
                self._end_attempt(reason, now)
            case ev.Acknowledged():
                self._acknowledge(event, now)
            case ev.Declined(task, checkpoint, reason):
                pending = self._pending.get(checkpoint)
                if pending is not None and pending.awaits(task):
                    why = f"subtask {task} declined: {reason}"
                    self._give_up(pending, CheckpointFailure.DECLINED, why, now)
            case ev.EnumeratorReady(task, checkpoint):
                pending = self._pending.get(checkpoint)
                if pending is not None:
                    self._decided += pending.enumerator_ready(task)
            case ev.SubtaskInputOver(task):
                if self._settings.after_finish and self._attempt.knows(task):
                    self._attempt.said_input_over(task)
            case ev.SubtaskFinished(task):
                self._finish(task, now)
            case ev.MetadataWritten():
                self._metadata_written(event, now)
            case ev.MetadataFailed():
                self._metadata_failed(event, now)
            case ev.CheckpointRequested(request):
                self._request(request)
            case ev.SavepointRequested(request, order):
                self._request_savepoint(request, order)
            case ev.TimePassed():
                pass
            case _:
                assert_never(event)

    def _restored(self, event: ev.AttemptRestored, now: float) -> None:
        self._statistics.restored(
            RestoredCheckpoint(event.checkpoint, int(now), event.location, event.savepoint)
        )
        self._savepoints.resumed(event.location)
        # What was prepared for a newer checkpoint is undone by going on from an older one.
        for newer in self._retention.take_newer(event.checkpoint, event.location):
            self._decided.append(self._discard(newer))

    def _end_attempt(self, reason: str, now: float) -> None:
        for pending in list(self._pending.values()):
            self._give_up(pending, CheckpointFailure.ATTEMPT_ENDED, reason, now)
        for request in (*self._requests, *self._savepoints.drop_wanted()):
            self._decided.append(ev.AnswerRequest(request, None, None, reason))
        self._requests = []
        self._attempt = Attempt(self._plan)
        self._schedule.stop()

    def _acknowledge(self, event: ev.Acknowledged, now: float) -> None:
        pending = self._pending.get(event.checkpoint)
        if pending is None or not pending.awaits(event.task):
            self._turn_down(event, pending)
            return
        # The files of a savepoint are in its own folder, and go with that.
        gone = [] if pending.savepoint else self._retention.hold(pending.id, event.snapshot)
        pending.acknowledge(event.task, event.snapshot)
        self._statistics.acknowledged(pending.id, event.task, event.times, now)
        if gone:
            # The subtask had not heard yet that a newer checkpoint completed.
            why = f"subtask {event.task} refers to {len(gone)} deleted files, such as {gone[0]!r}"
            self._give_up(pending, CheckpointFailure.OUTDATED_FILES, why, now)
        elif pending.is_acknowledged:
            pending.is_being_written = True
            metadata, order = pending.metadata(self._plan), pending.savepoint
            self._decided.append(
                ev.WriteMetadata(metadata)
                if order is None
                else ev.WriteMetadata(metadata, order.folder, order.stop)
            )

    def _turn_down(self, event: ev.Acknowledged, pending: PendingCheckpoint | None) -> None:
        """Nobody waits for this part: it was given up, or is a repetition."""
        if self._savepoints.knows(event.checkpoint):
            folder = self._savepoints.to_clear(event.checkpoint)
            if folder is not None and event.checkpoint not in self._abandoned:
                self._decided.append(ev.DiscardSavepoint(folder))
        elif pending is None or pending.savepoint is None:
            self._delete(self._retention.unwanted(event.checkpoint, event.snapshot))

    def _finish(self, task: SubtaskId, now: float) -> None:
        if not self._attempt.knows(task) or task in self._attempt.finished:
            return
        self._attempt.finish(task, self._retention.last_part(task.vertex.value, task.index))
        for pending in list(self._pending.values()):
            if pending.awaits(task):
                why = f"subtask {task} finished before it took part"
                self._give_up(pending, CheckpointFailure.SUBTASK_FINISHED, why, now)

    def _metadata_written(self, event: ev.MetadataWritten, now: float) -> None:
        pending = self._pending.get(event.checkpoint)
        if pending is not None and pending.is_being_written:
            self._complete(pending, event, now)
        elif event.checkpoint in self._abandoned:
            self._abandoned.discard(event.checkpoint)
            self._clear(event.checkpoint, (event.location,))

    def _metadata_failed(self, event: ev.MetadataFailed, now: float) -> None:
        doubtful = () if event.location is None else (event.location,)
        pending = self._pending.get(event.checkpoint)
        if pending is not None and pending.is_being_written:
            pending.is_being_written = False
            if pending.savepoint is None:
                self._delete(doubtful)
            self._give_up(pending, CheckpointFailure.METADATA, event.reason, now)
        elif event.checkpoint in self._abandoned:
            self._abandoned.discard(event.checkpoint)
            self._clear(event.checkpoint, doubtful)

    def _request(self, request: int) -> None:
        why = self._why_refused()
        if why is None:
            self._requests.append(request)
        else:
            self._decided.append(ev.AnswerRequest(request, None, None, why))

    def _request_savepoint(self, request: int, order: SavepointOrder) -> None:
        why = self._why_refused()
        if why is None:
            self._savepoints.want(request, order)
        else:
            self._decided.append(ev.AnswerRequest(request, None, None, why))

    def _why_refused(self) -> str | None:
        return self._savepoints.why_refused or self._why_none()

    def _why_none(self) -> str | None:
        return self._attempt.why_none(after_finish=self._settings.after_finish)

    def _complete(
        self, pending: PendingCheckpoint, written: ev.MetadataWritten, now: float
    ) -> None:
        del self._pending[pending.id]
        self._schedule.ended(now)
        self._statistics.completed(pending.id, written.location, written.size, now)
        if pending.savepoint is not None:
            self._complete_savepoint(pending, pending.savepoint, written, now)
            return
        completed = CompletedCheckpoint(
            pending.metadata(self._plan), written.location, written.size
        )
        self._failures.completed(pending.id)
        self._tell(ev.TellCompleted(pending.id, self._attempt.running))
        requests = pending.requests
        for older in [each for each in self._checkpoints() if each.id < pending.id]:
            requests += older.requests
            older.requests = []
            why = f"checkpoint {pending.id} completed first"
            self._give_up(older, CheckpointFailure.SUBSUMED, why, now)
        self._delete(self._retention.complete(completed))
        for excess in self._retention.take_excess():
            self._decided.append(self._discard(excess))
        for request in requests:
            self._decided.append(ev.AnswerRequest(request, pending.id, written.location, None))
        self._attempt.may_leave(pending.may_leave())

    def _complete_savepoint(
        self,
        pending: PendingCheckpoint,
        order: SavepointOrder,
        written: ev.MetadataWritten,
        now: float,
    ) -> None:
        self._savepoints.completed(pending.id, order, written.location)
        self._delete(self._retention.release(pending.id))
        if order.stop:
            # Others rely on checkpoints only: what their sinks prepared for a savepoint stays prepared.
            self._tell(ev.TellCompleted(pending.id, self._attempt.running))
            for each in self._checkpoints():
                self._give_up(each, CheckpointFailure.SUBSUMED, "the job has stopped", now)
        for request in pending.requests:
            self._decided.append(ev.AnswerRequest(request, pending.id, written.location, None))

    def _checkpoints(self) -> list[PendingCheckpoint]:
        """Those on their way that are not savepoints."""
        return [each for each in self._pending.values() if each.savepoint is None]

    def _give_up(
        self, pending: PendingCheckpoint, failure: CheckpointFailure, why: str, now: float
    ) -> None:
        del self._pending[pending.id]
        self._statistics.failed(pending.id, why, now)
        if failure is not CheckpointFailure.ATTEMPT_ENDED:
            self._tell(ev.TellAborted(pending.id, self._attempt.running, why))
        if pending.savepoint is not None:
            self._savepoints.gave_up(pending.id, pending.savepoint, again=failure.is_bad_luck)
        if pending.is_being_written:
            self._abandoned.add(pending.id)
        else:
            self._clear(pending.id)
        if failure.is_bad_luck:
            self._ask_again(pending)
        else:
            for request in pending.requests:
                self._decided.append(ev.AnswerRequest(request, None, None, why))
        if pending.savepoint is not None:
            self._after_lost_savepoint(pending.savepoint, failure, why, now)
            return
        if failure is CheckpointFailure.SUBTASK_FINISHED:
            self._schedule.hurry(now)
        if failure.counts:
            self._schedule.ended(now)
            self._schedule.failed(now)
            self._count(pending.id, why)

    def _ask_again(self, pending: PendingCheckpoint) -> None:
        if pending.savepoint is None:
            self._requests += pending.requests
        else:
            self._savepoints.want_again(pending.requests, pending.savepoint)

    def _after_lost_savepoint(
        self, order: SavepointOrder, failure: CheckpointFailure, why: str, now: float
    ) -> None:
        """A savepoint that fails is its own business, unless the job was to stop with it."""
        self._schedule.ended(now)
        harmless = failure.is_bad_luck or failure is CheckpointFailure.ATTEMPT_ENDED
        if order.stop and order.drain and not harmless:
            self._fail(
                f"the streams were ended for a savepoint that then failed ({why}); the job goes on from "
                f"its latest checkpoint"
            )

    def _clear(self, checkpoint: int, files: Sequence[str] = ()) -> None:
        """Delete what there is of a checkpoint that was given up, and ``files``."""
        free = self._retention.release(checkpoint)
        if self._savepoints.knows(checkpoint):
            folder = self._savepoints.to_clear(checkpoint)
            if folder is not None:
                self._decided.append(ev.DiscardSavepoint(folder))
            self._delete(free)
        else:
            self._delete((*files, *free))

    def _count(self, checkpoint: int, why: str) -> None:
        failures = self._failures.failed(checkpoint)
        if failures is not None:
            self._fail(
                f"{failures} checkpoints failed in a row, {self._settings.tolerable_failures} "
                f"are tolerated; the last was checkpoint {checkpoint}: {why}"
            )

    def _fail(self, why: str) -> None:
        if not self._attempt.failing:
            self._attempt.failing = True
            self._decided.append(ev.FailAttempt(why))

    def _expire(self, now: float) -> None:
        for pending in list(self._pending.values()):
            if now >= pending.triggered_at + self._settings.timeout_ms:
                why = pending.expired(self._settings.timeout_ms)
                self._give_up(pending, CheckpointFailure.EXPIRED, why, now)

    def _may_trigger(self) -> bool:
        return (
            self._why_refused() is None
            and len(self._pending) < self._settings.max_concurrent
            and not self._attempt.everybody_leaves
        )

    def _is_final_wanted(self) -> bool:
        """Whether nothing is left to do but one checkpoint, so that the subtasks can finish."""
        attempt = self._attempt
        return attempt.is_over and not attempt.somebody_leaves and not self._pending

    def _maybe_trigger(self, now: float) -> None:
        ready = self._why_none() is None and not self._attempt.everybody_leaves
        if self._savepoints.is_wanted and ready:
            for each in self._savepoints.take_wanted():
                self._trigger(now, [each.request], each.order)
        if not self._may_trigger():
            return
        final = self._schedule.final_at if self._is_final_wanted() else None
        times = [at for at in (self._schedule.periodic_at, final) if at is not None]
        if self._requests or any(now >= at for at in times):
            requests, self._requests = self._requests, []
            self._schedule.triggered(now)
            self._trigger(now, requests, None)

    def _trigger(self, now: float, requests: list[int], savepoint: SavepointOrder | None) -> None:
        running = self._attempt.running
        finished = self._attempt.finished_snapshots()
        pending = PendingCheckpoint(
            self._next_id, now, running, self._attempt.input_over, finished, savepoint
        )
        self._next_id += 1
        self._pending[pending.id] = pending
        self._retention.begin(pending.id)
        for snapshot in finished:
            self._retention.hold(pending.id, snapshot)
        pending.requests = requests
        self._statistics.triggered(
            pending.id,
            running,
            now,
            savepoint=savepoint is not None,
            synchronous=savepoint is not None and savepoint.stop,
        )
        barrier = self._settings.barrier
        if savepoint is not None:
            barrier = BarrierOptions(BarrierMode.ALIGNED, savepoint=savepoint)
        direct = barrier.mode is BarrierMode.UNALIGNED
        tasks = running if direct else self._plan.heads(running)
        trigger = ev.Trigger(pending.id, int(now), barrier, tasks)
        self._decided += pending.begin(trigger, self._plan.enumerators_among(running))

    def _tell(self, message: ev.TellCompleted | ev.TellAborted) -> None:
        if message.tasks:
            self._decided.append(message)

    def _delete(self, files: Sequence[str]) -> None:
        if files:
            self._decided.append(ev.DeleteFiles(tuple(files)))

    def _discard(self, completed: CompletedCheckpoint) -> ev.DeleteFiles:
        self._statistics.discarded(completed.id)
        return ev.DeleteFiles(self._retention.delete(completed))
