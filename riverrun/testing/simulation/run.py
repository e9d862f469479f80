"""One simulated run: a whole job, its JobMasters, its store and its faults, in one thread.

At each step one thing happens, drawn by the schedule's seed: something on its way arrives, a task takes
a turn, or, when nobody can do anything, time passes. Faults strike at the steps, messages and
operations that the schedule names.
"""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from riverrun.checkpoint.restore_channels import EdgeGone
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.checkpoint.statistics import CheckpointStatus
from riverrun.checkpoint.stop_mark import JobStopped
from riverrun.core.clock import ManualClock
from riverrun.core.errors import Failure, RiverrunError
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import JobSubmission
from riverrun.local.attempt import LocalAttempt
from riverrun.local.job import LocalJob
from riverrun.local.pipeline import Step
from riverrun.local.surroundings import Client, Surroundings
from riverrun.local.ways import Way, WayKind
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointAcknowledged,
    CheckpointCompleted,
    CheckpointDeclined,
    EnumeratorPrepared,
    PrepareEnumerator,
    TriggerCheckpoint,
)
from riverrun.runtime.settings import TaskSettings
from riverrun.storage.memory import MemoryStorage
from riverrun.testing.faulty_storage import Fault as StorageFault
from riverrun.testing.faulty_storage import FaultyStorage, StorageOperation
from riverrun.testing.simulation.faults import Extent, Fault, FaultKind, PendingFaults
from riverrun.testing.simulation.leftovers import Leftovers
from riverrun.testing.simulation.program import SimulatedProgram
from riverrun.testing.simulation.rescales import RescaleWishes
from riverrun.testing.simulation.savepoints import SavepointWishes
from riverrun.testing.simulation.schedule import Schedule
from riverrun.testing.simulation.trace import Trace

_BEGAN_MS: Final = 1_600_000_000_000
_MOST_STEPS: Final = 100_000
_MOST_MASTERS: Final = 50
_MOST_FAILURES: Final = 30
"""Of one JobMaster, whose job was disturbed only a few times."""
_LOOK_EVERY: Final = 50
_USUAL_TASKS: Final = 4
"""Tasks run side by side: with more of them a turn of one takes less of everybody's time."""
_RETRY_MS: Final = 10.0
_MESSAGES: Final = (
    TriggerCheckpoint
    | CheckpointCompleted
    | CheckpointAborted
    | CheckpointAcknowledged
    | CheckpointDeclined
    | PrepareEnumerator
    | EnumeratorPrepared
)
"""What may be lost, late or repeated."""

_REFUSALS: Final = {
    FaultKind.REFUSED: StorageFault.ERROR_BEFORE,
    FaultKind.CUT_SHORT: StorageFault.PARTIAL,
    FaultKind.DONE_BUT_FAILED: StorageFault.ERROR_AFTER,
}
_ATOMIC: Final = ("/_metadata", *(f"/owner/{epoch}" for epoch in range(100)))
_CHANGES: Final = frozenset({"write", "upload", "delete", "delete_folder"})
"""Operations of a store that can go half way, or further than reported."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    status: JobStatus
    failure: Failure | None
    values: list[Any]
    """The result, in the order of its arrival at the client."""
    extent: Extent
    struck: tuple[Fault, ...]
    """The faults that did strike."""
    attempts: int
    checkpoints: int
    """How many completed, as far as JobMasters that were not replaced know."""
    savepoints: int = 0
    """How many of these were savepoints."""
    jobs: int = 1
    """How many jobs there were: each but the first goes on from the savepoint of the one before."""
    rescales: int = 0
    """How often a running job was rescaled."""
    problem: str | None = None
    """Why the run did not come to an end."""
    trace: tuple[str, ...] = ()


class Run:
    """Runs a program as a schedule says; used once."""

    def __init__(
        self,
        programs: Sequence[SimulatedProgram],
        schedule: Schedule,
        folder: Path,
        *,
        traced: bool = False,
        most_steps: int = _MOST_STEPS,
    ) -> None:
        manner = schedule.manner
        self._most_steps = most_steps
        self._programs = programs
        program = programs[0]
        self._haste = manner.haste
        self._clock = ManualClock(_BEGAN_MS)
        self._rng = random.Random(f"order {schedule.order}")  # noqa: S311  (has to be repeatable)
        self._trace = Trace(self._clock) if traced else None
        self._faults = PendingFaults(schedule.faults)
        self._struck: list[Fault] = []
        self._steps = self._messages = self._works = 0
        self._attempts = self._checkpoints = self._savepoints = 0
        self._wishes = SavepointWishes(schedule.savepoints)
        self._rescales = RescaleWishes(schedule.rescales)
        self._jobs = 1
        self._storage = FaultyStorage(MemoryStorage(), self._storage_fault)
        self._values: list[Any] = []
        config = {**program.config, **manner.config}
        self._config = config
        self._place = Surroundings(
            clock=self._clock,
            rng=self._rng,
            client=Client({program.result_id: self._collect}),
            settings=replace(
                TaskSettings.of(config, seed=schedule.order), longest_run=manner.longest_run
            ),
            storage=lambda _: self._storage,
            checkpoint_dir="memory://simulated",
            folder=folder,
            open_spill=io.BytesIO,
            wants_metrics=False,
            turn_ms=manner.turn_ms * _USUAL_TASKS / max(_USUAL_TASKS, program.tasks),
        )
        self._masters = 0
        self._savepoint: str | None = None
        self._held: dict[Way, int] = {}
        self._again: list[tuple[int, Way, Any]] = []
        self._broken: list[tuple[float, LocalAttempt]] = []
        self._leftovers = Leftovers(self._rng, manner.haste, self._trace)
        self._job = self._new_master()

    def run(self) -> Outcome:
        """The whole run."""
        problem = None
        try:
            self._job.start()
            while not self._job.is_over or self._goes_on():
                self._step()
        except _Endless as error:
            problem = str(error)
        except RiverrunError as error:
            problem = f"{type(error).__name__}: {error}"
        finally:
            self._clean_up()
        self._count(self._job)
        return Outcome(
            status=self._job.status,
            failure=self._job.failure,
            values=self._values,
            extent=Extent(self._steps, self._messages, self._works, len(self._storage.operations)),
            struck=tuple(self._struck),
            attempts=self._attempts,
            checkpoints=self._checkpoints,
            savepoints=self._savepoints,
            jobs=self._jobs,
            rescales=self._rescales.fulfilled,
            problem=problem,
            trace=() if self._trace is None else tuple(self._trace.lines),
        )

    # one step

    def _step(self) -> None:
        self._steps += 1
        if self._steps % _LOOK_EVERY == 0:
            self._check_progress()
        for fault in self._faults.steps.pop(self._steps, ()):
            self._strike(fault)
        for wish in self._wishes.due(self._steps, str(self._job_id())):
            self._note(f"*** savepoint wanted, to stop: {wish.order.stop}")
            self._job.request_savepoint(wish)
        for words in self._rescales.ask(self._steps, self._job):
            self._note(words)
        if self._again or self._broken or self._leftovers:
            self._haunt()
        job = self._job
        job.look()
        if not job.is_over:
            self._advance(job)

    def _check_progress(self) -> None:
        if self._steps > self._most_steps:
            raise _Endless(f"the run has not ended after {self._steps} steps")
        failures = self._job.failures()
        if len(failures) > _MOST_FAILURES:
            again = failures[-1].failure.headline()
            raise _Endless(f"the job fails again and again: {again}")

    def _advance(self, job: LocalJob) -> None:
        ready = [way for way in job.ways if way.waiting]
        if self._held:
            ready = [way for way in ready if self._held.get(way, 0) <= self._steps]
        if ready and self._rng.random() < self._haste:
            self._move(job, ready)
            return
        if job.turn() is Step.RAN:
            if self._trace is not None:
                self._note(f"{self._whose_turn(job)}: a turn")
        elif ready:
            self._move(job, ready)
        elif self._held:
            self._held.clear()
        elif self._leftovers or self._again:
            self._note("nothing happens")
        else:
            self._sleep(job)

    def _move(self, job: LocalJob, ready: Sequence[Way]) -> None:
        way = ready[int(self._rng.random() * len(ready))]
        thing = way.waiting[0]
        if way.kind in (WayKind.ORDERS, WayKind.REPORTS):
            if isinstance(thing, _MESSAGES) and self._misdirected(job, way, thing):
                return
        elif way.kind is not WayKind.OUTCOMES:
            self._works += 1
            slow = self._faults.works.pop(self._works, None)
            if slow is not None:
                self._hold(way, slow[0])
                return
        if self._trace is not None:
            self._trace.moved(self._steps, way, thing)
        job.move(way)

    def _misdirected(self, job: LocalJob, way: Way, thing: Any) -> bool:
        """Whether the message does not arrive now; a repeated one does, and once more later."""
        self._messages += 1
        for fault in self._faults.messages.pop(self._messages, ()):
            if fault.kind is FaultKind.LATE:
                self._hold(way, fault)
                return True
            self._struck_by(fault)
            if fault.kind is FaultKind.REPEATED:
                self._again.append((self._steps + fault.extent, way, thing))
                continue
            way.waiting.popleft()
            if job.attempt is not None:
                noticed = self._clock.monotonic() + fault.extent * 10
                self._broken.append((noticed, job.attempt))
            if self._trace is not None:
                self._trace.moved(self._steps, way, thing, "  (lost)")
            return True
        return False

    def _sleep(self, job: LocalJob) -> None:
        due = min((at for at, _ in self._broken), default=None)
        wake_at = job.wake_at()
        if due is not None and (wake_at is None or due < wake_at):
            self._clock.advance(max(0.0, due - self._clock.monotonic()))
        else:
            job.sleep()
        self._note("time passes")

    # faults

    def _strike(self, fault: Fault) -> None:
        self._struck_by(fault)
        if fault.kind in (FaultKind.MASTER_CRASH, FaultKind.MASTER_REPLACED):
            self._replace_master(fault)
        elif self._job.attempt is not None:
            self._end_attempt(fault)

    def _end_attempt(self, fault: Fault) -> None:
        failure = Failure("SimulatedFault", fault.kind.value)
        if fault.kind is FaultKind.TASK_CRASH:
            self._job.fail(failure)
            return
        zombie = self._job.abandon(failure)
        if zombie is not None:
            self._leftovers.add(zombie, self._steps + fault.extent)

    def _replace_master(self, fault: Fault) -> None:
        old = self._job
        self._count(old)
        if fault.kind is FaultKind.MASTER_REPLACED:
            old.cut_off()
            self._leftovers.add(old, self._steps + fault.extent)
        elif old.attempt is not None:
            attempt = old.attempt
            old.cut_off()
            if fault.extent % 2:
                self._leftovers.add(attempt, self._steps + fault.extent)
            else:
                attempt.close()
        self._held.clear()
        try:
            self._job = self._new_master(resume=True)
        except JobStopped as stopped:
            self._note(str(stopped))
            self._next_job(stopped.savepoint)
        self._job.start()

    def _goes_on(self) -> bool:
        """Whether the job that is over stopped with a savepoint, so that another one goes on from it."""
        savepoint = self._job.stopped_with
        if savepoint is None:
            return False
        self._count(self._job)
        self._held.clear()
        self._next_job(savepoint)
        self._job.start()
        return True

    def _next_job(self, savepoint: str) -> None:
        self._jobs += 1
        self._note(f"job {self._jobs} goes on from {savepoint}")
        self._savepoint = savepoint
        self._job = self._new_master()

    def _haunt(self) -> None:
        """Let arrive what should not, and let go on what should be gone."""
        for due, way, thing in [each for each in self._again if each[0] <= self._steps]:
            self._again.remove((due, way, thing))
            if way in self._job.ways:
                if self._trace is not None:
                    self._trace.moved(self._steps, way, thing, "  (again)")
                way.waiting.appendleft(thing)
                self._job.move(way)
        now = self._clock.monotonic()
        for noticed, attempt in [each for each in self._broken if each[0] <= now]:
            self._broken.remove((noticed, attempt))
            if attempt is self._job.attempt:
                self._note("a connection is found broken")
                self._job.fail(Failure("SimulatedFault", "a connection is broken"))
        self._leftovers.step(self._steps)

    def _storage_fault(self, operation: StorageOperation) -> StorageFault:
        for fault in self._faults.operations.pop(operation.number + 1, ()):
            self._struck_by(fault, f": {operation.kind} {operation.location}")
            wanted = _REFUSALS[fault.kind]
            # A file that makes others count is there as a whole or not at all: that is what a store is.
            atomic = wanted is StorageFault.PARTIAL and operation.location.endswith(_ATOMIC)
            possible = operation.kind in _CHANGES and not atomic
            return wanted if possible else StorageFault.ERROR_BEFORE
        return StorageFault.NONE

    def _struck_by(self, fault: Fault, remark: str = "") -> None:
        self._struck.append(fault)
        self._note(f"*** {fault}{remark}")

    def _hold(self, way: Way, fault: Fault) -> None:
        self._struck_by(fault, f": {way.kind.value} of {way.name}")
        self._held[way] = self._steps + fault.extent

    # parts

    def _job_id(self) -> JobId:
        return JobId(f"{self._jobs:032x}")

    def _new_master(self, *, resume: bool = False) -> LocalJob:
        while True:
            self._masters += 1
            if self._masters > _MOST_MASTERS:
                raise _Endless("no JobMaster could start")
            copies = self._programs[int(self._rng.random() * len(self._programs))].copies
            try:
                return LocalJob(
                    JobSubmission(
                        self._job_id(),
                        "simulated",
                        copies.graph,
                        self._config,
                        restore_from=self._savepoint,
                        resume=resume,
                    ),
                    copies,
                    self._place,
                    f"JobMaster {self._masters}",
                )
            except JobStopped:
                raise
            except RiverrunError as error:
                # Another parallelism may chain operators otherwise; any other refusal is a mistake.
                refused = isinstance(error, RestoreRefused) and not isinstance(error, EdgeGone)
                if refused or not self._struck:
                    raise
                self._note(f"JobMaster {self._masters} cannot start: {error}")
                self._clock.advance(_RETRY_MS)

    def _collect(self, subtask: int, values: Sequence[Any]) -> None:
        del subtask
        self._values += values

    def _count(self, job: LocalJob) -> None:
        self._attempts += job.attempts
        statistics = job.checkpoints()
        if statistics is not None:
            self._checkpoints += statistics.counts.completed
            self._savepoints += sum(
                each.is_savepoint and each.status is CheckpointStatus.COMPLETED
                for each in statistics.history
            )

    def _clean_up(self) -> None:
        self._leftovers.close()
        if self._job.attempt is not None:
            self._job.attempt.close()

    def _note(self, text: str) -> None:
        if self._trace is not None:
            self._trace.note(self._steps, text)

    def _whose_turn(self, job: LocalJob) -> str:
        running = None if job.attempt is None else job.attempt.pipeline.running
        return "nobody" if running is None else f"{running.name} ({running.subtask})"


class _Endless(Exception):  # noqa: N818  (a way out of the run, which makes it a problem)
    """The run does not come to its end."""
