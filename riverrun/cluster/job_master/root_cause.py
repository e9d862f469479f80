"""Of all that goes wrong when a job fails, which is the cause: pure bookkeeping.

One failure brings down the rest: the engine ends every task, connections break, neighbours report
that their input stopped. A task reports its own failure before the engine can see it, so a reported
cause ends the search; anything else waits a little for one.
"""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum

from riverrun.cluster.job_master.tasks import TaskRecord
from riverrun.core.errors import Failure
from riverrun.protocol.control import FailureOrigin


class Weight(IntEnum):
    """How much a failure explains; more beats less, the first beats the next of the same weight."""

    CONSEQUENCE = 0
    DISAPPEARANCE = 1
    """A process or the engine went away and nobody said why."""
    CAUSE = 2


WEIGHT_OF = {
    FailureOrigin.USER: Weight.CAUSE,
    FailureOrigin.SYSTEM: Weight.CAUSE,
    FailureOrigin.CONSEQUENCE: Weight.CONSEQUENCE,
}


class RootCause:
    """The best explanation so far, until it is settled.

    >>> cause = RootCause()
    >>> cause.suspect(Failure("WorkerLost", "gone"), Weight.DISAPPEARANCE)
    >>> cause.suspect(Failure("ValueError", "boom"), Weight.CAUSE)
    >>> cause.suspect(Failure("KeyError", "later"), Weight.CAUSE)
    >>> cause.is_known, cause.settle().message
    (True, 'boom')
    """

    def __init__(self) -> None:
        self._suspect: tuple[Weight, Failure] | None = None
        self._engine: Failure | None = None
        self._settled: Failure | None = None

    @property
    def settled(self) -> Failure | None:
        """The cause, once it was settled; it never changes after that."""
        return self._settled

    @property
    def is_known(self) -> bool:
        """Whether waiting longer could not change the cause."""
        return self._suspect is not None and self._suspect[0] is Weight.CAUSE

    def suspect(self, failure: Failure, weight: Weight) -> None:
        """Add an explanation."""
        if self._suspect is None or weight > self._suspect[0]:
            self._suspect = (weight, failure)

    def engine_failed(self, failure: Failure) -> None:
        """Add what the engine said; it also comments the disappearance of a task."""
        self._engine = failure
        self.suspect(failure, Weight.DISAPPEARANCE)

    def settle(self) -> Failure:
        """Decide for the best explanation so far."""
        if self._settled is None:
            self._settled = self._explain()
        return self._settled

    def _explain(self) -> Failure:
        if self._suspect is None:
            return Failure("InternalError", "the job failed but nothing was reported")
        weight, failure = self._suspect
        engine = self._engine
        if engine is None or engine is failure or weight is Weight.CAUSE or failure.hint:
            return failure
        return replace(failure, hint=f"the engine said: {engine.headline()}")


def worker_lost(task: TaskRecord) -> Failure:
    """The failure of a task whose process vanished."""
    return Failure(
        "WorkerLost",
        f"the Python worker ({task.process()}) went away: killed or out of memory?",
        task=task.task,
        subtask=task.index,
    )


def worker_silent(task: TaskRecord, silent_ms: float) -> Failure:
    """The failure of a task whose process does not answer."""
    return Failure(
        "WorkerLost",
        f"the Python worker ({task.process()}) was silent for {silent_ms / 1000:.1f} s: "
        f"stopped, swapping or cut off from the network?",
        task=task.task,
        subtask=task.index,
    )


def broken_law(task: TaskRecord, what: str) -> Failure:
    """The failure of a task that did what a task must not do."""
    return Failure(
        "InternalError",
        f"the task {what}",
        task=task.task,
        subtask=task.index,
    )


def not_registered(missing: list[TaskRecord], of: int, waited_ms: int) -> Failure:
    """The failure of a job whose tasks did not all come up."""
    names = ", ".join(task.describe() for task in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""  # noqa: PLR2004  (as listed above)
    return Failure(
        "ExternalError",
        f"{len(missing)} of {of} tasks did not start within {waited_ms / 1000:.0f} s "
        f"(missing: {names}{more})",
        hint="can the workers reach the driver's control port, and has the cluster enough slots?",
    )


def never_ended(tasks: list[TaskRecord]) -> Failure:
    """The failure of a job whose engine ended before its tasks did."""
    names = ", ".join(f"{task.describe()} in {task.status.value}" for task in tasks[:3])
    return Failure(
        "InternalError",
        f"the engine ended the job but {len(tasks)} tasks did not report their end ({names})",
    )
