"""The running program: subtasks and their attempts.

Only bookkeeping: whoever learns something says so, with the time. Scheduling, metrics and the REST
interface read from here. Not thread-safe; it belongs to the job's main thread.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from riverrun.core.errors import Failure, InternalError
from riverrun.core.ids import Attempt, Millis, SubtaskId, VertexId
from riverrun.core.lifecycle import TASK_MOVES, Life, TaskStatus
from riverrun.graph.job_graph import JobGraph, JobVertex

_PAST_ATTEMPTS: Final = 16
"""How many attempts are remembered: a job may start over for ever."""
_FIRST: Final = Attempt(0)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an attempt runs."""

    host: str
    pid: int
    task_manager: str | None = None
    """Id of the executor; ``None`` when it is not known."""


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """An attempt that is over."""

    attempt: Attempt
    status: TaskStatus
    timestamps: Mapping[TaskStatus, Millis]
    failure: Failure | None = None
    placement: Placement | None = None


class Subtask:
    """One parallel copy of a vertex, in its current attempt, with the attempts before."""

    def __init__(
        self, subtask_id: SubtaskId, task_name: str, at: Millis, attempt: Attempt = _FIRST
    ) -> None:
        self.id: Final = subtask_id
        self._name: Final = f"{task_name} ({subtask_id.index})"
        self._history: deque[PastAttempt] = deque(maxlen=_PAST_ATTEMPTS)
        self._failure: Failure | None = None
        self._placement: Placement | None = None
        self._begin(attempt, at)

    @property
    def attempt(self) -> Attempt:
        """The number of the current attempt."""
        return self._attempt

    @property
    def status(self) -> TaskStatus:
        """Where the current attempt stands."""
        return self._life.state

    @property
    def timestamps(self) -> Mapping[TaskStatus, Millis]:
        """When the current attempt came to each status that it has had."""
        return dict(self._timestamps)

    @property
    def failure(self) -> Failure | None:
        """Why the current attempt failed, if it did and somebody knows."""
        return self._failure

    @property
    def placement(self) -> Placement | None:
        """Where the current attempt runs; ``None`` before its process is there."""
        return self._placement

    def place(self, placement: Placement) -> None:
        """The current attempt's process is there."""
        self._placement = placement

    @property
    def history(self) -> tuple[PastAttempt, ...]:
        """The latest attempts before this one, oldest first."""
        return tuple(self._history)

    def go(self, to: TaskStatus, at: Millis, failure: Failure | None = None) -> None:
        """Move the current attempt to ``to``.

        Raises:
            IllegalTransition: ``TASK_MOVES`` does not have the move.
        """
        self._life.go(to)
        self._timestamps[to] = at
        self._failure = failure or self._failure

    def restart(self, attempt: Attempt, at: Millis) -> None:
        """Begin the next attempt; the current one must be over.

        Raises:
            InternalError: the current attempt is not over, or ``attempt`` is not a later one.
        """
        if not self.status.is_terminal() or attempt <= self._attempt:
            raise InternalError(
                f"subtask {self._name!r}: asked to begin attempt {attempt} while attempt "
                f"{self._attempt} is {self.status.value}; expected a later attempt after a "
                f"finished, cancelled or failed one"
            )
        self._history.append(
            PastAttempt(self._attempt, self.status, self.timestamps, self._failure, self._placement)
        )
        self._begin(attempt, at)

    def __repr__(self) -> str:
        return f"Subtask({self._name!r}, attempt={self._attempt}, status={self.status.value})"

    def _begin(self, attempt: Attempt, at: Millis) -> None:
        self._attempt = attempt
        self._life = Life(
            f"subtask {self._name!r}, attempt {attempt}", TaskStatus.CREATED, TASK_MOVES
        )
        self._timestamps = {TaskStatus.CREATED: at}
        self._failure = None
        self._placement = None


@dataclass(frozen=True, slots=True)
class ExecutionVertex:
    """A job vertex and its subtasks, in order."""

    vertex: JobVertex
    subtasks: tuple[Subtask, ...]

    def status(self) -> TaskStatus:
        """One status for all subtasks, as Flink sums them up."""
        return aggregate_status(Counter(subtask.status for subtask in self.subtasks))


_LOUDEST_FIRST: Final = (
    TaskStatus.FAILED,
    TaskStatus.CANCELING,
    TaskStatus.CANCELED,
    TaskStatus.INITIALIZING,
    TaskStatus.RUNNING,
)


def aggregate_status(counts: Mapping[TaskStatus, int]) -> TaskStatus:
    """The status of a vertex whose subtasks have these.

    The loudest of them speaks for all; a vertex of which only a part is finished still runs, and all
    that comes before INITIALIZING counts as CREATED.

    >>> aggregate_status({TaskStatus.RUNNING: 2, TaskStatus.FAILED: 1})
    <TaskStatus.FAILED: 'FAILED'>
    >>> aggregate_status({TaskStatus.FINISHED: 1, TaskStatus.DEPLOYING: 1})
    <TaskStatus.RUNNING: 'RUNNING'>
    """
    for status in _LOUDEST_FIRST:
        if counts.get(status, 0):
            return status
    finished = counts.get(TaskStatus.FINISHED, 0)
    if not finished:
        return TaskStatus.CREATED
    return TaskStatus.FINISHED if finished == sum(counts.values()) else TaskStatus.RUNNING


class ExecutionGraph:
    """All subtasks of a job.

    Args:
        graph: the compiled program.
        at: when this graph is made; every subtask is CREATED then.
    """

    def __init__(self, graph: JobGraph, at: Millis) -> None:
        self.graph = graph
        """That of the current attempt."""
        self.vertices: Mapping[VertexId, ExecutionVertex] = {
            vertex.id: ExecutionVertex(vertex, tuple(_subtasks(vertex, (), _FIRST, at)))
            for vertex in graph.vertices
        }

    def subtasks(self) -> Iterator[Subtask]:
        """Every subtask, vertex by vertex."""
        for vertex in self.vertices.values():
            yield from vertex.subtasks

    def subtask(self, subtask_id: SubtaskId) -> Subtask:
        """The subtask with this id."""
        return self.vertices[subtask_id.vertex].subtasks[subtask_id.index]

    def all_running(self) -> bool:
        """Whether every subtask runs now."""
        return self._all(TaskStatus.RUNNING)

    def all_running_or_finished(self) -> bool:
        """Whether every subtask runs or has run to its end: nothing is left to wait for at the start."""
        return self._all(TaskStatus.RUNNING, TaskStatus.FINISHED)

    def all_finished(self) -> bool:
        """Whether every subtask ran to its end."""
        return self._all(TaskStatus.FINISHED)

    def all_terminal(self) -> bool:
        """Whether every subtask is over, in whatever way."""
        return all(subtask.status.is_terminal() for subtask in self.subtasks())

    def any_failed(self) -> bool:
        """Whether a subtask's current attempt failed."""
        return any(subtask.status is TaskStatus.FAILED for subtask in self.subtasks())

    def restart(self, attempt: Attempt, at: Millis, graph: JobGraph | None = None) -> None:
        """Begin the next attempt of every subtask; all must be over.

        Args:
            attempt: its number.
            at: when.
            graph: what the attempt runs, if that is another graph of the program: subtasks that there
                were keep their history.
        """
        for subtask in self.subtasks():
            subtask.restart(attempt, at)
        if graph is not None and graph is not self.graph:
            self.vertices = {
                vertex.id: ExecutionVertex(
                    vertex,
                    tuple(_subtasks(vertex, self.vertices[vertex.id].subtasks, attempt, at)),
                )
                for vertex in graph.vertices
            }
            self.graph = graph

    def _all(self, *statuses: TaskStatus) -> bool:
        return all(subtask.status in statuses for subtask in self.subtasks())


def _subtasks(
    vertex: JobVertex, known: Sequence[Subtask], attempt: Attempt, at: Millis
) -> Iterator[Subtask]:
    yield from known[: vertex.parallelism]
    for index in range(len(known), vertex.parallelism):
        yield Subtask(SubtaskId(vertex.id, index), vertex.name, at, attempt)
