"""The contexts in which functions start from state and bring it up to date."""

from __future__ import annotations

from riverrun.api.checkpointed import FunctionInitializationContext, FunctionSnapshotContext
from riverrun.api.runtime_context import KeyedStateStore, RuntimeContext
from riverrun.api.state import OperatorStateStore
from riverrun.runtime.operator_states import OperatorStates


class InitializationContext(FunctionInitializationContext):
    """What one operator of a task starts from."""

    def __init__(self, states: OperatorStates, runtime: RuntimeContext) -> None:
        self._states = states
        self._runtime = runtime

    def is_restored(self) -> bool:
        return self._states.restored_checkpoint is not None

    def get_restored_checkpoint_id(self) -> int | None:
        return self._states.restored_checkpoint

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._states.operator

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._runtime


class SnapshotContext(FunctionSnapshotContext):
    """The checkpoint that is being taken."""

    def __init__(self, checkpoint: int, timestamp: int) -> None:
        self._checkpoint, self._timestamp = checkpoint, timestamp

    def get_checkpoint_id(self) -> int:
        return self._checkpoint

    def get_checkpoint_timestamp(self) -> int:
        return self._timestamp
