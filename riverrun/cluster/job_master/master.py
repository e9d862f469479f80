"""The JobMaster: one thread that takes a job through its attempts to its end.

Everything that happens, to the job or to its attempt, arrives as a note in one mailbox. The job's
thread feeds the decision cores (``job_state`` for the job, ``attempt_state`` for the attempt) and
carries out what they decide.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final, Protocol, TypeAlias, assert_never

from riverrun.cluster.control_server import ControlServer
from riverrun.cluster.delivery import ClientDelivery
from riverrun.cluster.engine import Engine
from riverrun.cluster.job_master import events as attempt_events
from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_master import restart_strategy
from riverrun.cluster.job_master.attempt import (
    AboutCheckpoints,
    AttemptNote,
    AttemptPlan,
    JobAttempt,
    JobResources,
)
from riverrun.cluster.job_master.job_state import JobState
from riverrun.cluster.job_master.job_time import JobTime
from riverrun.cluster.job_master.timing import Timing
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import CheckpointFailed, Failure
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import Attempt, JobId, SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.core.options import COLLECT_WINDOW_BYTES
from riverrun.graph.deployment import Deployment
from riverrun.graph.execution_graph import ExecutionGraph
from riverrun.graph.executor import FailureRecord, JobSubmission
from riverrun.protocol.snapshots import TaskRestore

log = logging.getLogger(__name__)

_HANDLER_PATIENCE_S: Final = 1.0
"""How long the end of a job waits for a client handler that does not return."""

_Note: TypeAlias = AttemptNote | ev.JobEvent


class Deploy(Protocol):
    """Makes what the engine runs: ``graph.deploy.deployments`` of the job's plan."""

    def __call__(
        self,
        *,
        attempt: Attempt,
        restore: Mapping[SubtaskId, TaskRestore],
        checkpoint_folder: str | None,
    ) -> Sequence[Sequence[Deployment]]:
        """One tuple per layer, in which the index is the partition."""


class JobMaster:
    """A job over all its attempts: the ``RunningJob`` that the client sees.

    Args:
        submission: the job; its configuration sets heartbeats, restarts, checkpoints and the window.
        deploy: makes an attempt's deployments.
        engines: makes an engine for each attempt.
        server: serves the tasks' connections; must be started, and outlives the job.
        clock: for runtimes, deadlines and timestamps.
        timing: instead of what the configuration says.
    """

    def __init__(
        self,
        submission: JobSubmission,
        deploy: Deploy,
        *,
        engines: Callable[[], Engine],
        server: ControlServer,
        clock: Clock | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._submission = submission
        self._deploy = deploy
        self._engines = engines
        self._clock = clock or SystemClock()
        self._time = JobTime(self._clock)
        self._notes: queue.SimpleQueue[_Note] = queue.SimpleQueue()
        random = Random()  # noqa: S311  (spreads restarts, hides nothing)
        strategy = restart_strategy.from_config(submission.config, random)
        self._state = JobState(submission.name, strategy)
        window_bytes = COLLECT_WINDOW_BYTES.get(submission.config)
        self._delivery = ClientDelivery(
            submission.client_handlers,
            window_bytes,
            on_failed=lambda failure: self._notes.put(ev.ClientFailed(failure)),
            on_drained=self._drained,
        )
        self._resources = JobResources(
            job=submission.job,
            name=submission.name,
            execution=ExecutionGraph(submission.graph, self._time.millis()),
            server=server,
            delivery=self._delivery,
            window_bytes=window_bytes,
            timing=timing or Timing.from_config(submission.config),
            time=self._time,
            post=self._notes.put,
        )
        self._attempt: JobAttempt | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"riverrun-job-master-{submission.job}", daemon=True
        )
        self._lock = threading.Lock()
        self._seen_status = JobStatus.INITIALIZING
        self._failure: Failure | None = None
        self._failures: tuple[FailureRecord, ...] = ()
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
        return self._resources.execution

    def processes(self) -> Mapping[tuple[str, int], int | None]:
        """The process of each subtask of the current attempt: task name and index -> process id."""
        attempt = self._attempt
        return {} if attempt is None else attempt.processes()

    def start(self) -> None:
        """Start the job and return; what refuses it is raised here, after everything is undone."""
        self._began = self._clock.monotonic()
        attempt = self._first_attempt()
        self._thread.start()
        try:
            attempt.run_engine()
        except Exception as e:
            # Nothing ran yet, so there is nothing to recover: whoever submits the job decides.
            failure = replace(failure_of(e), retryable=False)
            attempt.post(attempt_events.EngineEnded(failure))
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
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        return self.status()

    def failure(self) -> Failure | None:
        with self._lock:
            return self._failure

    def failures(self) -> Sequence[FailureRecord]:
        with self._lock:
            return self._failures

    def net_runtime_ms(self) -> int:
        if self._began is None:
            return 0
        return int((self._ended or self._clock.monotonic()) - self._began)

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        attempt = self._attempt
        return {} if attempt is None else attempt.reports.metrics()

    def accumulators(self) -> Mapping[str, Any]:
        attempt = self._attempt
        return {} if attempt is None else attempt.reports.accumulators()

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        del timeout
        raise CheckpointFailed(f"job {self.name!r}: takes no checkpoints")

    def checkpoints(self) -> Any:
        return None

    # what the attempt says, on the job's thread

    def attempt_moved(self, status: JobStatus) -> None:
        self._decide(ev.AttemptMoved(status))

    def cause_settled(self, failure: Failure) -> None:
        self._decide(ev.CauseSettled(failure))

    def values_due(self, status: JobStatus) -> None:
        if status is JobStatus.RUNNING:
            self._decide(ev.WorkDone())
        elif self._state.will_restart:
            # What waits is delivered while the next attempt runs.
            self._drained()
            return
        self._delivery.drain()

    def heard(self, task: SubtaskId, message: AboutCheckpoints) -> None:
        log.debug("nobody coordinates checkpoints task=%s message=%s", task, message)

    def attempt_over(self, status: JobStatus, failure: Failure | None) -> None:
        self._decide(ev.AttemptOver(status, failure))

    # the job's thread

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._take(self._next_note())
                self._look()
        except Exception as e:
            log.exception("job master broke job=%s", self.job_id)
            self._collapse(e)

    def _next_note(self) -> _Note:
        deadlines = [self._state.deadline()]
        if self._attempt is not None and not self._attempt.is_over:
            deadlines.append(self._attempt.deadline())
        due = min((deadline for deadline in deadlines if deadline is not None), default=None)
        timeout = None if due is None else max(0.0, (due - self._time.now()) / 1000)
        try:
            return self._notes.get(timeout=timeout)
        except queue.Empty:
            return ev.TimePassed()

    def _take(self, note: _Note) -> None:
        match note:
            case AttemptNote(attempt):
                if attempt is self._attempt and not attempt.is_over:
                    attempt.take(note)
            case ev.ClientFailed(failure):
                self._decide(note)
                if self._attempt is not None:
                    self._attempt.post(attempt_events.DeliveryFailed(failure))
            case _:
                self._decide(note)

    def _look(self) -> None:
        deadline = self._state.deadline()
        if deadline is not None and self._time.now() >= deadline:
            self._decide(ev.TimePassed())
        if self._attempt is not None and not self._attempt.is_over:
            self._attempt.look()

    def _decide(self, event: ev.JobEvent) -> None:
        before = self._state.status
        decisions = self._state.handle(event, self._time.now())
        if self._state.status is not before:
            log.info("job is %s job=%s", self._state.status.value, self.job_id)
        self._show(self._state.status)
        for decision in decisions:
            self._carry_out(decision)

    def _show(self, status: JobStatus) -> None:
        with self._lock:
            self._failures = self._state.failures()
            # The end is shown when all is released, so that nobody sees a job that is over and still there.
            if not status.is_terminal_state():
                self._seen_status = status

    def _carry_out(self, decision: ev.JobDecision) -> None:
        match decision:
            case ev.CancelAttempt():
                if self._attempt is not None:
                    self._attempt.post(attempt_events.CancelRequested())
            case ev.AwaitRoom():
                self._delivery.when_room(lambda: self._notes.put(ev.RoomThere()))
            case ev.PrepareAttempt(_):
                self._notes.put(ev.AttemptPrepared())
            case ev.StartAttempt(number):
                self._next_attempt(number)
            case ev.EndJob(status, failure):
                self._finish(status, failure)
            case _:
                assert_never(decision)

    def _first_attempt(self) -> JobAttempt:
        """The first attempt, before there is another thread."""
        try:
            attempt = self._open(Attempt(0))
        except BaseException as e:
            self._decide(ev.StartRefused(failure_of(e)))
            raise
        return attempt

    def _next_attempt(self, number: Attempt) -> None:
        self._resources.execution.restart(number, self._time.millis())
        attempt = self._open(number)
        try:
            attempt.run_engine()
        except Exception as e:  # noqa: BLE001  (the engine's edge: it becomes the attempt's failure)
            attempt.post(attempt_events.EngineEnded(failure_of(e)))

    def _open(self, number: Attempt) -> JobAttempt:
        layers = self._deploy(attempt=number, restore={}, checkpoint_folder=None)
        plan = AttemptPlan(number, layers, self._engines())
        self._attempt = JobAttempt(plan, self._resources, self)
        self._attempt.open()
        return self._attempt

    def _drained(self) -> None:
        attempt = self._attempt
        if attempt is not None:
            attempt.post(attempt_events.DeliveryDrained())

    def _finish(self, status: JobStatus, failure: Failure | None) -> None:
        if status is JobStatus.FAILED:
            self._delivery.settle(self._resources.timing.drain_grace_ms / 1000)
        self._delivery.close(_HANDLER_PATIENCE_S)
        self._ended = self._clock.monotonic()
        with self._lock:
            self._failure = failure
            self._seen_status = status
        self._over.set()

    def _collapse(self, error: Exception) -> None:
        """A core itself broke: end the job as far as that is possible without it."""
        if self._attempt is not None and not self._attempt.is_over:
            self._attempt.abandon()
        self._finish(JobStatus.FAILED, failure_of(error))
