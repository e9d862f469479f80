"""All state of one operator in one subtask: what it starts from, what it holds, what a snapshot takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverrun.core import options
from riverrun.core.clock import Clock
from riverrun.graph.deployment import ChainedOperator, TaskDeployment
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import (
    KeyedSnapshot,
    OperatorRestore,
    OperatorSnapshot,
    OperatorStatePart,
)
from riverrun.runtime.deferred import OpenSpill
from riverrun.runtime.system_state import KEPT_WHEN_FINISHED, FrozenItems, thaw_items
from riverrun.state.backend import BackendSettings, FrozenState, KeyedStateBackend
from riverrun.state.backends import create_backend
from riverrun.state.operator_state import FrozenOperatorState, OperatorStateBackend
from riverrun.state.parquet.facts import Owner
from riverrun.state.parquet.snapshot import write_keyed, write_operator_state
from riverrun.storage.snapshot_files import NamedFiles, SavedFiles, SnapshotFiles


@dataclass(frozen=True, slots=True)
class TaskResources:
    """What a task may use of its machine; made by the shell."""

    folder: Path
    """For local files of this task alone; the shell removes it when the task is over."""
    open_spill: OpenSpill
    saved: SavedFiles | None = None
    """Reads what the deployment's ``restore`` refers to."""
    wake: Callable[[], None] = lambda: None
    """Asks for a turn of the task soon; may be called from any thread."""
    aside: Callable[[Callable[[], None]], None] = lambda call: call()
    """Runs what may block beside the task, one thing after the other; at once where nobody waits."""
    queued: Callable[[], int] = lambda: 0
    """How many frames wait in front of the task; may be asked from any thread."""


class OperatorStates:
    """Makes the operator's backends when they are first asked for."""

    def __init__(
        self,
        name: str,
        described: ChainedOperator,
        deployment: TaskDeployment,
        resources: TaskResources,
        clock: Clock,
        state_users: int,
    ) -> None:
        self._name = name
        self._described = described
        self._deployment = deployment
        self._resources = resources
        self._clock = clock
        self._state_users = state_users
        restore = deployment.restore
        self._restore = (
            OperatorRestore()
            if restore is None
            else restore.operators.get(described.operator_id, OperatorRestore())
        )
        self._keyed: KeyedStateBackend | None = None
        self._operator: OperatorStateBackend | None = None
        self._system: dict[str, Callable[[], list[Any]]] = {}
        self.doubtful = False
        """Whether the records in hand may count for some of the keys already, see ``Share.DOUBTFUL``."""

    @property
    def name(self) -> str:
        """The operator's name."""
        return self._name

    @property
    def has_key(self) -> bool:
        """Whether the operator reads a keyed stream."""
        return self._described.key_selector is not None

    @property
    def restored_checkpoint(self) -> int | None:
        """The checkpoint that the job goes on from."""
        restore = self._deployment.restore
        return None if restore is None else restore.checkpoint

    @property
    def was_saved(self) -> bool:
        """Whether the checkpoint knows the operator; it does not when the program got it since."""
        restore = self._deployment.restore
        return restore is not None and self._described.operator_id in restore.operators

    @property
    def keyed(self) -> KeyedStateBackend:
        """The keyed backend; the operator must have a key."""
        if self._keyed is None:
            self._keyed = self._open_keyed()
        return self._keyed

    @property
    def operator(self) -> OperatorStateBackend:
        """The store of operator state."""
        if self._operator is None:
            self._operator = OperatorStateBackend(self._name)
            own = [part for part in self._restore.lists if not _is_system(part)]
            if own:
                self._operator.restore(own, self._saved())
        return self._operator

    def restored_items(self, name: str) -> list[Any]:
        """The items of a system state that this subtask starts from."""
        return thaw_items(name, self._restore.lists, self._resources.saved)

    def provide(self, name: str, items: Callable[[], list[Any]]) -> None:
        """Ask ``items`` for a system state at each snapshot."""
        self._system[name] = items

    def freeze(self, checkpoint: int, *, finished: bool, savepoint: bool = False) -> FrozenStates:
        """Everything as it is now; of a finished operator only what is still to be committed.

        A savepoint has all of it: nobody goes on from the state of a finished operator, but people
        may want to read it.
        """
        keyed = operator = None
        if not finished or savepoint:
            # State that nobody asked for since the restart belongs to the next checkpoint all the same.
            if self._keyed is None and self._restore.keyed and self.has_key:
                self._keyed = self._open_keyed()
            if self._keyed is not None:
                keyed = self._keyed.freeze(checkpoint, savepoint=savepoint)
            if self._operator is not None or self._restore.lists:
                operator = self.operator.freeze()
        system = [
            FrozenItems(name, items())
            for name, items in self._system.items()
            if not finished or savepoint or name in KEPT_WHEN_FINISHED
        ]
        owner = Owner(self._name, self._described.operator_id, self._deployment.subtask)
        return FrozenStates(owner, keyed, operator, system)

    def checkpoint_completed(self, checkpoint: int) -> None:
        """Tell the backends."""
        if self._keyed is not None:
            self._keyed.checkpoint_completed(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        """Tell the backends."""
        if self._keyed is not None:
            self._keyed.checkpoint_aborted(checkpoint)

    def entry_count(self) -> int:
        """About how many entries of keyed state there are."""
        return 0 if self._keyed is None else self._keyed.entry_count()

    def close(self) -> None:
        """Close the backends that were opened."""
        if self._keyed is not None:
            self._keyed.close()
            self._keyed = None

    def _saved(self) -> SavedFiles:
        assert self._resources.saved is not None  # noqa: S101  (a shell that restores gives the files)
        return self._resources.saved

    def _open_keyed(self) -> KeyedStateBackend:
        deployment, config = self._deployment, self._deployment.config
        first, last = group_range(
            deployment.subtask, deployment.parallelism, deployment.max_parallelism
        )
        backend = create_backend(
            options.STATE_BACKEND.get(config),
            BackendSettings(
                operator=self._name,
                operator_id=self._described.operator_id,
                subtask=deployment.subtask,
                first_group=first,
                last_group=last,
                max_parallelism=deployment.max_parallelism,
                clock=self._clock,
                folder=self._resources.folder / self._described.operator_id,
                key_type=self._described.key_type,
                incremental=options.INCREMENTAL.get(config),
                memory_bytes=options.ROCKSDB_MEMORY.get(config) // max(1, self._state_users),
                options=dict(config),
            ),
        )
        restore = deployment.restore
        if self._restore.keyed and restore is not None:
            backend.restore(self._restore.keyed, self._saved(), owned=restore.owned)
        return backend


@dataclass(slots=True)
class FrozenStates:
    """One operator's state at one moment."""

    owner: Owner
    keyed: FrozenState | None
    operator: FrozenOperatorState | None
    system: Sequence[FrozenItems]

    def write(self, files: SnapshotFiles) -> OperatorSnapshot | None:
        """Write it; ``None`` when there is nothing."""
        keyed = None if self.keyed is None else self.keyed.write(files)
        lists = () if self.operator is None else self.operator.write(files)
        system = tuple(part for items in self.system if (part := items.write(files)).items)
        return self._described(keyed, (*lists, *system))

    def write_savepoint(self, files: NamedFiles) -> OperatorSnapshot | None:
        """Write it in the open format of savepoints; ``None`` when there is nothing."""
        keyed = None if self.keyed is None else write_keyed(self.keyed, files)
        lists: tuple[OperatorStatePart, ...] = ()
        if self.operator is not None:
            lists = write_operator_state(self.operator.items(), files, self.owner)
        written = (items.write_savepoint(files, self.owner) for items in self.system)
        system = tuple(part for part in written if part is not None)
        return self._described(keyed, (*lists, *system))

    def discard(self) -> None:
        """Release what the freeze holds."""
        if self.keyed is not None:
            self.keyed.discard()

    def _described(
        self, keyed: KeyedSnapshot | None, lists: tuple[OperatorStatePart, ...]
    ) -> OperatorSnapshot | None:
        if keyed is None and not lists:
            return None
        return OperatorSnapshot(self.owner.operator_id, keyed, lists)


def _is_system(part: OperatorStatePart) -> bool:
    return part.meta.name.startswith("riverrun.")
