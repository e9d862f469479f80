"""The shell around the decision core: one thread per job that takes what happened and does what is decided.

Facts come from the control server's thread, the engine's, the client delivery's and callers; all of
them only put a note into the mailbox. The job's thread feeds the core and carries out its decisions.
"""

from __future__ import annotations

import logging
import pickle
import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

from riverrun.cluster.accumulators import merged
from riverrun.cluster.control_server import ControlServer
from riverrun.cluster.delivery import ClientDelivery
from riverrun.cluster.engine import ControlAccess, Engine
from riverrun.cluster.heartbeats import HeartbeatWatch
from riverrun.cluster.job_master import events as ev
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
from riverrun.cluster.job_master.state import JobMasterState
from riverrun.cluster.job_master.tasks import TaskKey, task_records
from riverrun.cluster.job_master.timing import Timing
from riverrun.cluster.links import TaskLink
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import Failure, InternalError
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import JobId, Millis
from riverrun.core.lifecycle import JobStatus
from riverrun.core.options import COLLECT_WINDOW_BYTES
from riverrun.graph.deployment import Deployment
from riverrun.graph.execution_graph import ExecutionGraph
from riverrun.graph.executor import JobSubmission
from riverrun.protocol.auth import new_secret
from riverrun.protocol.control import (
    Accumulators,
    Cancel,
    ClientRun,
    Down,
    Heartbeat,
    Metrics,
    Register,
    Registered,
    Rejected,
    Start,
    StatusChanged,
    TaskEnded,
    TaskFailed,
    Up,
)

log = logging.getLogger(__name__)

_HANDLER_PATIENCE_S: Final = 1.0
"""How long the end of a job waits for a client handler that does not return."""


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


_Note: TypeAlias = ev.Event | _Opened | _Received | _Closed


@dataclass(slots=True)
class _Member:
    """A registered task."""

    key: TaskKey
    task: str
    subtask: int
    link: TaskLink


class JobMaster:
    """One attempt of one job: a ``RunningJob`` for the client, a ``JobGateway`` for the control server.

    Args:
        submission: the job; its configuration sets the heartbeats, the cancel grace and the window.
        layers: what the engine runs, by layer and partition.
        engine: hosts the tasks; used for this job only.
        server: serves the tasks' connections; must be started, and outlives the job.
        clock: for runtimes, deadlines and timestamps.
        timing: instead of what the configuration says.
    """

    def __init__(
        self,
        submission: JobSubmission,
        layers: Sequence[Sequence[Deployment]],
        *,
        engine: Engine,
        server: ControlServer,
        clock: Clock | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._submission = submission
        self._layers = layers
        self._engine = engine
        self._server = server
        self._clock = clock or SystemClock()
        self._timing = timing or Timing.from_config(submission.config)
        self._attempt = layers[0][0].attempt
        self._secret = new_secret()
        # Deadlines need a time that never goes back, timestamps one that people know: this is both.
        self._epoch = self._clock.now() - self._clock.monotonic()
        began = Millis(int(self._now()))
        self._execution = ExecutionGraph(submission.graph, began)
        self._state = JobMasterState(
            submission.name, task_records(layers, self._execution, began), self._timing
        )
        self._window_bytes = COLLECT_WINDOW_BYTES.get(submission.config)
        self._delivery = ClientDelivery(
            submission.client_handlers,
            self._window_bytes,
            on_failed=lambda failure: self._notes.put(ev.DeliveryFailed(failure)),
            on_drained=lambda: self._notes.put(ev.DeliveryDrained()),
        )
        self._notes: queue.SimpleQueue[_Note] = queue.SimpleQueue()
        self._watch: HeartbeatWatch[TaskKey] = HeartbeatWatch(
            self._timing.heartbeat_interval_ms, self._timing.heartbeat_timeout_ms, self._now()
        )
        self._members: dict[TaskLink, _Member] = {}
        self._thread = threading.Thread(
            target=self._run, name=f"riverrun-job-master-{submission.job}", daemon=True
        )
        self._lock = threading.Lock()
        self._seen_status = JobStatus.INITIALIZING
        self._failure: Failure | None = None
        self._metrics: dict[str, dict[str, float]] = {}
        self._accumulators: dict[TaskKey, bytes] = {}
        self._began: float | None = None
        self._ended: float | None = None
        self._over = threading.Event()

    @property
    def job_id(self) -> JobId:
        return self._submission.job

    @property
    def name(self) -> str:
        return self._submission.name

    @property
    def execution(self) -> ExecutionGraph:
        """The job's subtasks and their states; read it as a snapshot that may be a moment old."""
        return self._execution

    def start(self) -> None:
        """Start the job and return; what the engine raises is raised here, after everything is undone."""
        self._began = self._clock.monotonic()
        # Before there is another thread: from here on the job is CREATED for whoever asks.
        self._decide(ev.JobStarted())
        self._server.add_job(str(self.job_id), self._secret, self)
        self._thread.start()
        access = ControlAccess(self._server.address, self._secret)
        try:
            self._engine.start(self._layers, access, self._engine_ended)
        except Exception as e:
            self._engine_ended(failure_of(e))
            if self.wait() is JobStatus.FAILED:
                raise
        except BaseException:
            self.cancel()
            raise

    def status(self) -> JobStatus:
        with self._lock:
            return self._seen_status

    def cancel(self) -> None:
        self._notes.put(ev.CancelRequested())

    def wait(self, timeout: float | None = None) -> JobStatus:
        if not self._over.wait(timeout):
            raise TimeoutError(
                f"job {self.name!r} ({self.job_id}) is {self.status().value} after {timeout} s"
            )
        if threading.current_thread() is not self._thread:
            self._thread.join()
        return self.status()

    def failure(self) -> Failure | None:
        with self._lock:
            return self._failure

    def net_runtime_ms(self) -> int:
        if self._began is None:
            return 0
        return int((self._ended or self._clock.monotonic()) - self._began)

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        with self._lock:
            return {scope: dict(values) for scope, values in self._metrics.items()}

    def accumulators(self) -> Mapping[str, Any]:
        with self._lock:
            reports = [self._accumulators[key] for key in sorted(self._accumulators)]
        return merged(pickle.loads(report) for report in reports)

    def opened(self, link: TaskLink, register: Register) -> None:
        self._notes.put(_Opened(link, register))

    def received(self, link: TaskLink, message: Up) -> None:
        if isinstance(message, ClientRun):
            # Past the mailbox: what a task sends before its last words is then here before them.
            self._deliver(link, message)
        else:
            self._notes.put(_Received(link, message))

    def closed(self, link: TaskLink, reason: str) -> None:
        self._notes.put(_Closed(link, reason))

    def _deliver(self, link: TaskLink, run: ClientRun) -> None:
        member = self._members.get(link)
        if member is None:
            return
        try:
            self._delivery.offer(link, member.subtask, run)
        except InternalError as e:
            self._delivery.drop()
            self._notes.put(ev.DeliveryFailed(failure_of(e)))

    def _engine_ended(self, failure: Failure | None) -> None:
        self._notes.put(ev.EngineEnded(failure))

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                note = self._next_note()
                self._take(note)
                self._miss_heartbeats()
        except Exception as e:
            log.exception("job master broke job=%s", self.job_id)
            self._collapse(e)

    def _next_note(self) -> _Note:
        due = self._watch.next_look
        deadline = self._state.deadline()
        if deadline is not None:
            due = min(due, deadline)
        try:
            return self._notes.get(timeout=max(0.0, (due - self._now()) / 1000))
        except queue.Empty:
            return ev.TimePassed()

    def _take(self, note: _Note) -> None:
        match note:
            case _Opened(link, register):
                self._register(link, register)
            case _Received(link, message):
                member = self._members.get(link)
                if member is not None:
                    self._hear(member, message)
            case _Closed(link, reason):
                member = self._members.pop(link, None)
                if member is not None:
                    log.debug("task connection closed task=%s reason=%s", member.key, reason)
                    self._decide(ev.ConnectionLost(member.key))
            case _:
                self._decide(note)

    def _register(self, link: TaskLink, register: Register) -> None:
        key = TaskKey(register.layer, register.partition)
        refusal = self._state.refusal(key, register.task, register.subtask)
        if register.attempt != self._attempt:
            refusal = f"attempt {register.attempt} is over, attempt {self._attempt} runs"
        if refusal is not None:
            log.info(
                "task refused task=%r subtask=%d: %s", register.task, register.subtask, refusal
            )
            link.send(Rejected(refusal))
            link.close()
            return
        self._members[link] = _Member(key, register.task, register.subtask, link)
        link.send(
            Registered(
                heartbeat_interval_ms=self._timing.heartbeat_interval_ms,
                heartbeat_timeout_ms=self._timing.heartbeat_timeout_ms,
                window_bytes=self._window_bytes,
            )
        )
        self._decide(ev.TaskRegistered(key, register.pid, register.host))

    def _hear(self, member: _Member, message: Up) -> None:
        match message:
            case StatusChanged(status):
                self._decide(ev.TaskStatusReported(member.key, status))
            case TaskFailed(failure, origin):
                self._decide(ev.TaskFailureReported(member.key, failure, origin))
            case TaskEnded(outcome):
                self._decide(ev.TaskEndReported(member.key, outcome))
            case Metrics(values):
                self._keep_metrics(member, values)
            case Accumulators(payload):
                with self._lock:
                    self._accumulators[member.key] = payload
            case Register() | Heartbeat() | ClientRun():
                log.debug("message not expected here task=%s message=%s", member.key, message)
            case _:
                assert_never(message)

    def _keep_metrics(self, member: _Member, values: Mapping[str, dict[str, float]]) -> None:
        place = f"{member.task}.{member.subtask}"
        with self._lock:
            for operator, numbers in values.items():
                self._metrics[f"{place}.{operator}" if operator else place] = numbers

    def _miss_heartbeats(self) -> None:
        last_heard = {m.key: m.link.last_heard + self._epoch for m in self._members.values()}
        for key, silence in self._watch.silent(last_heard, self._now()).items():
            self._decide(ev.HeartbeatMissed(key, silence))

    def _decide(self, event: ev.Event) -> None:
        before = self._state.status
        decisions = self._state.handle(event, self._now())
        if self._state.status is not before:
            log.info("job is %s job=%s", self._state.status.value, self.job_id)
        self._show(self._state.status)
        for decision in decisions:
            self._carry_out(decision)

    def _show(self, status: JobStatus) -> None:
        # The end is shown when all is released, so that nobody sees a job that is over and still there.
        if not status.is_terminal_state():
            with self._lock:
                self._seen_status = status

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case StartTasks():
                self._tell_all(Start())
            case CancelTasks(reason):
                self._tell_all(Cancel(reason))
            case Disconnect(task):
                for member in [m for m in self._members.values() if m.key == task]:
                    member.link.abort()
            case CancelEngine():
                self._cancel_engine()
            case DrainDelivery():
                self._delivery.drain()
            case DropDelivery():
                self._delivery.drop()
            case Finish(status, failure):
                self._finish(status, failure)
            case _:
                assert_never(decision)

    def _tell_all(self, message: Down) -> None:
        for member in self._members.values():
            member.link.send(message)

    def _cancel_engine(self) -> None:
        try:
            self._engine.cancel()
        except Exception:
            # It is told again while it has not ended.
            log.exception("engine did not take the cancellation job=%s", self.job_id)

    def _finish(self, status: JobStatus, failure: Failure | None) -> None:
        self._server.remove_job(str(self.job_id))
        self._delivery.close(_HANDLER_PATIENCE_S)
        self._ended = self._clock.monotonic()
        with self._lock:
            self._failure = failure
            self._seen_status = status
        self._over.set()

    def _collapse(self, error: Exception) -> None:
        """The core itself broke: end the job as far as that is possible without it."""
        self._cancel_engine()
        self._finish(JobStatus.FAILED, failure_of(error))

    def _now(self) -> float:
        return self._clock.monotonic() + self._epoch
