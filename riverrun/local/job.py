"""A job in this process, over all its attempts, in one thread and without waiting for anything.

The same decision cores as on Spark (``JobState``, ``CheckpointCoordinator``, the restart strategies) with
a shell that has no threads. Whatever takes time elsewhere is on a way (``ways``) until somebody moves it;
what waits for a moment waits for the virtual clock.

    ways     messages between JobMaster and tasks, work on the store: ``move`` lets one thing arrive
    turn     one turn of one task
    look     does what is due at this moment of the clock
    sleep    lets the clock jump to the next moment at which something is due
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import assert_never

from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.cluster.checkpoint_place import CheckpointPlace
from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_master import restart_strategy
from riverrun.cluster.job_master.job_state import JobState
from riverrun.cluster.job_master.rescales import RescalePoint, Rescales, RescaleWish
from riverrun.cluster.savepoint_wishes import SavepointWish, after_stop
from riverrun.cluster.starting_point import DAMAGED, StartingPoint
from riverrun.core import options
from riverrun.core.errors import CheckpointFailed, Failure, InternalError
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import Attempt, SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import FailureRecord, JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.rescaling import Parallelism
from riverrun.local.attempt import LocalAttempt
from riverrun.local.checkpoints import JobCheckpoints
from riverrun.local.copies import ProgramCopies
from riverrun.local.pipeline import Step
from riverrun.local.surroundings import Surroundings
from riverrun.local.task_host import JobReport, TaskHost
from riverrun.local.ways import Way
from riverrun.protocol.control import Down
from riverrun.runtime.chain import ClientRun


class LocalJob:
    """One JobMaster's life with a job. All methods are called from one thread.

    Args:
        submission: the job; its client handlers are not used, ``place.client`` is.
        program: its graph, ready to be deployed.
        place: what the job runs in; another JobMaster may have used it before.
        label: tells this JobMaster from others of the job, for local files and traces.

    Raises what refuses the job: a configuration, or a checkpoint that it cannot start from.
    """

    def __init__(
        self,
        submission: JobSubmission,
        program: ProgramCopies,
        place: Surroundings,
        label: str = "JobMaster",
    ) -> None:
        self._submission = submission
        self._program = program
        self._place = place
        self._label = label
        strategy = restart_strategy.from_config(submission.config, place.rng)
        self._state = JobState(submission.name, strategy, program.graph)
        self._checkpoints = JobCheckpoints(submission, place, label)
        self._rescales = Rescales(
            submission,
            None if self._checkpoints.enabled else self._rescale_place,
            None,
            lambda point: self._checkpoints.post(lambda: self._rescale_through(point)),
        )
        self._point: StartingPoint = self._checkpoints.first
        self._cut_off = False
        self.is_over = False
        """Whether the job has ended."""
        self.attempts = 0
        """How many attempts there were."""
        self.attempt: LocalAttempt | None = None
        """The attempt that runs; ``None`` between two of them."""
        self.ways: list[Way] = []
        """Every way that something may be on."""
        self.failure: Failure | None = None
        """Why the job failed, once it has."""
        self.metrics: Mapping[str, Mapping[str, float]] = {}
        """Of the latest attempt, as it ended."""
        self._find_ways()

    @property
    def status(self) -> JobStatus:
        """Where the job stands."""
        return self._state.status

    def checkpoints(self) -> CheckpointingStatistics | None:
        """How the job's checkpoints went; ``None`` when it takes none. On any thread."""
        return self._checkpoints.statistics()

    def failures(self) -> tuple[FailureRecord, ...]:
        """What went wrong so far, oldest first."""
        return self._state.failures()

    @property
    def graph(self) -> JobGraph:
        """The program as the latest attempt runs it."""
        return self._state.graph

    @property
    def stopped_with(self) -> str | None:
        """The savepoint that the job stopped with, once that is complete."""
        return self._checkpoints.stopped_with

    def start(self) -> None:
        """Begin with the first attempt."""
        self._begin(Attempt(0))

    def cancel(self) -> None:
        """Stop the job; a job that is over stays as it is."""
        if not self.is_over:
            self._decide(ev.CancelRequested())

    def request_checkpoint(self, wish: Future[str]) -> None:
        """Take a checkpoint now; ``wish`` gets its location, or CheckpointFailed."""
        if self._checkpoints.enabled:
            self._checkpoints.request(wish)
            return
        why = f"takes no checkpoints; set {options.CHECKPOINT_INTERVAL.key!r}"
        wish.set_exception(CheckpointFailed(f"job {self._submission.name!r}: {why}"))

    def request_savepoint(self, wish: SavepointWish) -> None:
        """Take a savepoint now; ``wish.taken`` gets its location, or CheckpointFailed."""
        if wish.order.stop and self._rescales.is_stopping:
            self._rescales.refuse_stop(wish)
            return
        if wish.order.stop:
            self._decide(ev.RescaleWithdrawn("the job is being stopped with a savepoint"))
        self._checkpoints.request_savepoint(wish)

    def check_rescale(self, parallelism: Parallelism) -> None:
        """Raise what refuses a rescale. On any thread."""
        self._rescales.check(self._state.graph, self._state.next_graph, parallelism)

    def rescale(self, wish: RescaleWish) -> None:
        """Go on with other parallelisms; ``wish`` hears when all tasks run so, or RescaleFailed."""
        wanted = self._rescales.wanted(wish, self._state.next_graph)
        if wanted is not None:
            self._decide(wanted)

    # what drives the job

    def move(self, way: Way) -> None:
        """Let the first thing on ``way`` arrive; what it breaks fails the attempt."""
        attempt = self.attempt
        try:
            way.move()
        except Exception as error:  # noqa: BLE001  (the shell's edge: it becomes the attempt's failure)
            self._broke(attempt, error, way)

    def turn(self) -> Step:
        """One turn of one task of the attempt, if there is one."""
        attempt = self.attempt
        if attempt is None:
            return Step.IDLE
        try:
            return attempt.turn()
        except Exception as error:  # noqa: BLE001  (the shell's edge: it becomes the attempt's failure)
            self._broke(attempt, error, None)
            return Step.RAN

    def look(self) -> None:
        """Do what is due now."""
        now = self._place.clock.monotonic()
        deadline = self._checkpoints.deadline()
        if deadline is not None and deadline <= now:
            self._checkpoints.look()
        deadline = self._state.deadline()
        if deadline is not None and deadline <= now:
            self._decide(ev.TimePassed())
        attempt = self.attempt
        if attempt is not None:
            attempt.look(now)
            if attempt.pipeline.is_finished and attempt.is_done():
                self._finished(attempt)

    def wake_at(self) -> float | None:
        """When something is due although nothing is on its way."""
        times = [self._state.deadline(), self._checkpoints.deadline()]
        if self.attempt is not None:
            times.append(self.attempt.wake_at())
        return min((time for time in times if time is not None), default=None)

    def sleep(self) -> None:
        """Let time pass until something is due.

        It jumps, unless a task waits for something outside: that takes real time, and ours passes as
        fast until it is there.
        """
        wake_at = self.wake_at()
        if self.attempt is not None and self.attempt.pipeline.awaiting:
            self._await_outside(wake_at)
            return
        if wake_at is None:
            raise InternalError(f"nobody can run and nobody waits for a time: {self._stuck()}")
        self._place.clock.advance(max(0.0, wake_at - self._place.clock.monotonic()))

    def _await_outside(self, wake_at: float | None) -> None:
        place = self._place
        left = None if wake_at is None else max(0.0, wake_at - place.clock.monotonic())
        started = time.monotonic()
        place.woken.wait(None if left is None else left / 1000.0)
        # Whoever sets it again did what is to be seen before, and everybody is asked after this.
        place.woken.clear()
        passed = (time.monotonic() - started) * 1000.0
        place.clock.advance(passed if left is None else min(passed, left))

    def step(self) -> None:
        """Whatever is next, in the plainest order: what is on its way, then turns, then time."""
        self.look()
        if self.is_over:
            return
        for way in self.ways:
            if way.waiting:
                self.move(way)
                return
        if self.turn() is Step.IDLE:
            self.sleep()

    # faults, for whoever tests the job

    def abandon(self, failure: Failure) -> LocalAttempt | None:
        """Fail the attempt as if its tasks were gone, without stopping them; gives them back."""
        attempt = self.attempt
        if attempt is not None:
            self._fail(attempt, failure, stop=False)
        return attempt

    def cut_off(self) -> None:
        """The client hears nothing of this JobMaster any more: there is another one."""
        self._cut_off = True

    # what the checkpoints want of the attempt

    def tell(self, tasks: tuple[SubtaskId, ...], message: Down) -> None:
        """Send ``message`` to tasks of the attempt."""
        if self.attempt is not None:
            self.attempt.tell(tasks, message)

    def fail(self, failure: Failure) -> None:
        """Fail the attempt."""
        if self.attempt is not None:
            self._fail(self.attempt, failure, stop=True)

    # reports

    def _heard(self, attempt: LocalAttempt, host: TaskHost, report: JobReport) -> None:
        if not self._is_current(attempt):
            return
        if isinstance(report, ClientRun):
            self._deliver(host, report)
        else:
            self._checkpoints.heard(host.id, report)

    def _is_current(self, attempt: LocalAttempt) -> bool:
        """Whether anything that comes from ``attempt`` counts."""
        return attempt is self.attempt

    def _deliver(self, host: TaskHost, run: ClientRun) -> None:
        if self._cut_off:
            return
        try:
            self._place.client.take(host.deployment.subtask, run)
        except Exception as error:  # noqa: BLE001  (the client's own code: any failure is the job's)
            self._cut_off = True
            failure = replace(failure_of(error), retryable=False)
            self._decide(ev.ClientFailed(failure))
            self.fail(failure)

    # the attempt's life

    def _begin(self, number: Attempt) -> None:
        submission = self._submission
        if self._state.graph is not self._program.graph:
            self._program = ProgramCopies(self._state.graph)
            self._checkpoints.replan(self._state.graph)
        layers = self._program.deploy(
            submission.job,
            submission.name,
            number,
            submission.config,
            restore=self._point.tasks,
            checkpoint_folder=self._checkpoints.folder,
        )
        self.attempts += 1
        name = f"{self._label} {number}"
        attempt = self.attempt = LocalAttempt(name, layers, self._place, self._heard)
        self._find_ways()
        self._decide(ev.AttemptMoved(JobStatus.CREATED))
        self._checkpoints.begin(self, self._point)
        try:
            attempt.open()
        except Exception as error:  # noqa: BLE001  (the shell's edge: it becomes the attempt's failure)
            if isinstance(error.__cause__ or error, DAMAGED):
                self._checkpoints.doubt(self._point)
            self._broke(attempt, error, None)
            return
        self._decide(ev.AttemptMoved(JobStatus.RUNNING))
        self._checkpoints.running()
        self._decide(ev.AttemptUp())

    def _broke(self, attempt: LocalAttempt | None, error: Exception, way: Way | None) -> None:
        if attempt is None or attempt is not self.attempt:
            raise error
        self._fail(attempt, attempt.describe(error, way), stop=True)

    def _fail(self, attempt: LocalAttempt, failure: Failure, *, stop: bool) -> None:
        stopped_with = self._checkpoints.stopped_with
        if not self._rescales.is_own(stopped_with):
            failure = after_stop(failure, stopped_with)
        self._decide(ev.CauseSettled(failure))
        self._decide(ev.AttemptMoved(JobStatus.FAILING))
        self._leave(attempt, failure.headline(), stop=stop)
        self._decide(ev.AttemptOver(JobStatus.FAILED, failure))

    def _finished(self, attempt: LocalAttempt) -> None:
        self._keep_metrics(attempt)
        error = attempt.close()
        if error is not None:
            self._fail(attempt, attempt.describe(error), stop=True)
            return
        self._leave(attempt, "the job finished", stop=True)
        self._decide(ev.AttemptOver(JobStatus.FINISHED, None))

    def _leave(self, attempt: LocalAttempt, reason: str, *, stop: bool) -> None:
        """The attempt is not this job's any more."""
        if not attempt.is_over:
            self._keep_metrics(attempt)
        self.attempt = None
        self._find_ways()
        if stop:
            attempt.close()
        self._checkpoints.ended(reason)

    def _keep_metrics(self, attempt: LocalAttempt) -> None:
        if self._place.wants_metrics:
            self.metrics = attempt.metrics()

    def _prepared(self, point: StartingPoint | Exception) -> None:
        if isinstance(point, Exception):
            self._decide(ev.PreparationFailed(failure_of(point)))
            return
        self._point = point
        for remark in point.remarks:
            self._decide(ev.Remarked(remark))
        graph = self._state.graph if point.refused is not None else None
        self._decide(ev.AttemptPrepared(graph, point.refused))

    def _rescale_through(self, point: RescalePoint) -> None:
        outcome = self._rescales.checkpointed(point, self._checkpoints, self._state.next_graph)
        if self._rescales.savepoint is not None:
            self._checkpoints.go_on_from(self._rescales.savepoint)
        self._decide(outcome)

    def _rescale_place(self) -> CheckpointPlace:
        return CheckpointPlace(f"{self._place.checkpoint_dir}/rescale-{self._submission.job}")

    # decisions

    def _decide(self, event: ev.JobEvent) -> None:
        for decision in self._state.handle(event, self._place.clock.monotonic()):
            self._carry_out(decision)

    def _carry_out(self, decision: ev.JobDecision) -> None:
        match decision:
            case ev.CancelAttempt():
                self._stop("the job was cancelled")
            case ev.StopAttempt():
                self._stop("the job is being rescaled")
            case ev.AwaitRoom():
                self._decide(ev.RoomThere())
            case ev.PrepareAttempt():
                wanted, before = self._state.next_graph, self._state.graph
                graphs = (wanted,) if wanted is before else (wanted, before)
                self._checkpoints.prepare(graphs, self._prepared)
            case ev.CheckpointForRescale(number):
                self._rescales.take_checkpoint(number, self._checkpoints)
            case ev.AnswerRescale():
                self._rescales.answer(decision, self._state.graph, self._state.next_graph)
            case ev.StartAttempt(number):
                self._begin(number)
            case ev.EndJob(status, failure):
                self.failure = failure
                self.is_over = True
                self._checkpoints.end(status)
                self._rescales.close(self._checkpoints)
                self._checkpoints.close()
            case _:
                assert_never(decision)

    def _stop(self, reason: str) -> None:
        if self.attempt is not None:
            self._decide(ev.AttemptMoved(JobStatus.CANCELLING))
            self._leave(self.attempt, reason, stop=True)
            self._decide(ev.AttemptOver(JobStatus.CANCELED, None))

    def _find_ways(self) -> None:
        self.ways = [] if self.attempt is None else list(self.attempt.ways)
        self.ways += self._checkpoints.ways

    def _stuck(self) -> str:
        if self.attempt is None:
            return f"job {self._submission.name!r} is {self.status.value}"
        return ", ".join(self.attempt.pipeline.unfinished())
