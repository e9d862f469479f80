"""What a keyed state backend is: state objects for the current key, snapshots, restore.

One backend serves one operator in one subtask and is called from the task thread, but for the
background part of a snapshot (``FrozenState.write``), which runs while records go on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn, Protocol

from riverrun.api.state import State, StateDescriptor, ValueState
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.loops import KeyHolder
from riverrun.protocol.snapshots import KeyedSnapshot, StateMeta
from riverrun.serde.type_info import TypeInformation
from riverrun.state.interchange import StateBlock
from riverrun.state.namespace_runs import NamespaceRuns, OneByOne
from riverrun.state.timers import TimerQueue
from riverrun.storage.snapshot_files import SavedFiles, SnapshotFiles


class _NoKey:
    """Stands for the absence of a key: no record is in hand.

    It has no hash, so that a dict of state refuses it by itself and no access need ask for it first.
    """

    def __hash__(self) -> NoReturn:
        raise TypeError("no current key")

    def __repr__(self) -> str:
        return "<no current key>"


NO_KEY: Final = _NoKey()


class NoCurrentKey(ProgramError):  # noqa: N818
    """Keyed state was used where there is no key."""

    def __init__(self, operator: str, state: str) -> None:
        super().__init__(operator, state)
        self.operator, self.state = operator, state

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: state {self.state!r} was used with no current key; keyed state "
            f"belongs to the key of a record or timer, so use it in process_element, map or on_timer, "
            f"not in open or close"
        )


class StateRefused(ProgramError):  # noqa: N818
    """A state cannot be had as asked for: other kind, other type, or no keys; never retried."""


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """What a backend must know about its place."""

    operator: str
    """Name, for messages."""
    operator_id: str
    subtask: int
    first_group: int
    last_group: int
    """Inclusive: the key groups of this subtask."""
    max_parallelism: int
    clock: Clock
    folder: Path
    """A folder of this backend alone for local files; made when it is first needed."""
    key_type: TypeInformation | None = None
    incremental: bool = False
    memory_bytes: int = 256 << 20
    """What a backend that keeps state on disk may hold in memory, all in all."""
    options: dict[str, str] = field(default_factory=dict)
    """The job's configuration."""


class FrozenState(Protocol):
    """State as it was at one moment, to be taken once.

    ``write`` and ``entries`` may run in another thread while the state changes.
    """

    @property
    def settings(self) -> BackendSettings:
        """Of the backend."""

    @property
    def states(self) -> tuple[StateMeta, ...]:
        """All states, also those without entries."""

    def entries(self) -> Generator[StateBlock, None, None]:
        """Every entry once, by state and in it by key group; only of what was frozen for a savepoint."""

    def write(self, files: SnapshotFiles) -> KeyedSnapshot:
        """Write what the snapshot needs and the store does not have yet."""

    def discard(self) -> None:
        """Release what the freeze holds: after ``write``, or instead of it. May be called twice."""


class KeyedStateBackend(KeyHolder, ABC):
    """State by (name, key, namespace), for the key groups of one subtask.

    ``key`` and ``namespace`` are plain attributes because they are set once per record: the operator
    sets ``key`` before it calls the user's function, and ``NO_KEY`` when it is done with a run.
    """

    reads_ahead: ClassVar[bool] = False
    """Whether it is worth while to call ``expect``."""

    def expect(self, keys: Sequence[Any]) -> None:
        """The records of a run have these keys, in this order; called before the first of them."""

    @abstractmethod
    def state(self, descriptor: StateDescriptor, *, namespaced: bool = False) -> State:
        """The state object that ``descriptor`` describes; the same object for the same name.

        With ``namespaced`` its values belong to (``key``, ``namespace``), else to ``key`` alone.

        Raises:
            StateRefused: a state of this name exists with another kind, or was restored with a type
                that cannot become the descriptor's.
        """

    @abstractmethod
    def timers(self, name: str) -> TimerQueue:
        """The timers kept under ``name``; the same object for the same name."""

    @abstractmethod
    def timer_queues(self) -> Mapping[str, TimerQueue]:
        """The timers that were asked for, by their names."""

    def fold(
        self,
        state: ValueState[Any],
        keys: Sequence[Any],
        values: Sequence[Any],
        fn: Callable[[Any, Any], Any],
    ) -> list[Any]:
        """Fold each value into its key's state with ``fn(before, value)``; what each one made of it.

        The same as a loop over ``value`` and ``update``, which a backend may have a shorter way for.
        """
        out = []
        for key, value in zip(keys, values, strict=True):
            self.key = key
            before = state.value()
            after = value if before is None else fn(before, value)
            state.update(after)
            out.append(after)
        self.key = NO_KEY
        return out

    def runs(self, state: ValueState[Any]) -> NamespaceRuns:
        """The namespaced ``state`` for work on many keys at once."""
        return state if isinstance(state, NamespaceRuns) else OneByOne(self, state)

    @abstractmethod
    def keys(self, name: str) -> Iterator[Any]:
        """Every key that has a value in the state ``name`` (pairs with the namespace if it has one)."""

    @abstractmethod
    def restore(
        self, snapshots: Sequence[KeyedSnapshot], files: SavedFiles, *, owned: bool
    ) -> None:
        """Take over the key groups of this subtask out of ``snapshots``; called first, at most once.

        The snapshots may come from other key group ranges, from several subtasks and from the other
        backend. ``owned``: the next snapshot may refer to the same shared files.
        """

    @abstractmethod
    def freeze(self, checkpoint: int, *, savepoint: bool = False) -> FrozenState:
        """The state now: the short, synchronous part of a snapshot.

        With ``savepoint`` it is all of the state, and later checkpoints neither build on it nor on
        what they are told about its number.
        """

    def records_passed(self, count: int) -> None:
        """So many records went by; called between runs, for cleanup that goes with records."""

    def checkpoint_completed(self, checkpoint: int) -> None:
        """What ``checkpoint`` wrote can be relied on."""

    def checkpoint_aborted(self, checkpoint: int) -> None:
        """What ``checkpoint`` wrote must not be relied on."""

    @abstractmethod
    def entry_count(self) -> int:
        """About how many entries there are, for metrics."""

    @abstractmethod
    def close(self) -> None:
        """Release memory and local files; called once."""


class StateBackendFactory(Protocol):
    """Makes backends of one type."""

    def __call__(self, settings: BackendSettings) -> KeyedStateBackend:
        """A fresh, empty backend."""


def groups_of(settings: BackendSettings) -> range:
    """The key groups of the backend's subtask."""
    return range(settings.first_group, settings.last_group + 1)
