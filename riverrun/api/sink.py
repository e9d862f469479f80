"""What a sink is: a description that makes writers, and the channel back to the client.

A writer gets runs; a user's writer may implement ``write`` for one record and inherit ``write_run``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from riverrun.api.runtime_context import DetachedRuntimeContext, RuntimeContext

T = TypeVar("T")


class ClientChannel(Protocol):
    """Sends runs of values to the process that submitted the job, in order, with flow control."""

    def send(self, values: Sequence[Any]) -> None:
        """Hand over a run; the task waits before its next turn when the client is behind."""


@dataclass(frozen=True, slots=True)
class SinkWriterContext:
    """Where a writer runs and what it may use."""

    subtask_index: int
    parallelism: int
    task_name: str
    to_client: ClientChannel
    runtime: RuntimeContext | None = None
    """The task's own context; ``None`` outside of a task."""

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
        """Make what was written so far leave this process."""

    def close(self) -> None:
        """Release what ``open`` acquired; called once, also after a failure."""


class Sink(ABC, Generic[T]):
    """Describes where records go; picklable, holds no connection."""

    @abstractmethod
    def create_writer(self, context: SinkWriterContext) -> SinkWriter[T]:
        """A writer for one subtask."""

    def client_handler(self) -> Callable[[int, Sequence[Any]], None] | None:
        """For sinks that deliver to the client: what to call there with (subtask, values).

        It is called in the client's process, from a thread of the job's own, in order per subtask, and
        is not sent to the workers. A slow handler slows the job down: that is the flow control.
        """
        return None
