"""What a sink is: a description that makes writers and committers, and the channel back to the client.

A writer gets runs; a user's writer may implement ``write`` for one record and inherit ``write_run``.

Exactly once takes two steps. At each checkpoint the writer closes what it wrote since the last one and
hands it over as committables (``prepare_commit``), which become part of the checkpoint. When the
checkpoint is complete the committer makes them visible. After a failure the committables of the
checkpoint that is restored are committed again, so a commit must be idempotent: ``Committable.id`` is
the same each time.

A sink that must commit what all its writers prepared in one step (a commit to a table) has a global
committer instead: one for the whole sink, in a task of its own, which gets everything that belongs to a
checkpoint at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from riverrun.api.runtime_context import DetachedRuntimeContext, RuntimeContext

T = TypeVar("T")


class ClientChannel(Protocol):
    """Sends runs of values to the process that submitted the job, in order, with flow control."""

    def send(self, values: Sequence[Any], commit: str | None = None) -> None:
        """Hand over a run; the task waits before its next turn when the client is behind.

        A run with a ``commit`` id reaches the client once, however often it is sent.
        """


@dataclass(frozen=True, slots=True)
class Committable:
    """What a writer prepared for one checkpoint and a committer makes visible."""

    checkpoint: int
    subtask: int
    """The subtask whose writer prepared it; another one may commit it after a restart."""
    number: int
    """Which of the committables of this subtask and checkpoint it is, from 0."""
    value: Any

    @property
    def id(self) -> str:
        """Unique within the sink; the same after every restart."""
        return f"{self.checkpoint}-{self.subtask}-{self.number}"


@dataclass(frozen=True, slots=True)
class SinkWriterContext:
    """Where a writer runs and what it may use."""

    subtask_index: int
    parallelism: int
    task_name: str
    to_client: ClientChannel
    runtime: RuntimeContext | None = None
    """The task's own context; ``None`` outside of a task."""
    restored: Sequence[Any] = field(default_factory=tuple)
    """What ``snapshot_state`` of writers gave for the checkpoint that the job goes on from."""
    checkpointing: bool = False
    """Whether checkpoints are taken, so that committables are committed before the end of input."""
    operator_id: str = ""
    """The sink's id in checkpoints and savepoints; the same after every restart."""
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The job's configuration: where object stores are, and who asks."""

    def runtime_context(self) -> RuntimeContext:
        """What to open user functions of the sink with."""
        if self.runtime is not None:
            return self.runtime
        return DetachedRuntimeContext(self.task_name, self.subtask_index, self.parallelism)


class SinkWriter(ABC, Generic[T]):
    """Writes records; called from the task thread only."""

    def open(self) -> None:
        """Acquire connections; called once, in the worker, before the first record."""

    @abstractmethod
    def write(self, value: T, timestamp: int | None) -> None:
        """Write one record."""

    def write_run(self, values: list[T], timestamps: list[int] | None) -> None:
        """Write a run of records; override it when a batch is cheaper than its parts."""
        if timestamps is None:
            for value in values:
                self.write(value, None)
        else:
            for value, timestamp in zip(values, timestamps, strict=True):
                self.write(value, timestamp)

    def flush(self, *, end_of_input: bool) -> None:
        """Make what was written so far leave this process; called at every checkpoint and at the end."""

    def prepare_commit(self) -> list[Any]:
        """Close what was written since the last call and say what to commit; called after ``flush``."""
        return []

    def snapshot_state(self) -> list[Any]:
        """Items that this writer needs after a restart; dealt out to all writers then."""
        return []

    def close(self) -> None:
        """Release what ``open`` acquired; called once, also after a failure."""


class Committer(ABC):
    """Makes committables visible; called from the task thread only, once their checkpoint is complete."""

    @abstractmethod
    def commit(self, committables: Sequence[Committable]) -> None:
        """Make them visible, in order. They may have been committed before, in part or altogether."""

    def close(self) -> None:  # noqa: B027  (an optional hook)
        """Release what the committer holds; called once, also after a failure."""


class GlobalCommitter(ABC):
    """Makes what all writers prepared visible; one per sink, called from its task's thread."""

    @abstractmethod
    def commit(self, checkpoint: int, committables: Sequence[Any]) -> None:
        """Make everything that ``checkpoint`` covers visible in one step.

        ``committables`` are the values that ``prepare_commit`` of the writers gave. They may have been
        committed before: the same checkpoint comes with the same ones then. Numbers of checkpoints grow;
        one that nothing was written for is left out.
        """

    def close(self) -> None:  # noqa: B027  (an optional hook)
        """Release what the committer holds; called once, also after a failure."""


class Sink(ABC, Generic[T]):
    """Describes where records go; picklable, holds no connection."""

    takes_columns: ClassVar[bool] = False
    """Whether ``write_run`` may be given a ColumnRun and a TimeColumn where it is given lists otherwise."""
    commits_globally: ClassVar[bool] = False
    """Whether the sink has a global committer, and no others."""

    @abstractmethod
    def create_writer(self, context: SinkWriterContext) -> SinkWriter[T]:
        """A writer for one subtask."""

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        """A committer for one subtask; ``None`` when writers prepare nothing."""
        del context
        return None

    def create_global_committer(self, context: SinkWriterContext) -> GlobalCommitter:
        """Who commits for all writers; needed with ``commits_globally``."""
        del context
        raise NotImplementedError(f"{type(self).__name__}: has no global committer")

    def client_handler(self) -> Callable[[int, Sequence[Any]], None] | None:
        """For sinks that deliver to the client: what to call there with (subtask, values).

        It is called in the client's process, from a thread of the job's own, in order per subtask, and
        is not sent to the workers. A slow handler slows the job down: that is the flow control.
        """
        return None
