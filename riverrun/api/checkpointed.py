"""Functions that keep operator state of their own, and functions that are told how checkpoints end.

Both are mixed into any other function: ``class Buffer(MapFunction, CheckpointedFunction)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from riverrun.api.runtime_context import KeyedStateStore
from riverrun.api.state import OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
]


class FunctionInitializationContext(ABC):
    """What a function starts from."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Whether the job goes on from a checkpoint, even if this function finds nothing in it."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """The number of that checkpoint; None at a fresh start."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """State of this subtask, without keys."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """State of the keys; refuses to give any where the stream is not keyed."""


class FunctionSnapshotContext(ABC):
    """The checkpoint that a function is asked to contribute to."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Its number."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """When it was triggered, in milliseconds since 1970."""


class CheckpointedFunction(ABC):
    """A function with operator state: it reads it at the start and brings it up to date for checkpoints.

    Both methods run in the task thread, ``initialize_state`` before ``open``.
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the state out of the context's stores, and take over what was restored."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Put into the state whatever the checkpoint must hold; it is written when this returns."""


class CheckpointListener(ABC):
    """A function that is told how a checkpoint ended, some time after its ``snapshot_state``.

    A notice may be lost when a task fails: what it stands for must be done with the next one, too.
    """

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint is safe: the job will never go back behind it."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:  # noqa: B027  (optional to implement)
        """The checkpoint will not be completed; a later one may be."""
