"""The decision core of one attempt: facts and the time come in, decisions go out.

No I/O, no threads, no clock. Each call first takes note of the fact, then looks at everything known
and moves as far as it can: the order in which facts arrive decides as little as possible.

    INITIALIZING -> CREATED      the engine is told to run the tasks
    CREATED -> RUNNING           every subtask registered
    RUNNING -> FINISHED          engine succeeded, every subtask reported FINISHED, client took everything
    any -> CANCELLING -> CANCELED           cancelled by the client, or stopped for another attempt
    any -> FAILING -> FAILED     the cause is settled first, then tasks and engine are stopped

FINISHED, CANCELED and FAILED are reached only after the engine has ended and connections are closed.
What follows from the attempt's end for the job is ``job_state``'s to decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import assert_never

from riverrun.cluster.job_master import events as ev
from riverrun.cluster.job_master import root_cause
from riverrun.cluster.job_master.decisions import (
    CancelEngine,
    CancelTasks,
    Decision,
    Disconnect,
    DrainDelivery,
    DropDelivery,
    Finish,
    StartTasks,
)
from riverrun.cluster.job_master.root_cause import WEIGHT_OF, RootCause, Weight
from riverrun.cluster.job_master.tasks import Contact, TaskKey, TaskRecord, TaskTable
from riverrun.cluster.job_master.timing import Timing
from riverrun.core.errors import Failure, IllegalTransition
from riverrun.core.ids import Millis
from riverrun.core.lifecycle import JOB_MOVES, JobStatus, Life, TaskStatus


class _Alarm(Enum):
    """What a deadline is for."""

    REGISTRATION = auto()
    CAUSE = auto()
    ENGINE_CANCEL = auto()
    STRAGGLERS = auto()
    DRAIN = auto()


class _Engine(Enum):
    RUNS = auto()
    TOLD_TO_END = auto()
    SUCCEEDED = auto()
    FAILED = auto()


class _Delivery(Enum):
    OPEN = auto()
    DRAINING = auto()
    CLOSED = auto()


class AttemptState:
    """One attempt's life, from its start to its end; without restarts it is the job's."""

    def __init__(self, job_name: str, tasks: Iterable[TaskRecord], timing: Timing) -> None:
        self.tasks = TaskTable(tasks)
        self._life = Life(f"job {job_name!r}", JobStatus.INITIALIZING, JOB_MOVES)
        self._timing = timing
        self._cause = RootCause()
        self._engine = _Engine.RUNS
        self._delivery = _Delivery.OPEN
        self._stopping = False
        self._stop_reason = ""
        self._started = False
        self._alarms: dict[_Alarm, float] = {}
        self._rung: set[_Alarm] = set()
        self._decided: list[Decision] = []

    @property
    def status(self) -> JobStatus:
        """Where the attempt stands."""
        return self._life.state

    @property
    def story(self) -> tuple[JobStatus, ...]:
        """Every state so far."""
        return self._life.story

    @property
    def failure(self) -> Failure | None:
        """The cause of the failure, once it is settled."""
        return self._cause.settled

    def deadline(self) -> float | None:
        """When TimePassed is due at the latest, in the time that ``handle`` is given."""
        return min(self._alarms.values(), default=None)

    def refusal(self, key: TaskKey, task: str, subtask: int) -> str | None:
        """Why this task may not register now; ``None`` when it may."""
        record = self.tasks.get(key)
        if record is None or (record.task, record.index) != (task, subtask):
            return f"the job has no task {task!r} subtask {subtask} at {key}"
        if self.status is not JobStatus.CREATED:
            return f"the job is {self.status.value}"
        if record.contact is not Contact.AWAITED:
            return f"{record.describe()} is registered already, as {record.process()}"
        return None

    def handle(self, event: ev.Event, now: float) -> tuple[Decision, ...]:
        """Take note of ``event`` at ``now`` (milliseconds since the epoch, never going back) and decide."""
        if self.status.is_terminal_state():
            return ()
        self._decided = []
        self._ring(now)
        self._note(event, now)
        self._move_on(now)
        return tuple(self._decided)

    def _note(self, event: ev.Event, now: float) -> None:  # noqa: C901, PLR0912  (one case for each fact)
        match event:
            case ev.JobStarted():
                self._start(now)
            case ev.TaskRegistered(task, placement):
                self.tasks[task].register(placement, _millis(now))
            case ev.TaskStatusReported(task, status):
                self._report(self.tasks[task], status, now)
            case ev.TaskFailureReported(task, failure, origin):
                self._report(self.tasks[task], TaskStatus.FAILED, now, failure)
                self._suspect(failure, WEIGHT_OF[origin], now)
            case ev.TaskEndReported(task, outcome):
                self._task_ended(self.tasks[task], outcome, now)
            case ev.ConnectionLost(task):
                self._connection_lost(self.tasks[task], now)
            case ev.HeartbeatMissed(task, silent_ms):
                self._heartbeat_missed(self.tasks[task], silent_ms, now)
            case ev.EngineEnded(failure):
                self._engine_ended(failure, now)
            case ev.CancelRequested():
                self._cancel()
            case ev.StopRequested(reason):
                self._stop(reason)
            case ev.DeliveryFailed(failure):
                self._delivery = _Delivery.CLOSED
                self._suspect(failure, Weight.CAUSE, now)
            case ev.CheckpointsFailed(failure):
                self._suspect(failure, Weight.CAUSE, now)
            case ev.DeliveryDrained():
                if self._delivery is _Delivery.DRAINING:
                    self._delivery = _Delivery.CLOSED
            case ev.TimePassed():
                pass
            case _:
                assert_never(event)

    def _start(self, now: float) -> None:
        if self.status is not JobStatus.INITIALIZING:
            return
        self._life.go(JobStatus.CREATED)
        for task in self.tasks:
            task.deploy(_millis(now))
        self._arm(_Alarm.REGISTRATION, now + self._timing.registration_timeout_ms)

    def _report(
        self, task: TaskRecord, status: TaskStatus, now: float, failure: Failure | None = None
    ) -> None:
        try:
            task.report(status, _millis(now), failure)
        except IllegalTransition as e:
            broken = root_cause.broken_law(task, f"reported a move that there is not: {e}")
            self._suspect(broken, Weight.DISAPPEARANCE, now)

    def _task_ended(self, task: TaskRecord, outcome: TaskStatus, now: float) -> None:
        task.said_goodbye = True
        self._report(task, outcome, now)
        if outcome is not TaskStatus.FINISHED:
            failure = root_cause.broken_law(task, f"ended in {outcome.value} without saying why")
            self._suspect(failure, Weight.CONSEQUENCE, now)

    def _connection_lost(self, task: TaskRecord, now: float) -> None:
        if task.contact is not Contact.CONNECTED:
            return
        task.contact = Contact.GONE
        if not task.said_goodbye:
            self._suspect(root_cause.worker_lost(task), Weight.DISAPPEARANCE, now)
            self._write_off(task, now)

    def _heartbeat_missed(self, task: TaskRecord, silent_ms: float, now: float) -> None:
        if task.contact is not Contact.CONNECTED:
            return
        task.contact = Contact.GONE
        self._decided.append(Disconnect(task.key))
        if not task.said_goodbye:
            self._suspect(root_cause.worker_silent(task, silent_ms), Weight.DISAPPEARANCE, now)
            self._write_off(task, now)

    def _write_off(self, task: TaskRecord, now: float) -> None:
        """End the life of a task that cannot end it itself."""
        cancelling = self.status is JobStatus.CANCELLING
        task.report(TaskStatus.CANCELED if cancelling else TaskStatus.FAILED, _millis(now))

    def _engine_ended(self, failure: Failure | None, now: float) -> None:
        if self._engine_is_gone():
            return
        self._engine = _Engine.SUCCEEDED if failure is None else _Engine.FAILED
        self._disarm(_Alarm.ENGINE_CANCEL)
        # Last words decide over success; of a job that is being stopped nobody needs them.
        stopping = self._must_stop() or failure is not None
        grace = self._timing.cancel_grace_ms if stopping else self._timing.stragglers_grace_ms
        self._arm(_Alarm.STRAGGLERS, now + grace)
        if failure is not None and self.status is not JobStatus.CANCELLING:
            self._cause.engine_failed(failure)
            self._fail(now)

    def _cancel(self) -> None:
        # A job that fails already goes on failing: its cause is worth more than a CANCELED.
        if self.status is JobStatus.FAILING:
            return
        self._stop("the job was cancelled")
        if self._delivery is not _Delivery.CLOSED:
            self._delivery = _Delivery.CLOSED
            self._decided.append(DropDelivery())

    def _stop(self, reason: str) -> None:
        if self.status in (JobStatus.CANCELLING, JobStatus.FAILING):
            return
        self._life.go(JobStatus.CANCELLING)
        self._stop_reason = reason
        self._disarm(_Alarm.REGISTRATION)

    def _suspect(self, failure: Failure, weight: Weight, now: float) -> None:
        """Fail the job, unless it is ending anyway: tasks that are being stopped die in many ways."""
        if self.status is JobStatus.CANCELLING or self._cause.settled is not None:
            return
        self._cause.suspect(failure, weight)
        self._fail(now)

    def _fail(self, now: float) -> None:
        if self.status is JobStatus.FAILING:
            return
        self._life.go(JobStatus.FAILING)
        self._disarm(_Alarm.REGISTRATION)
        self._arm(_Alarm.CAUSE, now + self._timing.failure_grace_ms)

    def _move_on(self, now: float) -> None:
        """Go as far as what is known allows."""
        self._maybe_run()
        self._maybe_miss_tasks(now)
        self._maybe_settle()
        self._maybe_stop(now)
        self._maybe_drain(now)
        self._maybe_finish(now)

    def _maybe_run(self) -> None:
        if self.status is JobStatus.CREATED and not self.tasks.awaited():
            self._life.go(JobStatus.RUNNING)
            self._disarm(_Alarm.REGISTRATION)
        # A task that cannot open or restore fails the job before the first record.
        if self.status is JobStatus.RUNNING and not self._started and self.tasks.all_opened():
            self._started = True
            self._decided.append(StartTasks())

    def _maybe_miss_tasks(self, now: float) -> None:
        """Fail a job whose tasks did not all come up, or did not all end with the engine."""
        if _Alarm.REGISTRATION in self._rung:
            waited = self._timing.registration_timeout_ms
            missing = self.tasks.awaited()
            self._suspect(
                root_cause.not_registered(missing, len(self.tasks), waited), Weight.CAUSE, now
            )
        unfinished = self._engine is _Engine.SUCCEEDED and self.tasks.not_finished()
        if unfinished and _Alarm.STRAGGLERS in self._rung:
            self._suspect(root_cause.never_ended(unfinished), Weight.DISAPPEARANCE, now)

    def _maybe_settle(self) -> None:
        if self.status is not JobStatus.FAILING or self._cause.settled is not None:
            return
        nothing_can_follow = self._engine_is_gone() and not self.tasks.connected()
        if self._cause.is_known or nothing_can_follow or _Alarm.CAUSE in self._rung:
            self._cause.settle()
            self._disarm(_Alarm.CAUSE)

    def _maybe_stop(self, now: float) -> None:
        """Ask the tasks to leave, and end the engine when they did, cannot be asked, or take long."""
        if not self._must_stop() or self._engine_is_gone():
            return
        if not self._stopping:
            self._stopping = True
            self._arm(_Alarm.ENGINE_CANCEL, now + self._timing.cancel_grace_ms)
            if any(not task.is_over for task in self.tasks.connected()):
                self._decided.append(CancelTasks(self._why()))
        no_use_waiting = bool(self.tasks.awaited()) or all(task.is_over for task in self.tasks)
        first = self._engine is _Engine.RUNS and no_use_waiting
        if first or _Alarm.ENGINE_CANCEL in self._rung:
            self._engine = _Engine.TOLD_TO_END
            self._arm(_Alarm.ENGINE_CANCEL, now + self._timing.cancel_retry_ms)
            self._decided.append(CancelEngine())

    def _maybe_drain(self, now: float) -> None:
        """Let the client take the rest: all of it after success, what it can in time after a failure."""
        if self._delivery is _Delivery.OPEN and self._is_done_working():
            self._delivery = _Delivery.DRAINING
            self._decided.append(DrainDelivery())
        if self._delivery is _Delivery.DRAINING and self.status is JobStatus.FAILING:
            if _Alarm.DRAIN in self._rung:
                self._delivery = _Delivery.CLOSED
                self._decided.append(DropDelivery())
            elif _Alarm.DRAIN not in self._alarms:
                self._arm(_Alarm.DRAIN, now + self._timing.drain_grace_ms)

    def _maybe_finish(self, now: float) -> None:
        if not self._is_done_working() or self._delivery is not _Delivery.CLOSED:
            return
        if self.tasks.connected() and _Alarm.STRAGGLERS not in self._rung:
            return
        ends = {
            JobStatus.RUNNING: JobStatus.FINISHED,
            JobStatus.CANCELLING: JobStatus.CANCELED,
            JobStatus.FAILING: JobStatus.FAILED,
        }
        for task in self.tasks:
            self._write_off(task, now)
        self._life.go(ends[self.status])
        self._alarms.clear()
        self._decided.append(Finish(self.status, self._cause.settled))

    def _is_done_working(self) -> bool:
        if not self._engine_is_gone():
            return False
        if self.status is JobStatus.RUNNING:
            return self._engine is _Engine.SUCCEEDED and not self.tasks.not_finished()
        return self._must_stop()

    def _must_stop(self) -> bool:
        failed = self.status is JobStatus.FAILING and self._cause.settled is not None
        return failed or self.status is JobStatus.CANCELLING

    def _engine_is_gone(self) -> bool:
        return self._engine in (_Engine.SUCCEEDED, _Engine.FAILED)

    def _arm(self, alarm: _Alarm, at: float) -> None:
        self._rung.discard(alarm)
        self._alarms[alarm] = at

    def _disarm(self, alarm: _Alarm) -> None:
        self._rung.discard(alarm)
        self._alarms.pop(alarm, None)

    def _ring(self, now: float) -> None:
        """Move what is due out of the deadlines: a due alarm that waits for a fact must not spin."""
        due = {alarm for alarm, at in self._alarms.items() if now >= at}
        self._rung |= due
        for alarm in due:
            del self._alarms[alarm]

    def _why(self) -> str:
        failure = self._cause.settled
        return f"the job failed: {failure.headline()}" if failure else self._stop_reason


def _millis(now: float) -> Millis:
    return Millis(int(now))
