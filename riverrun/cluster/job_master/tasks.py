"""The subtasks of one attempt of a job, as the JobMaster knows them: relays too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from riverrun.core.errors import Failure
from riverrun.core.ids import Millis, SubtaskId, VertexId
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.deployment import Deployment, RelayDeployment, TaskDeployment
from riverrun.graph.execution_graph import ExecutionGraph, Placement, Subtask


@dataclass(frozen=True, slots=True, order=True)
class TaskKey:
    """A subtask's place in the engine: relays have one too, which is why it is not the vertex."""

    layer: int
    partition: int


class Contact(Enum):
    """Whether a task can be talked to."""

    AWAITED = auto()
    CONNECTED = auto()
    GONE = auto()


class TaskRecord:
    """One subtask: its place, its life, its connection and the process it runs in.

    Its life is the execution graph's ``Subtask``, so that whoever reads the graph sees it.
    """

    def __init__(
        self, key: TaskKey, task: str, subtask: Subtask, *, is_relay: bool = False
    ) -> None:
        self.key = key
        self.id = None if is_relay else subtask.id
        """The subtask of the job graph; ``None`` for a relay, which has no part in checkpoints."""
        self.task = task
        self.index = subtask.id.index
        self.contact = Contact.AWAITED
        self.said_goodbye = False
        """Whether its last words arrived, so that a closed connection is no surprise."""
        self._life = subtask

    @property
    def status(self) -> TaskStatus:
        """Where the task stands."""
        return self._life.status

    @property
    def pid(self) -> int | None:
        """The task's process, once it is there."""
        return None if self._life.placement is None else self._life.placement.pid

    @property
    def is_over(self) -> bool:
        """Whether nothing needs to be said to the task any more."""
        return self.contact is Contact.GONE or self.said_goodbye

    def describe(self) -> str:
        """The task in a message."""
        return f"task {self.task!r} subtask {self.index}"

    def process(self) -> str:
        """The task's process in a message."""
        where = self._life.placement
        return "a process that never came" if where is None else f"pid {where.pid} on {where.host}"

    def deploy(self, at: Millis) -> None:
        """The engine was told to run the task."""
        self._life.go(TaskStatus.SCHEDULED, at)
        self._life.go(TaskStatus.DEPLOYING, at)

    def register(self, placement: Placement, at: Millis) -> None:
        """The task's process is there."""
        self._life.place(placement)
        self.contact = Contact.CONNECTED
        self._life.go(TaskStatus.INITIALIZING, at)

    def report(self, status: TaskStatus, at: Millis, failure: Failure | None = None) -> None:
        """Move to what the task says; IllegalTransition when it cannot have come there.

        Saying the same twice, and saying anything after the end, changes nothing.
        """
        if status is not self.status and not self.status.is_terminal():
            self._life.go(status, at, failure)


def next_to(key: TaskKey, shared: Mapping[TaskKey, str | None]) -> tuple[int, ...]:
    """The partitions of the next layer whose tasks share a folder with the one at ``key``.

    >>> tokens = {TaskKey(0, 0): "a", TaskKey(1, 0): "a", TaskKey(1, 1): "b", TaskKey(2, 0): "a"}
    >>> next_to(TaskKey(0, 0), tokens)
    (0,)
    """
    token = shared.get(key)
    if token is None:
        return ()
    found = (each for each, its in shared.items() if its == token and each.layer == key.layer + 1)
    return tuple(sorted(each.partition for each in found))


class TaskTable:
    """All subtasks of the attempt by their place."""

    def __init__(self, records: Iterable[TaskRecord]) -> None:
        self._records = {record.key: record for record in records}

    def __iter__(self) -> Iterator[TaskRecord]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, key: TaskKey) -> TaskRecord:
        return self._records[key]

    def get(self, key: TaskKey) -> TaskRecord | None:
        """The record at ``key``, if the job has a subtask there."""
        return self._records.get(key)

    def awaited(self) -> list[TaskRecord]:
        """Those that never registered."""
        return [task for task in self if task.contact is Contact.AWAITED]

    def connected(self) -> list[TaskRecord]:
        """Those with an open connection."""
        return [task for task in self if task.contact is Contact.CONNECTED]

    def all_opened(self) -> bool:
        """Whether every one has its state and its functions ready."""
        return all(task.status in (TaskStatus.RUNNING, TaskStatus.FINISHED) for task in self)

    def not_finished(self) -> list[TaskRecord]:
        """Those that did not report the orderly end of their work."""
        return [
            task for task in self if not (task.said_goodbye and task.status is TaskStatus.FINISHED)
        ]


def task_records(
    layers: Sequence[Sequence[Deployment]], execution: ExecutionGraph, at: Millis
) -> list[TaskRecord]:
    """A record for each deployment; a relay, which the graph does not know, gets a life of its own."""
    return [
        TaskRecord(
            TaskKey(deployment.layer, deployment.partition),
            deployment.name,
            _life(deployment, execution, at),
            is_relay=isinstance(deployment, RelayDeployment),
        )
        for layer in layers
        for deployment in layer
    ]


def _life(deployment: Deployment, execution: ExecutionGraph, at: Millis) -> Subtask:
    if isinstance(deployment, TaskDeployment):
        return execution.subtask(SubtaskId(deployment.vertex, deployment.subtask))
    place = SubtaskId(VertexId(f"relay of layer {deployment.layer}"), deployment.subtask)
    return Subtask(place, deployment.name, at)
