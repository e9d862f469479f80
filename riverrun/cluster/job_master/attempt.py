"""One attempt of a job: the shell around its decision core.

Facts come from the control server's thread, the engine's and the client delivery's; all of them only
post a note. The job's thread brings the notes back with ``take``, which feeds the core and carries out
its decisions. Everything else here runs on the job's thread too, unless it says otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, assert_never

from riverrun.cluster.delivery import ClientDelivery
from riverrun.cluster.engine import ControlAccess, Engine
from riverrun.cluster.heartbeats import HeartbeatWatch
from riverrun.cluster.inquiries import Inquiries, TaskGone
from riverrun.cluster.job_master import events as ev
from riverrun.cluster.job_master.attempt_state import AttemptState
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
from riverrun.cluster.job_master.job_time import JobTime
from riverrun.cluster.job_master.reports import TaskReports
from riverrun.cluster.job_master.tasks import TaskKey, TaskRecord, next_to, task_records
from riverrun.cluster.job_master.timing import Timing
from riverrun.cluster.links import TaskLink, TaskServer
from riverrun.cluster.send_limits import SendLimits
from riverrun.cluster.split_messages import passed_on
from riverrun.cluster.watermark_alignment import WatermarkAlignmentCoordinator
from riverrun.core.errors import Failure, InternalError
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import Attempt, JobId, SubtaskId
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.graph.deployment import Deployment
from riverrun.graph.execution_graph import ExecutionGraph, Placement
from riverrun.protocol.auth import new_secret
from riverrun.protocol.control import (
    AboutCheckpoints,
    Accumulators,
    Cancel,
    CheckpointAcknowledged,
    CheckpointDeclined,
    ClientRun,
    Down,
    EnumeratorPrepared,
    Heartbeat,
    InputOver,
    Metrics,
    RecordsAllowed,
    Register,
    Registered,
    Rejected,
    Start,
    StatusChanged,
    TaskEnded,
    TaskFailed,
    ToEnumerator,
    ToReader,
    Up,
    WatermarkReported,
)
from riverrun.protocol.inquiries import Answer, InquiryAnswer, Question

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Opened:
    link: TaskLink
    register: Register


@dataclass(frozen=True, slots=True)
class _Received:
    link: TaskLink
    message: Up


@dataclass(frozen=True, slots=True)
class _Closed:
    link: TaskLink
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class AttemptNote:
    """Something that happened to an attempt; ``take`` understands ``what``."""

    attempt: JobAttempt
    what: ev.Event | _Opened | _Received | _Closed


class AttemptOwner(Protocol):
    """The job, as its attempt sees it. Called on the job's thread, in the middle of ``take``."""

    def attempt_moved(self, status: JobStatus) -> None:
        """The attempt is in another state, not yet an end."""

    def cause_settled(self, failure: Failure) -> None:
        """The attempt fails because of this."""

    def values_due(self, status: JobStatus) -> None:
        """No more values come for the client; DeliveryDrained is awaited."""

    def heard(self, task: SubtaskId, message: AboutCheckpoints) -> None:
        """A task said something about checkpoints."""

    def attempt_over(self, status: JobStatus, failure: Failure | None) -> None:
        """Nothing of the attempt is left."""


@dataclass(frozen=True, slots=True)
class AttemptPlan:
    """What distinguishes an attempt from the others of its job."""

    number: Attempt
    layers: Sequence[Sequence[Deployment]]
    """What the engine runs, by layer and partition."""
    engine: Engine
    """Used for this attempt only."""


@dataclass(frozen=True, slots=True)
class JobResources:
    """What all attempts of a job share."""

    job: JobId
    name: str
    execution: ExecutionGraph
    server: TaskServer
    delivery: ClientDelivery
    window_bytes: int
    timing: Timing
    time: JobTime
    post: Callable[[AttemptNote], None]
    """Puts a note into the job's mailbox; called from any thread."""


@dataclass(slots=True)
class _Member:
    """A registered task."""

    record: TaskRecord
    link: TaskLink
    shared: str | None
    """Token of the folder it shares with others on its machine."""


class JobAttempt:
    """A ``JobGateway`` for the control server, and an attempt for the JobMaster."""

    def __init__(self, plan: AttemptPlan, job: JobResources, owner: AttemptOwner) -> None:
        self.number = plan.number
        self.reports = TaskReports()
        self._plan = plan
        self._job = job
        self._owner = owner
        self._timing = job.timing
        # A task of another attempt cannot even prove that it belongs to the job.
        self._secret = new_secret()
        self._state = AttemptState(
            job.name, task_records(plan.layers, job.execution, job.time.millis()), job.timing
        )
        self._watch: HeartbeatWatch[TaskKey] = HeartbeatWatch(
            job.timing.heartbeat_interval_ms, job.timing.heartbeat_timeout_ms, job.time.now()
        )
        self._members: dict[TaskLink, _Member] = {}
        self._inquiries = Inquiries()
        self._alignment = WatermarkAlignmentCoordinator.of(plan.layers)
        self._limits = SendLimits.of(plan.layers)
        self._told_cause = False
        self.is_over = False

    @property
    def status(self) -> JobStatus:
        """Where the attempt stands."""
        return self._state.status

    def processes(self) -> dict[tuple[str, int], int | None]:
        """Task name and subtask -> process id, ``None`` before it registered; relays too. On any thread."""
        return {(task.task, task.index): task.pid for task in self._state.tasks}

    def places(self) -> dict[SubtaskId, TaskKey]:
        """Where in the engine each subtask of the job graph is."""
        return {task.id: task.key for task in self._state.tasks if task.id is not None}

    def open(self) -> None:
        """Let the attempt's tasks connect; before ``run_engine``."""
        self._decide(ev.JobStarted())
        self._job.server.add_job(str(self._job.job), self._secret, self)

    def run_engine(self) -> None:
        """Begin to run the tasks; raises what the engine raises. On any thread."""
        access = ControlAccess(self._job.server.address, self._secret)
        self._plan.engine.start(self._plan.layers, access, self._engine_ended)

    def post(self, event: ev.Event) -> None:
        """Let the job's thread bring ``event`` to ``take``. On any thread."""
        self._job.post(AttemptNote(self, event))

    def opened(self, link: TaskLink, register: Register) -> None:
        self._job.post(AttemptNote(self, _Opened(link, register)))

    def received(self, link: TaskLink, message: Up) -> None:
        if isinstance(message, ClientRun):
            # Past the mailbox: what a task sends before its last words is then here before them.
            self._deliver(link, message)
        elif isinstance(message, InquiryAnswer):
            self._inquiries.answered(link, message)
        else:
            self._job.post(AttemptNote(self, _Received(link, message)))

    def closed(self, link: TaskLink, reason: str) -> None:
        self._inquiries.lost(link, reason)
        self._job.post(AttemptNote(self, _Closed(link, reason)))

    def deadline(self) -> float:
        """When ``look`` is due at the latest."""
        deadlines = (self._state.deadline(), self._alignment.deadline())
        known = [time for time in deadlines if time is not None]
        return min([self._watch.next_look, *known])

    def take(self, note: AttemptNote) -> None:
        """Take note of what happened and do what follows."""
        match note.what:
            case _Opened(link, register):
                self._register(link, register)
            case _Received(link, message):
                member = self._members.get(link)
                if member is not None:
                    self._hear(member, message)
            case _Closed(link, reason):
                member = self._members.pop(link, None)
                self._job.delivery.forget(link)
                if member is not None:
                    log.debug("task connection closed task=%s reason=%s", member.record.key, reason)
                    self._decide(ev.ConnectionLost(member.record.key))
            case event:
                self._decide(event)

    def look(self) -> None:
        """Do what is due now: deadlines, and tasks that have been silent."""
        now, epoch = self._job.time.now(), self._job.time.epoch
        deadline = self._state.deadline()
        if deadline is not None and now >= deadline:
            self._decide(ev.TimePassed())
        last_heard = {m.record.key: m.link.last_heard + epoch for m in self._members.values()}
        for key, silence in self._watch.silent(last_heard, now).items():
            self._decide(ev.HeartbeatMissed(key, silence))
        for tasks, message in self._alignment.look(now):
            self.tell(tasks, message)

    def tell(self, tasks: Sequence[SubtaskId], message: Down) -> None:
        """Send ``message`` to these tasks, as far as they are connected."""
        wanted = set(tasks)
        for member in self._members.values():
            if member.record.id in wanted:
                member.link.send(message)

    def ask(self, task: SubtaskId, question: Question) -> Future[Answer]:
        """Ask a task that is connected; TaskGone when it is not. On any thread."""
        for member in list(self._members.values()):
            if member.record.id == task:
                return self._inquiries.ask(member.link, question)
        raise TaskGone(f"job {self._job.name!r}: subtask {task.index} is not connected now")

    def stop(self, reason: str) -> None:
        """End the attempt so that another one can follow; the client takes all that was sent before."""
        self._decide(ev.StopRequested(reason))

    def fail(self, failure: Failure) -> None:
        """End the attempt because of ``failure``."""
        self.post(ev.CheckpointsFailed(failure))

    def abandon(self) -> None:
        """End as far as that is possible without the core, which is broken."""
        self._cancel_engine()
        self._job.server.remove_job(str(self._job.job))
        self.is_over = True

    def _deliver(self, link: TaskLink, run: ClientRun) -> None:
        member = self._members.get(link)
        if member is None:
            return
        delivery = self._job.delivery
        try:
            delivery.offer(link, member.record.index, run)
        except InternalError as e:
            delivery.fail(failure_of(e))

    def _engine_ended(self, failure: Failure | None) -> None:
        self.post(ev.EngineEnded(failure))

    def _register(self, link: TaskLink, register: Register) -> None:
        key = TaskKey(register.layer, register.partition)
        refusal = self._state.refusal(key, register.task, register.subtask)
        if register.attempt != self.number:
            refusal = f"attempt {register.attempt} is over, attempt {self.number} runs"
        if refusal is not None:
            log.info(
                "task refused task=%r subtask=%d: %s", register.task, register.subtask, refusal
            )
            link.send(Rejected(refusal))
            link.close()
            return
        self._members[link] = _Member(self._state.tasks[key], link, register.shared)
        link.send(
            Registered(
                heartbeat_interval_ms=self._timing.heartbeat_interval_ms,
                heartbeat_timeout_ms=self._timing.heartbeat_timeout_ms,
                window_bytes=self._job.window_bytes,
            )
        )
        self._decide(
            ev.TaskRegistered(key, Placement(register.host, register.pid, register.task_manager))
        )

    def _hear(self, member: _Member, message: Up) -> None:  # noqa: C901  (one case for each message)
        record = member.record
        match message:
            case StatusChanged(status):
                self._decide(ev.TaskStatusReported(record.key, status))
                self._pass_on(record, message)
            case (
                CheckpointAcknowledged() | CheckpointDeclined() | EnumeratorPrepared() | InputOver()
            ):
                self._pass_on(record, message)
            case TaskFailed(failure, origin):
                self._decide(ev.TaskFailureReported(record.key, failure, origin))
            case TaskEnded(outcome):
                self._decide(ev.TaskEndReported(record.key, outcome))
                if outcome is TaskStatus.FINISHED:
                    self._pass_on(record, StatusChanged(outcome))
            case Metrics(values):
                self.reports.keep_metrics(record.key, record.task, record.index, values)
            case WatermarkReported(watermark):
                self._alignment.reported(record.id, watermark)
            case ToEnumerator() | ToReader() | RecordsAllowed():
                self._tell_peers(record, message)
            case Accumulators(payload):
                self.reports.keep_accumulators(record.key, payload)
            case Register() | Heartbeat() | ClientRun() | InquiryAnswer():
                log.debug("message not expected here task=%s message=%s", record.key, message)
            case _:
                assert_never(message)

    def _tell_peers(
        self, record: TaskRecord, message: ToEnumerator | ToReader | RecordsAllowed
    ) -> None:
        if record.id is None:
            return
        if isinstance(message, RecordsAllowed):
            for to, limit in self._limits.passed_on(record.id, message):
                self.tell((to,), limit)
        else:
            to, passed = passed_on(record.id, message)
            self.tell((to,), passed)

    def _pass_on(self, record: TaskRecord, message: AboutCheckpoints) -> None:
        if record.id is not None and not self.is_over:
            self._owner.heard(record.id, message)

    def _decide(self, event: ev.Event) -> None:
        before = self._state.status
        decisions = self._state.handle(event, self._job.time.now())
        status = self._state.status
        if status is not before and not status.is_terminal_state():
            self._owner.attempt_moved(status)
        if self._state.failure is not None and not self._told_cause:
            self._told_cause = True
            self._owner.cause_settled(self._state.failure)
        for decision in decisions:
            self._carry_out(decision)

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case StartTasks():
                self._start_all()
            case CancelTasks(reason):
                self._tell_all(Cancel(reason))
            case Disconnect(task):
                for member in [m for m in self._members.values() if m.record.key == task]:
                    member.link.abort()
            case CancelEngine():
                self._cancel_engine()
            case DrainDelivery():
                self._owner.values_due(self._state.status)
            case DropDelivery():
                self._job.delivery.drop()
            case Finish(status, failure):
                self._job.server.remove_job(str(self._job.job))
                self.is_over = True
                self._owner.attempt_over(status, failure)
            case _:
                assert_never(decision)

    def _start_all(self) -> None:
        shared = {member.record.key: member.shared for member in self._members.values()}
        for member in self._members.values():
            member.link.send(Start(next_to(member.record.key, shared)))

    def _tell_all(self, message: Down) -> None:
        for member in self._members.values():
            member.link.send(message)

    def _cancel_engine(self) -> None:
        try:
            self._plan.engine.cancel()
        except Exception:
            # It is told again while it has not ended.
            log.exception("engine did not take the cancellation job=%s", self._job.job)
