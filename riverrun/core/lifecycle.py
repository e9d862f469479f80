"""Job states and task states as Flink's: one enum and one table each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, Generic, TypeVar

from riverrun.core.errors import IllegalTransition


class JobStatus(Enum):
    """Where a job stands."""

    INITIALIZING = "INITIALIZING"
    CREATED = "CREATED"
    RUNNING = "RUNNING"
    FAILING = "FAILING"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELED = "CANCELED"
    FINISHED = "FINISHED"
    RESTARTING = "RESTARTING"
    SUSPENDED = "SUSPENDED"
    RECONCILING = "RECONCILING"

    def is_globally_terminal_state(self) -> bool:
        """Whether the job is over for good, on every JobManager."""
        return self in _GLOBALLY_TERMINAL

    def is_terminal_state(self) -> bool:
        """Whether this JobManager is done with the job."""
        return self in _GLOBALLY_TERMINAL or self is JobStatus.SUSPENDED


_GLOBALLY_TERMINAL: Final = frozenset({JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED})


class TaskStatus(Enum):
    """Where one attempt of a subtask stands."""

    CREATED = "CREATED"
    SCHEDULED = "SCHEDULED"
    DEPLOYING = "DEPLOYING"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELING = "CANCELING"
    CANCELED = "CANCELED"
    FAILED = "FAILED"
    RECONCILING = "RECONCILING"

    def is_terminal(self) -> bool:
        """Whether this attempt is over."""
        return self in (TaskStatus.FINISHED, TaskStatus.CANCELED, TaskStatus.FAILED)


S = TypeVar("S", bound=Enum)

_J = JobStatus
JOB_MOVES: Final[Mapping[JobStatus, frozenset[JobStatus]]] = {
    _J.INITIALIZING: frozenset({_J.CREATED, _J.CANCELLING, _J.FAILING, _J.FAILED, _J.SUSPENDED}),
    _J.CREATED: frozenset({_J.RUNNING, _J.CANCELLING, _J.FAILING, _J.SUSPENDED}),
    # Straight to RESTARTING: a job that is rescaled, as under Flink's adaptive scheduler.
    _J.RUNNING: frozenset({_J.FINISHED, _J.CANCELLING, _J.FAILING, _J.RESTARTING, _J.SUSPENDED}),
    _J.FAILING: frozenset({_J.FAILED, _J.RESTARTING, _J.CANCELLING, _J.SUSPENDED}),
    _J.CANCELLING: frozenset({_J.CANCELED, _J.FAILING}),
    _J.RESTARTING: frozenset({_J.CREATED, _J.CANCELLING, _J.FAILING, _J.SUSPENDED}),
    _J.SUSPENDED: frozenset({_J.RESTARTING}),
    _J.RECONCILING: frozenset({_J.RUNNING, _J.FAILING, _J.CANCELLING, _J.SUSPENDED}),
    _J.FAILED: frozenset(),
    _J.CANCELED: frozenset(),
    _J.FINISHED: frozenset(),
}

_T = TaskStatus
TASK_MOVES: Final[Mapping[TaskStatus, frozenset[TaskStatus]]] = {
    _T.CREATED: frozenset({_T.SCHEDULED, _T.CANCELED, _T.FAILED, _T.RECONCILING}),
    _T.SCHEDULED: frozenset({_T.DEPLOYING, _T.CANCELED, _T.FAILED}),
    _T.DEPLOYING: frozenset(
        {_T.INITIALIZING, _T.RUNNING, _T.FINISHED, _T.CANCELING, _T.CANCELED, _T.FAILED}
    ),
    _T.INITIALIZING: frozenset({_T.RUNNING, _T.FINISHED, _T.CANCELING, _T.CANCELED, _T.FAILED}),
    _T.RUNNING: frozenset({_T.FINISHED, _T.CANCELING, _T.CANCELED, _T.FAILED}),
    _T.CANCELING: frozenset({_T.CANCELED, _T.FAILED, _T.FINISHED}),
    _T.RECONCILING: frozenset({_T.RUNNING, _T.FINISHED, _T.CANCELED, _T.FAILED}),
    _T.FINISHED: frozenset(),
    _T.CANCELED: frozenset(),
    _T.FAILED: frozenset(),
}


class Life(Generic[S]):
    """A state and the legal moves from it; an illegal move raises with the whole story.

    >>> life = Life("job 'spend'", JobStatus.CREATED, JOB_MOVES)
    >>> life.go(JobStatus.RUNNING)
    >>> life.go(JobStatus.CREATED)
    Traceback (most recent call last):
        ...
    riverrun.core.errors.IllegalTransition: job 'spend': CREATED -> RUNNING -x-> CREATED
    """

    def __init__(self, name: str, start: S, moves: Mapping[S, frozenset[S]]) -> None:
        self._name = name
        self._moves = moves
        self._story = [start]

    @property
    def state(self) -> S:
        """The state now."""
        return self._story[-1]

    @property
    def story(self) -> tuple[S, ...]:
        """Every state so far, in order."""
        return tuple(self._story)

    def can(self, to: S) -> bool:
        """Whether the table has the move from here to ``to``."""
        return to in self._moves[self.state]

    def go(self, to: S) -> None:
        """Move to ``to``; IllegalTransition when the table does not have the move."""
        if not self.can(to):
            raise IllegalTransition(
                self._name, tuple(str(s.value) for s in self._story), str(to.value)
            )
        self._story.append(to)
