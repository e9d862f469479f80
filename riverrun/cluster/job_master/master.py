"""The JobMaster: one thread that takes a job through its attempts to its end.

Everything that happens, to the job or to its attempt, arrives as a note in one mailbox. The job's
thread feeds the decision cores (``job_state`` for the job, ``attempt_state`` for the attempt) and
carries out what they decide.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, TypeAlias, assert_never

from riverrun.cluster.checkpoint_place import CheckpointPlace
from riverrun.cluster.checkpoint_place import rescale_place as place_on_this_machine
from riverrun.cluster.checkpointing import Checkpointing, StoreAnswered
from riverrun.cluster.delivery import ClientDelivery
from riverrun.cluster.engine import Engine
from riverrun.cluster.io_thread import IoThread
from riverrun.cluster.job_master import events as attempt_events
from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_master import restart_strategy
from riverrun.cluster.job_master.attempt import (
    AttemptNote,
    JobAttempt,
    JobResources,
)
from riverrun.cluster.job_master.job_state import JobState
from riverrun.cluster.job_master.job_time import JobTime
from riverrun.cluster.job_master.job_view import JobView
from riverrun.cluster.job_master.mailbox import Mailbox
from riverrun.cluster.job_master.preparation import (
    AttemptOrder,
    Deploy,
    Preparation,
    PreparedAttempt,
    Slots,
)
from riverrun.cluster.job_master.rescales import RescalePoint, Rescales, RescaleWish
from riverrun.cluster.job_master.restart_strategy import RestartStrategy
from riverrun.cluster.job_master.seen import SeenJob
from riverrun.cluster.job_master.timing import Timing
from riverrun.cluster.job_master.wishes import CheckpointWish, Wish, refuse
from riverrun.cluster.links import TaskServer
from riverrun.cluster.savepoint_wishes import SavepointWish, after_stop
from riverrun.cluster.starting_point import DAMAGED, StartingPoint
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import Failure, InternalError
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import Attempt, SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.core.options import COLLECT_WINDOW_BYTES
from riverrun.graph.execution_graph import ExecutionGraph
from riverrun.graph.executor import JobSubmission
from riverrun.protocol.control import AboutCheckpoints
from riverrun.storage.storage import Storage

log = logging.getLogger(__name__)

_HANDLER_PATIENCE_S: Final = 1.0
"""How long the end of a job waits for a client handler that does not return."""
_DAMAGE: Final = frozenset(kind.__qualname__ for kind in DAMAGED)
_STORE_PATIENCE_S: Final = 5.0
"""How long the end of a job waits for the store, each time that it has to."""


_Note: TypeAlias = AttemptNote | ev.JobEvent | PreparedAttempt | Wish | StoreAnswered | RescalePoint


class JobMaster(SeenJob):
    """A job over all its attempts: the ``RunningJob`` that the client sees.

    Args:
        submission: the job; its configuration sets heartbeats, restarts, checkpoints and the window.
        deploy: makes an attempt's deployments.
        engines: makes an engine for each attempt.
        server: serves the tasks' connections; must be started, and outlives the job.
        clock: for runtimes, deadlines and timestamps.
        timing: instead of what the configuration says.
        place: where the checkpoints go; ``None`` for a job that takes none. Removed at the end if
            it is a temporary one.
        storage: holds ``place``, instead of the one that its location names.
        rescale_place: makes one for the savepoints through which a job that takes no checkpoints is
            rescaled; raises what refuses it.
        slots: where the attempts find room; those of the first one are there. ``None``: no matter.
    """

    def __init__(  # noqa: PLR0913  (its parts, each by its name)
        self,
        submission: JobSubmission,
        deploy: Deploy,
        *,
        engines: Callable[[], Engine],
        server: TaskServer,
        clock: Clock | None = None,
        timing: Timing | None = None,
        place: CheckpointPlace | None = None,
        storage: Storage | None = None,
        rescale_place: Callable[[], CheckpointPlace] | None = None,
        slots: Slots | None = None,
    ) -> None:
        self._place = place
        self._time = JobTime(clock or SystemClock())
        self._notes: Mailbox[_Note] = Mailbox()
        self._io = IoThread(f"riverrun-store-{submission.job}")
        state = JobState(submission.name, _strategy(submission), submission.graph)
        preparation = Preparation(
            submission, deploy, engines, place=place, storage=storage, slots=slots, io=self._io
        )
        through = None
        if place is None:
            through = rescale_place or partial(place_on_this_machine, submission, one_machine=True)
        rescales = Rescales(submission, through, slots, self._notes.put, self._time.millis)
        super().__init__(submission, self._notes, state, preparation, rescales, slots)
        self._resources = self._shared(server, timing or Timing.from_config(submission.config))
        self._delivery = self._resources.delivery
        self._prepared: PreparedAttempt | None = None
        self._start = StartingPoint()
        self._is_up = False  # whether every task of the attempt has run
        self._doubtful: set[int] = set()
        self._thread = threading.Thread(
            target=self._run, name=f"riverrun-job-master-{submission.job}", daemon=True
        )
        self._view = JobView(self._time.clock)
        self._stops: list[SavepointWish] = []  # they are answered at the job's end

    def _shared(self, server: TaskServer, timing: Timing) -> JobResources:
        submission = self._submission
        window_bytes = COLLECT_WINDOW_BYTES.get(submission.config)
        return JobResources(
            job=submission.job,
            name=submission.name,
            execution=ExecutionGraph(submission.graph, self._time.millis()),
            server=server,
            delivery=ClientDelivery(
                submission.client_handlers,
                window_bytes,
                on_failed=lambda failure: self._notes.put(ev.ClientFailed(failure)),
                on_drained=self._drained,
            ),
            window_bytes=window_bytes,
            timing=timing,
            time=self._time,
            post=self._notes.put,
        )

    def start(self) -> None:
        """Start the job and return; what refuses it is raised here, after everything is undone."""
        self._view.begin()
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

    def cancel(self) -> None:
        self._notes.put(ev.CancelRequested())

    def suspend(self) -> None:
        """Stop here, and leave everything to the JobManager that goes on from the latest checkpoint."""
        self._notes.put(ev.SuspendRequested())

    def wait(self, timeout: float | None = None) -> JobStatus:
        if not self._view.wait(timeout):
            raise TimeoutError(
                f"job {self.name!r} ({self.job_id}) is {self.status().value} after {timeout} s"
            )
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        return self.status()

    # what the attempt says, on the job's thread

    def attempt_moved(self, status: JobStatus) -> None:
        if status in (JobStatus.FAILING, JobStatus.CANCELLING):
            self._end_checkpoints(f"the job is {self._state.seen_as(status).value}")
            if self._slots is not None:
                self._slots.down()
        self._decide(ev.AttemptMoved(status))
        self._note_that_all_run()

    def cause_settled(self, failure: Failure) -> None:
        checkpoint = self._start.checkpoint
        if failure.type_name in _DAMAGE and checkpoint is not None and not self._is_up:
            # Found by a task in what it read; the next attempt tries an older checkpoint.
            self._doubtful.add(checkpoint.id)
        self._decide(ev.CauseSettled(after_stop(failure, self._stopped_with())))

    def values_due(self, status: JobStatus) -> None:
        if status is JobStatus.RUNNING:
            self._end_checkpoints("the job has finished")
            self._decide(ev.WorkDone())
        elif self._state.will_restart:
            # What waits is delivered while the next attempt runs.
            self._drained()
            return
        self._delivery.drain()

    def heard(self, task: SubtaskId, message: AboutCheckpoints) -> None:
        if self._checkpointing is not None:
            self._checkpointing.heard(task, message)
        self._note_that_all_run()

    def attempt_over(self, status: JobStatus, failure: Failure | None) -> None:
        if failure is not None:
            failure = after_stop(failure, self._stopped_with())
        self._decide(ev.AttemptOver(status, failure))

    # the job's thread

    def _run(self) -> None:
        try:
            while not self._view.is_over:
                self._take(self._next_note())
                # The end may come with either: nothing may be waited for after it.
                if not self._view.is_over:
                    self._look()
        except Exception as e:
            log.exception("job master broke job=%s", self.job_id)
            self._collapse(e)

    def _next_note(self) -> _Note:
        deadlines = [self._state.deadline()]
        if self._attempt is not None and not self._attempt.is_over:
            deadlines.append(self._attempt.deadline())
        if self._checkpointing is not None:
            deadlines.append(self._checkpointing.deadline())
        due = min((deadline for deadline in deadlines if deadline is not None), default=None)
        timeout = None if due is None else max(0.0, (due - self._time.now()) / 1000)
        return self._notes.get(timeout) or ev.TimePassed()

    def _take(self, note: _Note) -> None:
        match note:
            case AttemptNote(attempt):
                if attempt is self._attempt and not attempt.is_over:
                    attempt.take(note)
            case ev.ClientFailed(failure):
                self._decide(note)
                if self._attempt is not None:
                    self._attempt.post(attempt_events.DeliveryFailed(failure))
            case PreparedAttempt(graph=graph, refused=refused):
                self._prepared = note
                self._decide(ev.AttemptPrepared(graph, refused))
            case RescaleWish():
                wanted = self._rescales.wanted(note, self._state.next_graph)
                if wanted is not None:
                    self._decide(wanted)
            case CheckpointWish() | SavepointWish() | StoreAnswered() | RescalePoint():
                if self._checkpointing is not None:
                    self._take_about_checkpoints(note, self._checkpointing)
            case _:
                self._decide(note)

    def _take_about_checkpoints(
        self,
        note: CheckpointWish | SavepointWish | StoreAnswered | RescalePoint,
        checkpointing: Checkpointing,
    ) -> None:
        match note:
            case CheckpointWish(outcome):
                checkpointing.request(outcome)
            case SavepointWish(order) if order.stop and self._rescales.is_stopping:
                self._rescales.refuse_stop(note)
            case SavepointWish(order):
                if order.stop:
                    self._stops.append(note)
                    self._decide(ev.RescaleWithdrawn("the job is being stopped with a savepoint"))
                checkpointing.request_savepoint(note)
            case StoreAnswered():
                checkpointing.take_answers()
            case RescalePoint():
                after = self._rescales.checkpointed(note, checkpointing, self._state.next_graph)
                if self._rescales.savepoint is not None:
                    self._preparation.go_on_from(self._rescales.savepoint)
                self._decide(after)
            case _:
                assert_never(note)

    def _look(self) -> None:
        """Do what is due by now."""
        deadline = self._state.deadline()
        if deadline is not None and self._time.now() >= deadline:
            self._decide(ev.TimePassed())
        if self._attempt is not None and not self._attempt.is_over:
            self._attempt.look()
        if self._checkpointing is not None:
            self._checkpointing.look()

    def _note_that_all_run(self) -> None:
        attempt = self._attempt
        if (
            not self._is_up
            and attempt is not None
            and attempt.status is JobStatus.RUNNING
            and self.execution.all_running_or_finished()
        ):
            self._is_up = True
            if self._checkpointing is not None:
                self._checkpointing.running()
            self._decide(ev.AttemptUp())
            if self._slots is not None:
                self._slots.up(self.execution.graph, self._follow)

    def _decide(self, event: ev.JobEvent) -> None:
        before = self._state.status
        decisions = self._state.handle(event, self._time.now())
        if self._state.status is not before:
            log.info("job is %s job=%s", self._state.status.value, self.job_id)
        self._view.show(self._state.status, self._state.failures())
        for decision in decisions:
            self._carry_out(decision)

    def _carry_out(self, decision: ev.JobDecision) -> None:  # noqa: C901  (one case for each decision)
        match decision:
            case ev.CancelAttempt():
                if self._attempt is not None:
                    self._attempt.post(attempt_events.CancelRequested())
            case ev.AwaitRoom():
                self._delivery.when_room(lambda: self._notes.put(ev.RoomThere()))
            case ev.PrepareAttempt(number):
                self._prepare(number)
            case ev.StartAttempt():
                self._next_attempt()
            case ev.EndJob(status, failure):
                self._finish(status, failure)
            case ev.CheckpointForRescale(number):
                if self._checkpointing is not None:
                    self._rescales.take_checkpoint(number, self._checkpointing)
            case ev.StopAttempt(reason):
                if self._attempt is not None:
                    self._attempt.stop(reason)
            case ev.AnswerRescale():
                self._rescales.answer(decision, self._state.graph, self._state.next_graph)
            case _:
                assert_never(decision)

    def _first_attempt(self) -> JobAttempt:
        """The first attempt, before there is another thread."""
        try:
            first = self._preparation.first()
            self._checkpointing = Checkpointing(
                self._submission,
                self._preparation.store,
                first,
                storage=self._preparation.storage,
                io=self._io,
                now=self._time.now,
                wake=self._notes.put,
            )
            return self._open(self._preparation.first_attempt(first.point))
        except BaseException as e:
            self._decide(ev.StartRefused(failure_of(e)))
            raise

    def _prepare(self, number: Attempt) -> None:
        retained = () if self._checkpointing is None else self._checkpointing.retained
        state, doubtful = self._state, frozenset(self._doubtful)
        order = AttemptOrder(number, state.next_graph, state.graph, retained, doubtful)
        self._preparation.next(order, self._notes.put)

    def _next_attempt(self) -> None:
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            raise InternalError(f"job {self.name!r}: told to start an attempt that is not prepared")
        if self._checkpointing is not None and prepared.graph is not self.execution.graph:
            self._checkpointing.replan(prepared.graph)
        self.execution.restart(prepared.plan.number, self._time.millis(), prepared.graph)
        attempt = self._open(prepared)
        try:
            attempt.run_engine()
        except Exception as e:  # noqa: BLE001  (the engine's edge: it becomes the attempt's failure)
            attempt.post(attempt_events.EngineEnded(failure_of(e)))

    def _open(self, prepared: PreparedAttempt) -> JobAttempt:
        attempt = JobAttempt(prepared.plan, self._resources, self)
        self._attempt, self._start, self._is_up = attempt, prepared.start, False
        for remark in prepared.start.remarks:
            self._decide(ev.Remarked(remark))
        if self._checkpointing is not None:
            self._checkpointing.begin(attempt, prepared.start)
            self._checkpointing.delete_later(prepared.start.leftovers)
        attempt.open()
        return attempt

    def _end_checkpoints(self, why: str) -> None:
        if self._checkpointing is not None:
            self._checkpointing.ended(why)

    def _drained(self) -> None:
        attempt = self._attempt
        if attempt is not None:
            attempt.post(attempt_events.DeliveryDrained())

    def _finish(self, status: JobStatus, failure: Failure | None) -> None:
        if status is JobStatus.FAILED:
            self._delivery.settle(self._resources.timing.drain_grace_ms / 1000)
        self._delivery.close(_HANDLER_PATIENCE_S)
        self._release_store(status)
        self._refuse_wishes()
        self._rescales.drop()
        if self._slots is not None:
            self._slots.leave()
        self._view.end(status, failure)
        for wish in self._stops:
            wish.settle(self.name, status)

    def _release_store(self, status: JobStatus) -> None:
        if self._submission.resume and JobStatus.RUNNING not in self._state.story:
            # It could not even begin, so it is not over: its checkpoints are for the next try.
            status = JobStatus.SUSPENDED
        if self._checkpointing is not None:
            self._checkpointing.end(status, _STORE_PATIENCE_S)
            self._rescales.close(self._checkpointing)
        self._io.close(_STORE_PATIENCE_S)
        if self._place is not None:
            self._place.remove()

    def _refuse_wishes(self) -> None:
        """Answer those who asked for something when it was too late to hear them."""
        for note in self._notes.close():
            if isinstance(note, Wish):
                refuse(note, self.name)

    def _stopped_with(self) -> str | None:
        stopped = None if self._checkpointing is None else self._checkpointing.stopped_with
        return None if self._rescales.is_own(stopped) else stopped

    def _collapse(self, error: Exception) -> None:
        """A core itself broke: end the job as far as that is possible without it."""
        if self._attempt is not None and not self._attempt.is_over:
            self._attempt.abandon()
        self._checkpointing = None
        self._finish(JobStatus.FAILED, failure_of(error))


def _strategy(submission: JobSubmission) -> RestartStrategy:
    random = Random()  # noqa: S311  (spreads restarts, hides nothing)
    return restart_strategy.from_config(submission.config, random)
