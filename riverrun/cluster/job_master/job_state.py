"""The job's decision core: what follows from the end of an attempt. No I/O, no threads, no clock.

    INITIALIZING -> CREATED -> RUNNING         as the first attempt does
    FAILING -> RESTARTING                      nothing of the attempt is left, the strategy says "again"
    RESTARTING -> CREATED                      the delay is over, the next attempt is prepared
    RESTARTING -> FAILING -> ...               it could not be prepared: a failure like any other
    FAILING -> FAILED                          the strategy gives up, or the failure is not to be retried
    any -> CANCELLING -> CANCELED              also while nothing runs
    RUNNING -> RESTARTING                      the job is rescaled: the attempt is being stopped
    any -> SUSPENDED                           another JobManager will go on: the attempt was stopped

The restart strategy is asked when an attempt's cause is settled, so its delay runs while the tasks are
still being stopped. It is not asked about a rescale, which is no failure (see ``rescale_state``).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from enum import Enum, auto
from typing import Final, assert_never

from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_master.rescale_state import RescaleState
from riverrun.cluster.job_master.restart_strategy import GiveUp, Restart, RestartStrategy
from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt, Millis
from riverrun.core.lifecycle import JOB_MOVES, JobStatus, Life
from riverrun.graph.executor import FailureRecord
from riverrun.graph.job_graph import JobGraph

_HISTORY: Final = 100
"""How many failures are remembered."""
_NO_GRAPH: Final = JobGraph((), ())


class _Step(Enum):
    """What a restart waits for, in this order."""

    DELAY = auto()
    ROOM = auto()
    PREPARATION = auto()


class JobState:
    """One job's life, from its submission to its end, over all its attempts."""

    def __init__(
        self, job_name: str, strategy: RestartStrategy, graph: JobGraph = _NO_GRAPH
    ) -> None:
        self._life = Life(f"job {job_name!r}", JobStatus.INITIALIZING, JOB_MOVES)
        self._strategy = strategy
        self._attempt = Attempt(0)
        self._has_attempt = False
        self._cancelled = False
        self._suspended = False
        self._work_done = False
        self._client_failure: Failure | None = None
        self._verdict: Restart | GiveUp | None = None
        self._step: _Step | None = None
        self._restart_at = 0.0
        self._failures: deque[FailureRecord] = deque(maxlen=_HISTORY)
        self._rescale = RescaleState(graph)
        self._is_up = False
        self._is_stopping = False
        """Whether the attempt is being stopped so that another one can follow."""
        self._decided: list[ev.JobDecision] = []

    @property
    def status(self) -> JobStatus:
        """Where the job stands."""
        return self._life.state

    @property
    def story(self) -> tuple[JobStatus, ...]:
        """Every state so far."""
        return self._life.story

    @property
    def attempt(self) -> Attempt:
        """The number of the latest attempt."""
        return self._attempt

    @property
    def will_restart(self) -> bool:
        """Whether another attempt follows the one that is being stopped now, as far as is known."""
        unwanted = self._cancelled or self._client_failure is not None
        return (isinstance(self._verdict, Restart) or self._is_stopping) and not unwanted

    @property
    def graph(self) -> JobGraph:
        """The graph of the latest attempt."""
        return self._rescale.graph

    @property
    def next_graph(self) -> JobGraph:
        """The graph that the next attempt should have."""
        return self._rescale.next_graph

    def seen_as(self, status: JobStatus) -> JobStatus:
        """The job's status when its attempt comes to ``status``, which is no end."""
        stopping = self._is_stopping and status is JobStatus.CANCELLING
        return self.status if stopping else status

    def failures(self) -> tuple[FailureRecord, ...]:
        """What went wrong so far, oldest first."""
        return tuple(self._failures)

    def deadline(self) -> float | None:
        """When TimePassed is due, in the time that ``handle`` is given."""
        return self._restart_at if self._step is _Step.DELAY else None

    def handle(self, event: ev.JobEvent, now: float) -> tuple[ev.JobDecision, ...]:
        """Take note of ``event`` at ``now`` (milliseconds since the epoch, never going back) and decide."""
        if self.status.is_terminal_state():
            return ()
        self._decided = []
        self._note(event, now)
        self._maybe_restart(now)
        self._maybe_rescale()
        return tuple(self._decided)

    def _note(self, event: ev.JobEvent, now: float) -> None:  # noqa: C901, PLR0912  (one case for each fact)
        match event:
            case ev.StartRefused(failure):
                self._record(failure, now)
                self._end(JobStatus.FAILED, failure)
            case ev.AttemptMoved(status):
                self._attempt_moved(status)
            case ev.CauseSettled(failure):
                self._record(failure, now)
                self._judge(failure, now)
            case ev.WorkDone():
                self._work_done = True
            case ev.AttemptOver(status, failure):
                self._has_attempt = False
                self._after_attempt(status, failure, now)
            case ev.CancelRequested():
                self._cancel()
            case ev.SuspendRequested():
                self._suspend()
            case ev.ClientFailed(failure):
                self._client_failed(failure, now)
            case ev.RoomThere():
                if self._step is _Step.ROOM:
                    self._step = _Step.PREPARATION
                    self._rescale.prepare()
                    self._decided.append(ev.PrepareAttempt(Attempt(self._attempt + 1)))
            case ev.AttemptPrepared():
                if self._step is _Step.PREPARATION:
                    self._start_prepared(event)
            case ev.PreparationFailed(failure):
                if self._step in (_Step.ROOM, _Step.PREPARATION):
                    self._fail_between(failure, now)
            case ev.Remarked(failure):
                self._record(failure, now)
            case ev.AttemptUp():
                self._is_up = True
            case ev.RescaleWanted():
                self._want(event)
            case ev.RescaleCheckpointed():
                self._after_checkpoint(event)
            case ev.RescaleWithdrawn(reason):
                if self.status is JobStatus.RUNNING:
                    self._decided += self._rescale.fail(reason)
            case ev.TimePassed():
                pass
            case _:
                assert_never(event)

    def _start_prepared(self, prepared: ev.AttemptPrepared) -> None:
        self._step = None
        self._decided += self._rescale.prepared(prepared.graph, prepared.refused)
        self._attempt = Attempt(self._attempt + 1)
        self._has_attempt = True
        self._decided.append(ev.StartAttempt(self._attempt))

    def _attempt_moved(self, status: JobStatus) -> None:
        self._has_attempt = True
        if status is JobStatus.CREATED:
            self._is_up = False
        self._is_stopping = self._is_stopping and status is JobStatus.CANCELLING
        self._go(self.seen_as(status))

    def _maybe_rescale(self) -> None:
        if self._is_up and self._runs:
            self._decided += self._rescale.attempt_runs()

    @property
    def _runs(self) -> bool:
        """Whether there is an attempt that nothing is known against."""
        wanted = not self._cancelled and not self._suspended and self._client_failure is None
        return self.status is JobStatus.RUNNING and wanted and not self._work_done

    def _want(self, wanted: ev.RescaleWanted) -> None:
        why = self._why_not_rescaled()
        if why is None:
            self._decided += self._rescale.want(wanted.wish, wanted.graph)
        else:
            self._decided.append(ev.AnswerRescale(wanted.wish, why))

    def _why_not_rescaled(self) -> str | None:
        if self._work_done:
            return "its work is done"
        gave_up = isinstance(self._verdict, GiveUp)
        if self._cancelled or gave_up or self._client_failure is not None:
            return f"the job is {self.status.value} and will not go on"
        return None

    def _after_checkpoint(self, outcome: ev.RescaleCheckpointed) -> None:
        """The checkpoint for a rescale is complete, or not; a failing job is rescaled without one."""
        is_awaited = self._rescale.checkpointed(outcome.number)
        if not self._runs:
            return
        if outcome.reason is not None:
            if is_awaited:
                self._decided += self._rescale.fail(outcome.reason)
        elif outcome.final or (is_awaited and self._rescale.changes):
            self._is_stopping = True
            self._go(JobStatus.RESTARTING)
            self._decided.append(ev.StopAttempt())

    def _judge(self, failure: Failure, now: float) -> None:
        if not failure.retryable or self._work_done:
            self._verdict = GiveUp("")
        else:
            self._verdict = self._strategy.on_failure(now)
        if isinstance(self._verdict, Restart):
            self._restart_at = now + self._verdict.delay_ms

    def _after_attempt(self, status: JobStatus, failure: Failure | None, now: float) -> None:
        self._is_up = False
        if self._suspended:
            self._end_suspended(status)
        elif self._is_stopping:
            self._after_stop(now)
        elif status is not JobStatus.FAILED:
            self._end(status, failure)
        elif self._client_failure is not None:
            if failure != self._client_failure:
                self._record(self._client_failure, now)
            self._end(JobStatus.FAILED, self._client_failure)
        elif not isinstance(self._verdict, Restart):
            self._end(JobStatus.FAILED, self._explained(failure))
        elif self._cancelled:
            self._go(JobStatus.CANCELLING)
            self._end(JobStatus.CANCELED, None)
        else:
            self._begin_restart()

    def _after_stop(self, now: float) -> None:
        self._is_stopping = False
        if self._client_failure is not None:
            self._fail_between(self._client_failure, now)
        elif self._cancelled:
            self._end(JobStatus.CANCELED, None)
        else:
            self._restart_at = now
            self._begin_restart()

    def _begin_restart(self) -> None:
        self._verdict = None
        self._step = _Step.DELAY
        self._go(JobStatus.RESTARTING)

    def _maybe_restart(self, now: float) -> None:
        if self._step is _Step.DELAY and now >= self._restart_at:
            self._step = _Step.ROOM
            self._decided.append(ev.AwaitRoom())

    def _cancel(self) -> None:
        if self._has_attempt:
            self._cancelled = True
            if self._is_stopping:
                self._go(JobStatus.CANCELLING)
            self._decided.append(ev.CancelAttempt())
        else:
            self._go(JobStatus.CANCELLING)
            self._end(JobStatus.CANCELED, None)

    def _suspend(self) -> None:
        if self._suspended or self.status is JobStatus.CANCELLING:
            return
        self._suspended = True
        if not self._has_attempt:
            self._end(JobStatus.SUSPENDED, None)
        elif not self._is_stopping and self.status is not JobStatus.FAILING:
            self._is_stopping = True
            self._decided.append(ev.StopAttempt("the job is being suspended"))

    def _end_suspended(self, status: JobStatus) -> None:
        """What stopped the attempt does not matter, unless the job is over by it."""
        self._is_stopping = False
        if status is not JobStatus.FINISHED:
            is_cancelled = self.status is JobStatus.CANCELLING
            status = JobStatus.CANCELED if is_cancelled else JobStatus.SUSPENDED
        self._end(status, None)

    def _client_failed(self, failure: Failure, now: float) -> None:
        self._client_failure = failure
        if not self._has_attempt:
            self._fail_between(failure, now)

    def _fail_between(self, failure: Failure, now: float) -> None:
        """A failure while there is no attempt."""
        self._record(failure, now)
        self._go(JobStatus.FAILING)
        self._judge(failure, now)
        if self.will_restart:
            self._begin_restart()
        else:
            self._end(JobStatus.FAILED, self._explained(failure))

    def _explained(self, failure: Failure | None) -> Failure | None:
        """The failure that ends the job, with why it was the last one."""
        gave_up = self._verdict.reason if isinstance(self._verdict, GiveUp) else ""
        if failure is None or failure.hint or not gave_up or not self._attempt:
            return failure
        return replace(failure, hint=f"the job was not started again: {gave_up}")

    def _record(self, failure: Failure, now: float) -> None:
        self._failures.append(FailureRecord(Millis(int(now)), failure, self._attempt, failure.task))

    def _go(self, to: JobStatus) -> None:
        if to is not self.status:
            self._life.go(to)

    def _end(self, status: JobStatus, failure: Failure | None) -> None:
        self._step = None
        self._go(status)
        self._decided += self._rescale.fail(f"the job is {status.value}")
        self._decided.append(ev.EndJob(status, failure))
