"""The checkpoint coordinator's decision core: facts and the time come in, decisions go out.

No I/O, no threads, no clock. A checkpoint's way:

    triggered -> every subtask acknowledged -> `_metadata` written -> complete
    any of these but the last -> given up

Files are deleted only by decision, and only when no checkpoint on its way or kept refers to them. After
the end of an attempt none of its checkpoints completes: the next attempt goes on from ``latest``, and
what begins from there must not be overtaken.
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
from riverrun.checkpoint.schedule import Schedule
from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.checkpoint.shared_files import SharedFiles
from riverrun.checkpoint.statistics import CheckpointingStatistics, RestoredCheckpoint
from riverrun.checkpoint.statistics_tracker import StatisticsTracker
from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.protocol.barriers import BarrierMode


class CheckpointCoordinator:
    """Decides over the checkpoints of one job, in all its attempts.

    Args:
        settings: how checkpoints are taken.
        plan: the job's subtasks.
        shared: counts the files; empty.
        next_id: number of the first checkpoint; larger than any that was begun before.
        retained: complete checkpoints that belong to the job already.
    """

    def __init__(
        self,
        settings: CheckpointSettings,
        plan: CheckpointPlan,
        shared: SharedFiles,
        next_id: int,
        retained: Sequence[CompletedCheckpoint] = (),
    ) -> None:
        self._settings = settings
        self._plan = plan
        self._next_id = next_id
        self._retention = Retention(settings.retained, shared, retained)
        self._attempt = Attempt(plan)
        self._schedule = Schedule(settings)
        self._failures = FailureCount(settings.tolerable_failures)
        self._statistics = StatisticsTracker()
        self._pending: dict[int, PendingCheckpoint] = {}
        self._abandoned: set[int] = set()
        """Given up while `_metadata` was being written: their files wait for the outcome."""
        self._requests: list[int] = []
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

    def on_job_end(self, status: JobStatus) -> ev.DeleteFiles | None:
        """What to delete when the job has ended in ``status``; called once, when nothing is pending."""
        if survives(status, self._settings.retention):
            return None
        files = tuple(
            path
            for completed in self._retention.take_all()
            for path in self._discard(completed).locations
        )
        return ev.DeleteFiles(files) if files else None

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
            case ev.TimePassed():
                pass
            case _:
                assert_never(event)

    def _restored(self, event: ev.AttemptRestored, now: float) -> None:
        self._statistics.restored(
            RestoredCheckpoint(event.checkpoint, int(now), event.location, event.savepoint)
        )
        # What was prepared for a newer checkpoint is undone by going on from an older one.
        for newer in self._retention.take_newer(event.checkpoint, event.location):
            self._decided.append(self._discard(newer))

    def _end_attempt(self, reason: str, now: float) -> None:
        for pending in list(self._pending.values()):
            self._give_up(pending, CheckpointFailure.ATTEMPT_ENDED, reason, now)
        for request in self._requests:
            self._decided.append(ev.AnswerRequest(request, None, None, reason))
        self._requests = []
        self._attempt = Attempt(self._plan)
        self._schedule.stop()

    def _acknowledge(self, event: ev.Acknowledged, now: float) -> None:
        pending = self._pending.get(event.checkpoint)
        if pending is None or not pending.awaits(event.task):
            self._delete(self._retention.unwanted(event.checkpoint, event.snapshot))
            return
        gone = self._retention.hold(pending.id, event.snapshot)
        pending.acknowledge(event.task, event.snapshot)
        self._statistics.acknowledged(pending.id, event.task, event.times, now)
        if gone:
            # The subtask had not heard yet that a newer checkpoint completed.
            why = f"subtask {event.task} refers to {len(gone)} deleted files, such as {gone[0]!r}"
            self._give_up(pending, CheckpointFailure.OUTDATED_FILES, why, now)
        elif pending.is_acknowledged:
            pending.is_being_written = True
            self._decided.append(ev.WriteMetadata(pending.metadata(self._plan)))

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
            self._delete((event.location, *self._retention.release(event.checkpoint)))

    def _metadata_failed(self, event: ev.MetadataFailed, now: float) -> None:
        doubtful = () if event.location is None else (event.location,)
        pending = self._pending.get(event.checkpoint)
        if pending is not None and pending.is_being_written:
            pending.is_being_written = False
            self._delete(doubtful)
            self._give_up(pending, CheckpointFailure.METADATA, event.reason, now)
        elif event.checkpoint in self._abandoned:
            self._abandoned.discard(event.checkpoint)
            self._delete((*doubtful, *self._retention.release(event.checkpoint)))

    def _request(self, request: int) -> None:
        why = self._why_none()
        if why is None:
            self._requests.append(request)
        else:
            self._decided.append(ev.AnswerRequest(request, None, None, why))

    def _why_none(self) -> str | None:
        if not self._attempt.active or self._attempt.failing:
            return "the job does not run at present"
        if not self._attempt.running:
            return "every subtask has finished"
        if self._attempt.finished and not self._settings.after_finish:
            return "some subtasks have finished, and checkpoints after that are turned off"
        return None

    def _complete(
        self, pending: PendingCheckpoint, written: ev.MetadataWritten, now: float
    ) -> None:
        del self._pending[pending.id]
        completed = CompletedCheckpoint(
            pending.metadata(self._plan), written.location, written.size
        )
        self._failures.completed(pending.id)
        self._schedule.ended(now)
        self._statistics.completed(pending.id, written.location, written.size, now)
        self._tell(ev.TellCompleted(pending.id, self._attempt.running))
        requests = pending.requests
        for older in [each for each in self._pending.values() if each.id < pending.id]:
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

    def _give_up(
        self, pending: PendingCheckpoint, failure: CheckpointFailure, why: str, now: float
    ) -> None:
        del self._pending[pending.id]
        self._statistics.failed(pending.id, why, now)
        if failure is not CheckpointFailure.ATTEMPT_ENDED:
            self._tell(ev.TellAborted(pending.id, self._attempt.running, why))
        if pending.is_being_written:
            self._abandoned.add(pending.id)
        else:
            self._delete(self._retention.release(pending.id))
        if failure is CheckpointFailure.SUBTASK_FINISHED:
            self._schedule.hurry(now)
        if failure.is_bad_luck:
            self._requests += pending.requests
        else:
            for request in pending.requests:
                self._decided.append(ev.AnswerRequest(request, None, None, why))
        if failure.counts:
            self._schedule.ended(now)
            self._schedule.failed(now)
            self._count(pending.id, why)

    def _count(self, checkpoint: int, why: str) -> None:
        failures = self._failures.failed(checkpoint)
        if failures is not None and not self._attempt.failing:
            self._attempt.failing = True
            self._decided.append(
                ev.FailAttempt(
                    f"{failures} checkpoints failed in a row, {self._settings.tolerable_failures} "
                    f"are tolerated; the last was checkpoint {checkpoint}: {why}"
                )
            )

    def _expire(self, now: float) -> None:
        for pending in list(self._pending.values()):
            if now >= pending.triggered_at + self._settings.timeout_ms:
                why = pending.expired(self._settings.timeout_ms)
                self._give_up(pending, CheckpointFailure.EXPIRED, why, now)

    def _may_trigger(self) -> bool:
        return (
            self._why_none() is None
            and len(self._pending) < self._settings.max_concurrent
            and not self._attempt.everybody_leaves
        )

    def _is_final_wanted(self) -> bool:
        """Whether nothing is left to do but one checkpoint, so that the subtasks can finish."""
        attempt = self._attempt
        return attempt.is_over and not attempt.somebody_leaves and not self._pending

    def _maybe_trigger(self, now: float) -> None:
        if not self._may_trigger():
            return
        final = self._schedule.final_at if self._is_final_wanted() else None
        times = [at for at in (self._schedule.periodic_at, final) if at is not None]
        if self._requests or any(now >= at for at in times):
            self._trigger(now)

    def _trigger(self, now: float) -> None:
        running = self._attempt.running
        finished = self._attempt.finished_snapshots()
        pending = PendingCheckpoint(self._next_id, now, running, self._attempt.input_over, finished)
        self._next_id += 1
        self._pending[pending.id] = pending
        self._retention.begin(pending.id)
        for snapshot in finished:
            self._retention.hold(pending.id, snapshot)
        pending.requests, self._requests = self._requests, []
        self._schedule.triggered(now)
        self._statistics.triggered(pending.id, running, now)
        barrier = self._settings.barrier
        direct = barrier.mode is BarrierMode.UNALIGNED
        tasks = running if direct else self._plan.heads(running)
        self._decided.append(ev.Trigger(pending.id, int(now), barrier, tasks))

    def _tell(self, message: ev.TellCompleted | ev.TellAborted) -> None:
        if message.tasks:
            self._decided.append(message)

    def _delete(self, files: Sequence[str]) -> None:
        if files:
            self._decided.append(ev.DeleteFiles(tuple(files)))

    def _discard(self, completed: CompletedCheckpoint) -> ev.DeleteFiles:
        self._statistics.discarded(completed.id)
        return ev.DeleteFiles(self._retention.delete(completed))
